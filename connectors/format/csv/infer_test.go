package csv

import (
	"maps"
	"strings"
	"testing"
)

func TestInfer(t *testing.T) {
	for _, tt := range []struct {
		data    string
		options map[string]string
		want    string
	}{
		{"id,name\n1,Mark\n", nil, "id BIGINT, name STRING; header=true"},
		{"\xef\xbb\xbfid,name\r\n1,Mark\r\n", nil, "id BIGINT, name STRING; header=true"},
		{"0,hello,2\n1,hello,3\n", nil, "f0 BIGINT, f1 STRING, f2 BIGINT; "},
		{"name,city\nann,Rome\n", nil, "name STRING, city STRING; header=true"},
		{"a b c!,x\nann,Rome\n", nil, "f0 STRING, f1 STRING; "},
		{"id,id\n1,2\n", nil, "ERR f:1: the header has the column 'id' twice, as number 1 and 2: rename one; if the first line is no header, CREATE TABLE .. WITH (.., 'csv.header' = 'false')"},
		{"a,b,a\nx,y,z\n", nil, "ERR f:1: the header has the column 'a' twice, as number 1 and 3: rename one; if the first line is no header, CREATE TABLE .. WITH (.., 'csv.header' = 'false')"},
		{"id,id\n1,2\n", map[string]string{"header": "false"}, "f0 STRING, f1 STRING; "},
		{"1,1\n1,2\n", nil, "f0 BIGINT, f1 BIGINT; "},
		{"id,id\n1,2\n", map[string]string{"header": "true"}, "ERR f:1: the header has the column 'id' twice, as number 1 and 2: rename one"},
		{"id,name\n1,Mark\n", map[string]string{"header": "false"}, "f0 STRING, f1 STRING; "},
		{"a;b\n1,5;x\n", nil, "a STRING, b STRING; field-delimiter=; header=true"},
		{"a\tb\n1\t2024-05-01 10:00:00\n", nil, "a BIGINT, b TIMESTAMP(3); field-delimiter=\t header=true"},
		{"\"id\",\"v\"\n\"1\",\"1.5\"\n\"2\",\"\"\n", nil, "id BIGINT, v STRING; header=true"},
		{"zip,n\n00501,1\n10001,\n", nil, "zip STRING, n BIGINT; header=true"},
		{"a,b,\n1,true,\n", nil, "a BIGINT, b BOOLEAN; header=true"},
		{"a,n\n1,N\n", map[string]string{"null-literal": "N"}, "a BIGINT, n STRING; header=true"},
		{"x\n\"a\nb\"\n", nil, "x STRING; header=true"},
		{"#c\na,b\n1,2\n", map[string]string{"allow-comments": "true"}, "a BIGINT, b BIGINT; header=true"},
		{"", nil, "ERR f: there is no record to infer columns from: declare the columns"},
	} {
		inf, err := Format{}.Infer([]byte(tt.data), "f", true, 1000, tt.options)
		var cols []string
		for _, c := range inf.Columns {
			cols = append(cols, c.Name+" "+c.Type.String())
		}
		var opts []string
		for _, o := range []string{"field-delimiter", "header"} {
			if v, ok := inf.Options[o]; ok {
				opts = append(opts, o+"="+v)
			}
		}
		got := strings.Join(cols, ", ") + "; " + strings.Join(opts, " ")
		if err != nil {
			got = "ERR " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.data, got, tt.want)
			continue
		}
		if err == nil && !strings.Contains(tt.data, "\"\"\n") { // what is inferred is read
			o := maps.Clone(inf.Options)
			maps.Copy(o, tt.options)
			if _, err := read(t, inf.Columns, o, tt.data); err != nil {
				t.Errorf("%q: %v", tt.data, err)
			}
		}
	}
}
