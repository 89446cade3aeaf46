package optest

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// A script file has cases:
//
//	== name: operator
//	# a comment
//	a,2024-05-01 10:00:01          a row: CSV cells as CAST from STRING reads them, unquoted NULL is NULL
//	-D a,2024-05-01 10:00:01       a row of another kind than +I
//	1: a,1                         a row of input 1
//	watermark 2024-05-01 10:00:05  the combined watermark
//	advance 10s                    the clock, as if it came to each timer in turn
//	----
//	+I a,1                         what comes out, behind the last event too (the end of all inputs is implied)
//	late a,2024-05-01 10:00:01     rows of the side output "late"
//	count late_rows 1              counters that are not zero
//	error text                     the error that ends the case
//
// The last block is the expectation; `go test -optest.rewrite` writes it anew.

// Script is one case.
type Script struct {
	File, Name, Operator string
	Line                 int
	events               []event
	want                 []string
	head                 []string // lines up to ----, as they stand
}

type event struct {
	row       []string
	quoted    []bool
	kind      stream.RowKind
	input     int
	watermark string
	advance   time.Duration
	text      string
}

// ReadScripts reads the cases of a file.
func ReadScripts(file string) ([]*Script, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*Script
	var s *Script
	expecting := false
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		fail := func(format string, a ...any) error {
			return fmt.Errorf("%s:%d: %s", file, n, fmt.Sprintf(format, a...))
		}
		if t, ok := strings.CutPrefix(line, "== "); ok {
			name, op, ok := strings.Cut(t, ": ")
			if !ok {
				return nil, fail("want '== name: operator'")
			}
			s = &Script{File: file, Name: name, Operator: op, Line: n}
			s.head = append(s.head, line)
			all = append(all, s)
			expecting = false
			continue
		}
		if s == nil {
			return nil, fail("a line before the first case")
		}
		switch {
		case line == "----":
			expecting = true
			continue
		case expecting:
			if line != "" {
				s.want = append(s.want, line)
			}
			continue
		}
		s.head = append(s.head, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEvent(line)
		if err != nil {
			return nil, fail("%v", err)
		}
		s.events = append(s.events, e)
	}
	return all, in.Err()
}

func parseEvent(line string) (event, error) {
	e := event{text: line}
	if t, ok := strings.CutPrefix(line, "watermark "); ok {
		e.watermark = t
		return e, nil
	}
	if t, ok := strings.CutPrefix(line, "advance "); ok {
		d, err := time.ParseDuration(t)
		e.advance = d
		return e, err
	}
	if t, ok := strings.CutPrefix(line, "1: "); ok {
		e.input, line = 1, t
	}
	for k := stream.Insert; k <= stream.Delete; k++ {
		if t, ok := strings.CutPrefix(line, k.String()+" "); ok {
			e.kind, line = k, t
		}
	}
	r := csv.NewReader(strings.NewReader(line))
	cells, err := r.Read()
	if err != nil {
		return e, fmt.Errorf("row %q: %w", line, err)
	}
	e.row = cells
	for i := range cells {
		_, col := r.FieldPos(i)
		e.quoted = append(e.quoted, line[col-1] == '"')
	}
	return e, nil
}

// value parses a cell.
func value(text string, quoted bool, t types.Type, zone *time.Location) (any, error) {
	if text == "NULL" && !quoted {
		return nil, nil
	}
	return types.ParseValue([]byte(text), t, zone)
}

// parseTime parses the time of a watermark event, of the kind of t.
func parseTime(text string, t types.Type, zone *time.Location) (stream.Time, error) {
	v, err := types.ParseValue([]byte(text), types.Type{Kind: t.Kind, Precision: 6, Nullable: true}, zone)
	if err != nil {
		return 0, err
	}
	return stream.Time(v.(types.TimestampVal)), nil
}

// Rewrite writes the cases of one file with the given outcomes as expectations.
func Rewrite(file string, all []*Script, got map[*Script][]string) error {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		for _, l := range s.head {
			b.WriteString(l + "\n")
		}
		b.WriteString("----\n")
		for _, l := range got[s] {
			b.WriteString(l + "\n")
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
