package json

import (
	"fmt"
	"strings"
	"testing"
)

func TestInfer(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{`{"i":1,"d":1.5,"b":true,"s":"x","n":null,"t":"2024-05-01 10:00:00","z":"2024-05-01T10:00:00.123456Z","dt":"2024-05-01","e":[],"o":{}}`,
			"i BIGINT, d DOUBLE, b BOOLEAN, s STRING, n STRING, t TIMESTAMP(3), z TIMESTAMP_LTZ(6), dt DATE, e ARRAY<STRING>, o STRING"},
		{`{"a":1}` + "\n" + `{"a":2.5,"b":"2024-05-01"}` + "\n" + `{"b":"2024-05-01 10:00:00","c":[{"x":1},{"y":[true]}]}`, "a DOUBLE, b STRING, c ARRAY<ROW<`x` BIGINT, `y` ARRAY<BOOLEAN>>>"},
		{`{"a":1}` + "\n" + `{"a":"1"}`, "a STRING"},
		{`{"a":{"x":1}}` + "\n" + `{"a":[1]}`, "a STRING"},
		{`{"a":11720144131976083864,"b":"2024-05-01 10:00:00+0200","c":"2024-05-01 10:00:00.1234567"}`, "a DECIMAL(38, 0), b TIMESTAMP_LTZ(3), c TIMESTAMP(9)"},
		{`{"a":"2024-02-30","b":"2024-05-01 25:00:00","c":"2024-05-01 10:00"}`, "a STRING, b STRING, c TIMESTAMP(3)"},
		{`[{"a":1},{"b":2}]`, "a BIGINT, b BIGINT"},
		{"\xef\xbb\xbf{\"a\":1}\nnope\n\nnull\n", "a BIGINT"},
		{`{"a":1}` + "\n" + `{"b":`, "a BIGINT"},
		{"[\n{\"a\":1}\n]", "ERR f:1: a document must be on one line: write one object per line (jq -c '.[]' file does)"},
		{"1\n", "ERR f:1: a JSON object was expected; columns can be inferred from lines with one JSON object each"},
		{"", "ERR f: there is no record to infer columns from: declare the columns"},
	} {
		inf, err := Format{}.Infer([]byte(tt.data), "f", true, 1000, nil)
		var cols []string
		for _, c := range inf.Columns {
			cols = append(cols, c.Name+" "+c.Type.String())
		}
		got := strings.Join(cols, ", ")
		if err != nil {
			got = "ERR " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.data, got, tt.want)
		}
		// What is inferred is read.
		if err == nil {
			data := tt.data
			if strings.Contains(data, "nope") || strings.HasSuffix(data, ":") {
				continue
			}
			if _, err := read(t, inf.Columns, nil, data); err != nil {
				t.Errorf("%s: %v", tt.data, err)
			}
		}
	}
	// The record that is cut off at the end of the sample is left aside; only so many records are looked at.
	inf, err := Format{}.Infer([]byte("{\"a\":1}\n{\"a\":1.5}\n{\"a\":\"x"), "f", false, 1000, nil)
	if err != nil || fmt.Sprint(inf.Columns) != "[{a DOUBLE}]" {
		t.Error(inf, err)
	}
	if inf, err = (Format{}).Infer([]byte("{\"a\":1}\n{\"a\":1.5}\n"), "f", true, 1, nil); err != nil || fmt.Sprint(inf.Columns) != "[{a BIGINT}]" {
		t.Error(inf, err)
	}
}
