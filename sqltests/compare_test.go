package sqltests

import (
	"strings"
	"testing"
)

func textCells(rows ...[]string) [][]Cell {
	out := make([][]Cell, len(rows))
	for i, r := range rows {
		for _, c := range r {
			out[i] = append(out[i], Cell{Text: c, Null: c == "<null>"})
		}
	}
	return out
}

// SL-01: the hash counts values, not rows, and is the MD5 over each rendered value and a line end. A block of plain values is compared as such,
// whatever the threshold says.
func TestSL01HashThreshold(t *testing.T) {
	five := textCells([]string{"1"}, []string{"2"}, []string{"3"}, []string{"4"}, []string{"5"})
	pairs := textCells([]string{"1", "a"}, []string{"2", "b"}, []string{"3", "c"})
	for _, c := range []struct {
		name    string
		rows    [][]Cell
		letters string
		want    []string
		same    bool
	}{
		{"five values", five, "I", []string{"5 values hashing to a7b1ac3a2b072f71a8e0d463bf4eb822"}, true},
		{"six values in three rows", pairs, "IT", []string{"6 values hashing to c84f8aeceada6a51da4b3bb1000ecc8b"}, true},
		{"rows are not values", pairs, "IT", []string{"3 values hashing to c84f8aeceada6a51da4b3bb1000ecc8b"}, false},
		{"another hash", five, "I", []string{"5 values hashing to c84f8aeceada6a51da4b3bb1000ecc8b"}, false},
		{"plain values above any threshold", five, "I", []string{"1", "2", "3", "4", "5"}, true},
	} {
		if diff := compareQuery(c.rows, c.letters, "nosort", Auto, c.want); (diff == "") != c.same {
			t.Errorf("%s: %q", c.name, diff)
		}
	}
}

// SL-03: type letters drive the rendering of classic files; other files have their values as they are.
func TestSL03TypeLetters(t *testing.T) {
	rows := textCells([]string{"naïve\t1", "2.9", "3", "", "<null>"})
	letters := "TIRTT"
	classic := []string{"na@@ve@1", "2", "3.000", "(empty)", "NULL"}
	if diff := compareQuery(rows, letters, "nosort", Classic, classic); diff != "" {
		t.Error(diff)
	}
	if diff := compareQuery(rows, letters, "nosort", Auto, classic); diff != "" {
		t.Error(diff)
	}
	if diff := compareQuery(rows, letters, "nosort", Natural, classic); diff == "" {
		t.Error("classic rendering passes in natural mode")
	}
	if diff := compareQuery(textCells([]string{"naïve", "2.9"}), "T?", "nosort", Natural, []string{"naïve\t2.9"}); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ in, letter, want string }{
		{"9223372036854775807", "I", "9223372036854775807"}, // the full number, where the C runner cuts to 32 bits
		{"0.0625", "R", "0.062"},                            // ties as printf has them
		{"-0.0004", "R", "-0.000"},
		{"TRUE", "I", "1"},
		{"12", "R", "12.000"},
	} {
		if got := render(Cell{Text: c.in}, c.letter[0], Classic); got != c.want {
			t.Errorf("%s as %s: %s, want %s", c.in, c.letter, got, c.want)
		}
	}
}

// SL-05: blocks that are too short or too long fail; both layouts are understood; a value with a blank is not cut in a row with tabs.
func TestSL05Blocks(t *testing.T) {
	two := textCells([]string{"1"}, []string{"2"})
	pair := textCells([]string{"1", "b c"})
	for _, c := range []struct {
		name    string
		rows    [][]Cell
		letters string
		want    []string
		same    bool
	}{
		{"one line for two rows", two, "I", []string{"1"}, false},
		{"three lines for two rows", two, "I", []string{"1", "2", "3"}, false},
		{"no block for two rows", two, "I", nil, false},
		{"no block for no rows", nil, "I", nil, true},
		{"value a line", pair, "IT", []string{"1", "b c"}, true},
		{"row a line with blanks", pair, "IT", []string{"1 b c"}, true},
		{"row a line with tabs", pair, "IT", []string{"1\tb c"}, true},
		{"tabs do not cut at blanks", textCells([]string{"1 b", "c"}), "TT", []string{"1\tb c"}, false},
	} {
		if diff := compareQuery(c.rows, c.letters, "nosort", Auto, c.want); (diff == "") != c.same {
			t.Errorf("%s: %q", c.name, diff)
		}
	}
	recs, err := parseText("x.test", "query I nosort\nSELECT 1\n----", 0)
	if err != nil || len(recs) != 1 || len(recs[0].Wants) != 1 || len(recs[0].Wants[0].Lines) != 0 {
		t.Errorf("---- at the end of the file: %v %v", recs, err)
	}
}

func TestSortModes(t *testing.T) {
	rows := func() [][]Cell { return textCells([]string{"2", "x"}, []string{"1", "y"}) }
	for _, c := range []struct {
		mode string
		want string
		same bool
	}{
		{"nosort", "2\tx|1\ty", true},
		{"nosort", "1\ty|2\tx", false},
		{"rowsort", "1\ty|2\tx", true},
		{"rowsort", "2\tx|1\ty", true}, // both sides are sorted
		{"rowsort", "1|y|2|x", true},
		{"valuesort", "1|2|x|y", true},
		{"valuesort", "y|x|2|1", true},
	} {
		if diff := compareQuery(rows(), "IT", c.mode, Auto, strings.Split(c.want, "|")); (diff == "") != c.same {
			t.Errorf("%s %s: %q", c.mode, c.want, diff)
		}
	}
}

func TestParse(t *testing.T) {
	text := "# comment\nskipif sqlite\nstatement ok\nCREATE TABLE t (\n  a INT)\n\nloop i 0 2\nstatement ok\nINSERT INTO t VALUES ($i)\n\nendloop\n\nforeach w a b\nquery T rowsort lab\nSELECT '${w}'\n----\n${w}\n---- or\nx\n\nendloop\n\ninput t split=1\n1\nNULL\n\nhalt\n"
	recs, err := parseText("f.slt", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range recs {
		got = append(got, r.Word+":"+strings.ReplaceAll(r.SQL, "\n", " ")+strings.Join(r.Rows, ","))
	}
	want := "statement:CREATE TABLE t (   a INT)|statement:INSERT INTO t VALUES (0)|statement:INSERT INTO t VALUES (1)|query:SELECT 'a'|query:SELECT 'b'|input:1,NULL|halt:"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	if recs[0].Line != 3 || len(recs[0].Conds) != 1 || recs[0].Conds[0].Engine != "sqlite" {
		t.Errorf("conditions: %+v", recs[0])
	}
	if w := recs[3].Wants; len(w) != 2 || w[0].Lines[0] != "a" || w[1].Lines[0] != "x" {
		t.Errorf("alternatives: %+v", w)
	}
	for _, bad := range []string{"statemnt ok\nSELECT 1\n", "loop i 0 2\nstatement ok\nSELECT 1\n", "statement ok\n\n", "query I\n", "endloop\n", "include none.slt\n", "-- a comment\n"} {
		if _, err := parseText("f.slt", bad, 0); err == nil {
			t.Errorf("%q parses", bad)
		}
	}
}
