package json

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/infer"
	"github.com/weir-sql/weir/types"
)

// Infer reads columns off the members of the first documents, in order of appearance: objects are ROW, arrays ARRAY; members that are of mixed types, or
// always null or empty, are STRING (which also reads objects and arrays, as text).
func (f Format) Infer(sample []byte, name string, eof bool, maxRows int, options map[string]string) (connectors.Inferred, error) {
	sample = bytes.TrimPrefix(sample, bom)
	if !eof {
		if n := bytes.LastIndexByte(sample, '\n') + 1; n > 0 {
			sample = sample[:n]
		}
	}
	var top infer.Fields
	rows := 0
	var firstBad error
	for no := 1; len(sample) > 0 && rows < maxRows; no++ {
		line := sample
		if e := bytes.IndexByte(sample, '\n'); e >= 0 {
			line, sample = sample[:e], sample[e+1:]
		} else {
			sample = nil
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if n, err := inferLine(line, &top); err == nil {
			rows += n
		} else if firstBad == nil {
			firstBad = fmt.Errorf("%s:%d: %w", name, no, err)
		}
	}
	switch {
	case rows == 0 && firstBad != nil:
		return connectors.Inferred{}, fmt.Errorf("%w; columns can be inferred from lines with one JSON object each", firstBad)
	case len(top.Names) == 0:
		return connectors.Inferred{}, fmt.Errorf("%s: there is no record to infer columns from: declare the columns", name)
	}
	var inf connectors.Inferred
	for i, n := range top.Names {
		inf.Columns = append(inf.Columns, types.Column{Name: n, Type: top.Types[i].Type()})
	}
	return inf, nil
}

// inferLine adds the document of a line: an object, or an array of objects.
func inferLine(line []byte, top *infer.Fields) (rows int, err error) {
	if !json.Valid(line) {
		// The decoder says it better.
		d := &decoder{escapes: true}
		p, err := d.skip(line, 0)
		if err == nil && ws(line, p) < len(line) {
			err = &syntaxError{"there is text behind the document", ws(line, p)}
		}
		if err == nil {
			err = errors.New("this is no JSON")
		}
		return 0, errors.New(reason(line, err))
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	tok, err := dec.Token()
	if err != nil {
		return 0, err
	}
	switch tok {
	case json.Delim('{'):
		return 1, inferObject(dec, top)
	case json.Delim('['):
		for dec.More() {
			if tok, err = dec.Token(); err != nil {
				return rows, err
			}
			if tok != json.Delim('{') {
				return rows, errors.New("an array at the top must have objects as elements")
			}
			if err = inferObject(dec, top); err != nil {
				return rows, err
			}
			rows++
		}
		return rows, nil
	case nil:
		return 0, nil
	}
	return 0, errors.New("a JSON object was expected")
}

// inferObject takes the members up to the closing brace.
func inferObject(dec *json.Decoder, fields *infer.Fields) error {
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		if err := inferValue(dec, fields.Get(key)); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func inferValue(dec *json.Decoder, g *infer.Guess) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch v := tok.(type) {
	case bool:
		g.Bool()
	case json.Number:
		g.Number([]byte(v))
	case string:
		g.String([]byte(v))
	case json.Delim:
		if v == '{' {
			return inferObject(dec, g.Object())
		}
		elem := g.Array()
		for dec.More() {
			if err := inferValue(dec, elem); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return err
	}
	return nil
}
