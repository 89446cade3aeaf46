package weir

import (
	"bytes"
	"fmt"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/builtin"
)

// JSONEncoder writes rows as JSON objects, as the json format of a sink does; DECIMAL is a plain number. Rows of an updating result begin with "op".
type JSONEncoder struct {
	enc      connectors.Encoder
	updating bool
	scratch  []byte
	row      [1]int32
}

// NewJSONEncoder returns an encoder for rows of the given columns.
func NewJSONEncoder(columns Schema, updating bool, zone *time.Location) (JSONEncoder, error) {
	for _, f := range builtin.Formats() {
		rf, ok := f.(connectors.RecordFormat)
		if !ok || f.Name() != "json" {
			continue
		}
		enc, err := rf.Encoder(connectors.FormatConfig{Table: "result", Columns: columns, Zone: zone,
			Options: map[string]string{"encode.decimal-as-plain-number": "true"}})
		return JSONEncoder{enc: enc, updating: updating}, err
	}
	return JSONEncoder{}, fmt.Errorf("the json format is not built in")
}

// AppendRow appends row r of b to dst, without a line end.
func (e *JSONEncoder) AppendRow(dst []byte, b Batch, r int) ([]byte, error) {
	e.row[0] = int32(r)
	var err error
	if e.scratch, err = e.enc.Encode(e.scratch[:0], b.Record, e.row[:]); err != nil {
		return dst, err
	}
	obj := bytes.TrimRight(e.scratch, "\n")
	if !e.updating {
		return append(dst, obj...), nil
	}
	dst = append(append(append(dst, `{"op":"`...), b.Kind(r).String()...), '"')
	if len(obj) > 2 {
		dst = append(dst, ',')
	}
	return append(dst, obj[1:]...), nil
}
