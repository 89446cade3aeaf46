package filesystem

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/weir-sql/weir/connectors"
)

// inferBytes is how much of a file inference looks at.
const inferBytes = 1 << 20

// infer reads the columns off the first file that is not empty; weir.infer.rows (1000) says how many records.
func (t *table) infer(ctx context.Context) (connectors.Inferred, error) {
	if t.path == "-" {
		return connectors.Inferred{}, fmt.Errorf("table %s: the columns of standard input cannot be inferred: declare them", t.decl.Name)
	}
	files, err := t.list()
	if err != nil {
		return connectors.Inferred{}, err
	}
	rows := int(connectors.GetInt(t.decl.Config, "weir.infer.rows", 1000))
	for _, f := range files {
		if f.size == 0 {
			continue
		}
		inf, err := t.inferFile(ctx, f, rows)
		if err != nil {
			return inf, err
		}
		if len(inf.Columns) == 0 {
			return inf, fmt.Errorf("%s: no columns can be inferred from it: declare them", f.path)
		}
		return inf, nil
	}
	return connectors.Inferred{}, fmt.Errorf("table %s: '%s' has no file with data that columns could be inferred from: declare them", t.decl.Name, t.path)
}

func (t *table) inferFile(ctx context.Context, f file, rows int) (connectors.Inferred, error) {
	switch format := t.format.(type) {
	case connectors.FileFormat:
		raw, err := os.Open(f.path)
		if err != nil {
			return connectors.Inferred{}, err
		}
		defer raw.Close()
		return format.InferFile(ctx, raw, f.path, t.formatOpts)
	case connectors.RecordFormat:
		r := &textReader{s: &source{t: t}, f: f}
		if err := r.open(); err != nil {
			return connectors.Inferred{}, err
		}
		defer r.closeFile()
		sample := make([]byte, inferBytes)
		n, err := io.ReadFull(r.in, sample)
		eof := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !eof {
			return connectors.Inferred{}, r.readError(err)
		}
		return format.Infer(sample[:n], f.path, eof, rows, t.formatOpts)
	}
	return connectors.Inferred{}, fmt.Errorf("the format '%s' cannot infer columns", t.formatName)
}
