package filesystem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/weir-sql/weir/connectors"
)

// inferBytes is how much of a file inference looks at; more, up to the end of the first line, when that is longer, but not more than inferMost.
const (
	inferBytes = 1 << 20
	inferMost  = 256 << 20
)

// infer reads the columns off the first file that is not empty; weir.infer.rows (1000) says how many records.
func (t *table) infer(ctx context.Context) (connectors.Inferred, error) {
	if t.path == "-" {
		return connectors.Inferred{}, errors.New("the columns of standard input cannot be inferred: declare them, or save the input in a file")
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
		inf, err := t.inferOnce(ctx, f, rows)
		if err != nil {
			return inf, err
		}
		if len(inf.Columns) == 0 {
			return inf, fmt.Errorf("%s: no columns can be inferred from it: declare them", f.path)
		}
		return inf, nil
	}
	return connectors.Inferred{}, fmt.Errorf("'%s' has no file with data that columns could be inferred from: declare them", t.path)
}

// found keeps what was inferred of files, since a statement asks several times; a file that has changed is another one.
var found struct {
	sync.Mutex
	m map[string]connectors.Inferred
}

const mostFound = 256

func (t *table) inferOnce(ctx context.Context, f file, rows int) (connectors.Inferred, error) {
	key := fmt.Sprintf("%q %d %d %d %s %q", f.path, f.size, f.mtime.UnixNano(), rows, t.formatName, t.formatOpts)
	found.Lock()
	inf, ok := found.m[key]
	found.Unlock()
	if ok {
		return inf, nil
	}
	inf, err := t.inferFile(ctx, f, rows)
	if err != nil {
		return inf, err
	}
	found.Lock()
	defer found.Unlock()
	if len(found.m) >= mostFound {
		found.m = nil
	}
	if found.m == nil {
		found.m = map[string]connectors.Inferred{}
	}
	found.m[key] = inf
	return inf, nil
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
		for !eof && n < inferMost && bytes.IndexByte(sample[:n], '\n') < 0 {
			sample = append(sample, make([]byte, len(sample))...)
			var more int
			more, err = io.ReadFull(r.in, sample[n:])
			n += more
			if eof = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !eof {
				return connectors.Inferred{}, r.readError(err)
			}
		}
		return format.Infer(sample[:n], f.path, eof, rows, t.formatOpts)
	}
	return connectors.Inferred{}, fmt.Errorf("the format '%s' cannot infer columns", t.formatName)
}
