package conntest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// FormatConfig is that of a table t with columns, all of them wanted; options are name=value.
func FormatConfig(columns types.Schema, options ...string) connectors.FormatConfig {
	c := connectors.FormatConfig{Table: "t", Columns: columns, Options: map[string]string{}, Zone: time.UTC}
	for i := range columns {
		c.Wanted = append(c.Wanted, i)
	}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		c.Options[name] = value
	}
	return c
}

// DecodeText reads data with a decoder of all columns, cut into blocks of about size bytes as the filesystem connector cuts files.
func DecodeText(t testing.TB, f connectors.RecordFormat, c connectors.FormatConfig, data []byte, size int) (Read, error) {
	t.Helper()
	if c.Wanted == nil {
		for i := range c.Columns {
			c.Wanted = append(c.Wanted, i)
		}
	}
	var schema types.Schema
	for _, w := range c.Wanted {
		schema = append(schema, c.Columns[w])
	}
	d, err := f.Decoder(c)
	if err != nil {
		return Read{}, err
	}
	env := NewEnv(t)
	var out Read
	at := connectors.RecordPosition{Split: "f", Line: 1}
	end, started := min(size, len(data)), false
	for p := 0; ; {
		eof := end == len(data)
		if !started {
			n, lines, binding, ok, err := d.Header(data[p:end], eof)
			if err != nil {
				return out, err
			}
			if !ok {
				if eof {
					return out, errors.New("the header wants more than there is")
				}
				end = min(end+size, len(data))
				continue
			}
			started = true
			p += n
			at.Line += lines
			at.Binding = binding
		}
		n, lines := d.Boundary(data[p:end], eof)
		if n == 0 {
			if eof {
				return out, nil
			}
			end = min(end+size, len(data))
			continue
		}
		block := append([]byte(nil), data[p:p+n]...) // a copy: a decoder that looks behind its block is found by the race detector or by bounds
		dec, err := d.Clone().Decode(context.Background(), block, at, env.Allocator)
		if err != nil {
			return out, err
		}
		for i := range block {
			block[i] = 'X' // rows must not point into the block
		}
		for _, b := range dec.Bad {
			b.Row += len(out.Rows)
			out.Bad = append(out.Bad, b)
		}
		out.Rows = append(out.Rows, Rows(dec.Batch, schema)...)
		dec.Batch.Release()
		p += n
		at.Line += lines
		end = min(p+size, len(data))
		if end < p {
			end = p
		}
	}
}
