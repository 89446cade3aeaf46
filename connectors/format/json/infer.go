package json

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

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
			if rows == 0 && (string(line) == "[" || string(line) == "{") { // a document over several lines; some of its lines may look like documents
				return connectors.Inferred{}, fmt.Errorf("%s:%d: %w", name, no, err)
			}
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
	d := &decoder{escapes: bytes.IndexByte(line, '\\') >= 0}
	// Check the whole first: a bad record must not leave columns behind.
	p, err := d.skip(line, 0)
	switch {
	case err != nil:
	case ws(line, p) < len(line):
		err = &syntaxError{"there is text behind the document", ws(line, p)}
	case !utf8.Valid(line):
		err = errors.New("the text is not UTF-8")
	}
	if err != nil {
		return 0, errors.New(reason(line, err))
	}
	object := func(p int) (int, error) {
		if line[p] != '{' {
			return p, errors.New("an array at the top must have objects as elements")
		}
		rows++
		return d.inferObject(line, p, top)
	}
	switch line[0] {
	case '{':
		_, err = object(0)
	case '[':
		_, err = d.elements(line, 0, object)
	case 'n':
	default:
		err = errors.New("a JSON object was expected")
	}
	return rows, err
}

func (d *decoder) inferObject(b []byte, p int, fields *infer.Fields) (int, error) {
	return d.members(b, p, func(key []byte, p int) (int, error) { return d.inferValue(b, p, fields.Get(key)) })
}

// inferValue takes a value that is right.
func (d *decoder) inferValue(b []byte, p int, g *infer.Guess) (int, error) {
	switch b[p] {
	case '{':
		return d.inferObject(b, p, g.Object())
	case '[':
		elem := g.Array()
		return d.elements(b, p, func(p int) (int, error) { return d.inferValue(b, p, elem) })
	}
	end, err := d.skip(b, p)
	if err != nil {
		return end, err
	}
	switch b[p] {
	case '"':
		g.String(b[p+1 : end-1]) // with escapes it is text in any case
	case 't', 'f':
		g.Bool()
	case 'n':
	default:
		g.Number(b[p:end])
	}
	return end, nil
}
