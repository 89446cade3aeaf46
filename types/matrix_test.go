package types

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCastMatrix holds Cast and CanCast against the answers of a real Flink for every pair of types, and against the list of differences that we want.
func TestCastMatrix(t *testing.T) {
	dir := filepath.Join("..", "sqltests", "castmatrix")
	type key struct{ expr, from, to string }
	type answer struct{ cast, try string }
	read := func(name string) (map[key]answer, []key) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, order := map[key]answer{}, []key(nil)
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if strings.HasPrefix(sc.Text(), "#") {
				continue
			}
			p := strings.Split(sc.Text(), "\t")
			if len(p) != 5 {
				t.Fatalf("%s: not five columns: %q", name, sc.Text())
			}
			k := key{p[0], p[1], p[2]}
			m[k] = answer{p[3], p[4]}
			order = append(order, k)
		}
		return m, order
	}
	flink, order := read("matrix.txt")
	ours, _ := read("differences.txt")
	checked, used := 0, map[key]bool{}
	for _, k := range order {
		from, to := mustType(t, k.from), mustType(t, k.to)
		want := flink[k]
		if o, ok := ours[k]; ok {
			used[k] = true
			if o == want {
				t.Errorf("%v is in the list of differences, but is none", k)
			}
			want = o
		}
		checked++
		if plan := CanCast(from, to); plan == (want.cast == "error: plan") {
			t.Errorf("CanCast(%s, %s) = %v", k.from, k.to, plan)
			continue
		}
		if want.cast == "error: plan" {
			if _, err := Cast(int32(0), from, to, time.UTC); err == nil {
				t.Errorf("Cast from %s to %s succeeds though CanCast says no", k.from, k.to)
			}
			continue
		}
		v, rest, err := testExpr(k.expr)
		if err != nil || strings.TrimSpace(rest) != "" {
			t.Fatalf("cannot evaluate %s: %v, rest %q", k.expr, err, rest)
		}
		var got answer
		r, err := Cast(v.val, from, to, time.UTC)
		switch {
		case err != nil:
			got = answer{"error: run", "NULL"}
		case r == nil:
			got = answer{"NULL", "NULL"}
		default:
			s := strconv.Quote(Display(r, to, time.UTC))
			got = answer{s, s}
		}
		if got != want {
			t.Errorf("CAST(%s AS %s) from %s: got %v, want %v (error: %v)", k.expr, k.to, k.from, got, want, err)
		}
	}
	for k := range ours {
		if !used[k] {
			t.Errorf("differences.txt: no such line in matrix.txt: %v", k)
		}
	}
	if checked < 3000 {
		t.Errorf("only %d lines checked", checked)
	}
}

func mustType(t *testing.T, s string) Type {
	t.Helper()
	typ, rest, err := testType(s)
	if err != nil || rest != "" {
		t.Fatalf("cannot read type %q: %v, rest %q", s, err, rest)
	}
	return typ
}

// testType reads a type of the matrix. It is a small reader for tests; the real one is the parser's.
func testType(s string) (Type, string, error) {
	simple := []struct {
		name string
		typ  Type
	}{
		{"BOOLEAN", BooleanType}, {"TINYINT", TinyIntType}, {"SMALLINT", SmallIntType}, {"INTERVAL YEAR TO MONTH", YearMonthType},
		{"INTERVAL DAY TO SECOND(3)", DayTimeType}, {"INT", IntType}, {"BIGINT", BigIntType}, {"FLOAT", FloatType}, {"DOUBLE", DoubleType},
		{"STRING", StringType}, {"BYTES", BytesType}, {"DATE", DateType},
	}
	for _, c := range simple {
		if rest, ok := strings.CutPrefix(s, c.name); ok {
			return c.typ, rest, nil
		}
	}
	sized := []struct {
		name string
		of   func(n int) Type
		def  int
	}{
		{"TIMESTAMP_LTZ", TimestampLTZOf, 6}, {"TIMESTAMP", TimestampOf, 6}, {"TIME", TimeOf, 0}, {"VARCHAR", VarCharOf, 1}, {"CHAR", CharOf, 1},
		{"VARBINARY", VarBinaryOf, 1}, {"BINARY", BinaryOf, 1},
	}
	for _, c := range sized {
		if rest, ok := strings.CutPrefix(s, c.name); ok {
			n := c.def
			if arg, after, ok := strings.Cut(rest, ")"); ok && strings.HasPrefix(arg, "(") {
				var err error
				if n, err = strconv.Atoi(arg[1:]); err != nil {
					return Type{}, "", err
				}
				rest = after
			}
			return c.of(n), rest, nil
		}
	}
	if rest, ok := strings.CutPrefix(s, "DECIMAL("); ok {
		arg, after, _ := strings.Cut(rest, ")")
		var p, sc int
		if _, err := fmt.Sscanf(arg, "%d,%d", &p, &sc); err != nil {
			return Type{}, "", err
		}
		return DecimalOf(p, sc), after, nil
	}
	for _, name := range []string{"ARRAY<", "MULTISET<", "MAP<"} {
		rest, ok := strings.CutPrefix(s, name)
		if !ok {
			continue
		}
		elem, rest, err := testType(rest)
		if err != nil {
			return Type{}, "", err
		}
		if name == "MAP<" {
			key := elem
			if elem, rest, err = testType(strings.TrimPrefix(rest, ", ")); err != nil {
				return Type{}, "", err
			}
			return MapOf(key, elem), strings.TrimPrefix(rest, ">"), nil
		}
		if name == "ARRAY<" {
			return ArrayOf(elem), strings.TrimPrefix(rest, ">"), nil
		}
		return MultisetOf(elem), strings.TrimPrefix(rest, ">"), nil
	}
	if rest, ok := strings.CutPrefix(s, "ROW<"); ok {
		var fs []Field
		for {
			name, after, _ := strings.Cut(rest, " ")
			t, after, err := testType(after)
			if err != nil {
				return Type{}, "", err
			}
			fs = append(fs, Field{name, t})
			if rest, ok = strings.CutPrefix(after, ", "); !ok {
				return RowOf(fs...), strings.TrimPrefix(after, ">"), nil
			}
		}
	}
	return Type{}, "", fmt.Errorf("unknown type %q", s)
}

type typed struct {
	val any
	typ Type
}

// testExpr evaluates the expressions of the matrix: literals, constructors and casts.
func testExpr(s string) (typed, string, error) {
	s = strings.TrimLeft(s, " ")
	quoted := func(s string) (string, string) {
		body, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimLeft(s, " "), "'"), "'")
		return body, rest
	}
	list := func(s, end string) (vs []typed, rest string, err error) {
		for {
			v, after, err := testExpr(s)
			if err != nil {
				return nil, "", err
			}
			vs = append(vs, v)
			if after, ok := strings.CutPrefix(after, end); ok {
				return vs, after, nil
			}
			var ok bool
			if s, ok = strings.CutPrefix(after, ","); !ok {
				return nil, "", fmt.Errorf("no comma at %q", after)
			}
		}
	}
	parse := func(text, rest string, t Type) (typed, string, error) {
		v, err := ParseValue([]byte(text), t, time.UTC)
		return typed{v, t}, rest, err
	}
	prefix := func(p string) (string, bool) { return strings.CutPrefix(s, p) }
	if rest, ok := prefix("TRUE"); ok {
		return typed{true, BooleanType}, rest, nil
	}
	if rest, ok := prefix("FALSE"); ok {
		return typed{false, BooleanType}, rest, nil
	}
	if rest, ok := prefix("NULL"); ok {
		return typed{nil, NullType}, rest, nil
	}
	if rest, ok := prefix("CAST("); ok {
		v, rest, err := testExpr(rest)
		if err != nil {
			return typed{}, "", err
		}
		t, rest, err := testType(strings.TrimPrefix(rest, " AS "))
		if err != nil {
			return typed{}, "", err
		}
		r, err := Cast(v.val, v.typ, t, time.UTC)
		return typed{r, t}, strings.TrimPrefix(rest, ")"), err
	}
	if rest, ok := prefix("ARRAY_REMOVE(ARRAY[1], 1)"); ok {
		return typed{[]any{}, ArrayOf(IntType)}, rest, nil
	}
	if rest, ok := prefix("ARRAY["); ok {
		vs, rest, err := list(rest, "]")
		a := []any{}
		for _, v := range vs {
			a = append(a, v.val)
		}
		return typed{a, ArrayOf(vs[0].typ)}, rest, err
	}
	if rest, ok := prefix("MAP["); ok {
		vs, rest, err := list(rest, "]")
		return typed{MapVal{{vs[0].val, vs[1].val}}, MapOf(vs[0].typ, vs[1].typ)}, rest, err
	}
	if rest, ok := prefix("ROW("); ok {
		vs, rest, err := list(rest, ")")
		var r RowVal
		var fs []Field
		for _, v := range vs {
			r = append(r, v.val)
			fs = append(fs, Field{"f", v.typ})
		}
		return typed{r, RowOf(fs...)}, rest, err
	}
	if rest, ok := prefix("DATE "); ok {
		text, rest := quoted(rest)
		return parse(text, rest, DateType)
	}
	if rest, ok := prefix("TIMESTAMP "); ok {
		text, rest := quoted(rest)
		return parse(text, rest, TimestampOf(6))
	}
	if rest, ok := prefix("TIME "); ok {
		text, rest := quoted(rest)
		return parse(text, rest, TimeOf(3))
	}
	if rest, ok := prefix("x"); ok {
		text, rest := quoted(rest)
		b, err := hex.DecodeString(text)
		return typed{b, VarBinaryOf(MaxLength)}, rest, err
	}
	if rest, ok := prefix("'"); ok {
		text, rest := quoted("'" + rest)
		return typed{text, StringType}, rest, nil
	}
	if rest, ok := prefix("INTERVAL "); ok {
		sign := int64(1)
		if strings.HasPrefix(rest, "-") {
			sign, rest = -1, rest[1:]
		}
		text, rest := quoted(rest)
		var y, m, d, h, mi, sec, ms int64
		for _, u := range []string{" YEAR TO MONTH", " YEAR(4) TO MONTH"} {
			if rest, ok := strings.CutPrefix(rest, u); ok {
				_, err := fmt.Sscanf(text, "%d-%d", &y, &m)
				return typed{MonthsVal(sign * (y*12 + m)), YearMonthType}, rest, err
			}
		}
		if rest, ok := strings.CutPrefix(rest, " DAY TO SECOND(3)"); ok {
			frac := ""
			_, err := fmt.Sscanf(text, "%d %d:%d:%d.%s", &d, &h, &mi, &sec, &frac)
			ms, _ = strconv.ParseInt((frac + "00")[:3], 10, 64)
			return typed{DurationVal(sign * (((d*24+h)*60+mi)*60 + sec) * 1_000_000).plus(sign * ms * 1000), DayTimeType}, rest, err
		}
		if rest, ok := strings.CutPrefix(rest, " MONTH"); ok && text == "0" {
			return typed{MonthsVal(0), YearMonthType}, rest, nil
		}
		if rest, ok := strings.CutPrefix(rest, " SECOND"); ok && text == "0" {
			return typed{DurationVal(0), DayTimeType}, rest, nil
		}
		return typed{}, "", fmt.Errorf("interval %q", rest)
	}
	// A number: an integer, a DECIMAL with its digits, or with an exponent a DOUBLE.
	end := strings.IndexAny(s+" ", " ,)]")
	text, rest := s[:end], s[end:]
	switch {
	case strings.Contains(text, "e"):
		return parse(text, rest, DoubleType)
	case strings.Contains(text, "."):
		return parse(text, rest, DecimalOf(38, len(text)-1-strings.Index(text, ".")))
	}
	if v, rest, err := parse(text, rest, IntType); err == nil {
		return v, rest, nil
	}
	return parse(text, rest, BigIntType)
}

func (d DurationVal) plus(us int64) DurationVal { return d + DurationVal(us) }
