package connectors

import (
	"testing"
	"time"
)

func TestCheckOptions(t *testing.T) {
	known := []Option{
		{Name: "path", Type: "string", Required: true, Doc: "Where."}, {Name: "rows", Type: "integer"}, {Name: "on", Type: "boolean"}, {Name: "wait", Type: "duration"},
		{Name: "size", Type: "size"}, {Name: "mode", Type: "A|B-C"}, {Name: "rate", Type: "double"}, {Name: "fields.#.min", Type: "integer"},
	}
	ok := map[string]string{"connector": "x", "path": "", "rows": "-5", "on": "TRUE", "wait": "10 s", "size": "64kb", "mode": "b-c", "rate": "0.5", "fields.a.b.min": "1"}
	if err := CheckOptions("connector 'x'", ok, known); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, value, want string }{
		{"rows", "1.5", "option 'rows': '1.5' is not an integer"},
		{"on", "1", "option 'on': '1' is not a boolean: write 'true' or 'false'"},
		{"wait", "10 fortnights", "option 'wait': '10 fortnights' is not a duration: write a number and a unit, such as '10 s', '5 min' or '200 ms'"},
		{"size", "-1", "option 'size': '-1' is not a size: write a number and a unit, such as '128 mb' or '64 kb'"},
		{"mode", "C", "option 'mode': 'C' is not one of A, B-C"},
		{"rate", "NaN", "option 'rate': 'NaN' is not a number"},
		{"fields.a.min", "x", "option 'fields.a.min': 'x' is not an integer"},
		{"fields..min", "1", "unknown option 'fields..min' of connector 'x'; did you mean 'fields.#.min'?"},
		{"raws", "1", "unknown option 'raws' of connector 'x'; did you mean 'rows'?"},
		{"zzzzzz", "1", "unknown option 'zzzzzz' of connector 'x'; it takes: fields.#.min, mode, on, path, rate, rows, size, wait"},
	} {
		err := CheckOptions("connector 'x'", map[string]string{"path": "p", tt.name: tt.value}, known)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s = %s:\n got %v\nwant %s", tt.name, tt.value, err, tt.want)
		}
	}
	if err := CheckOptions("connector 'x'", nil, known); err == nil || err.Error() != "connector 'x' needs the option 'path': Where." {
		t.Error(err)
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{"5": 5 * time.Millisecond, "1 s": time.Second, " 2min ": 2 * time.Minute, "3 DAYS": 72 * time.Hour, "4h": 4 * time.Hour, "7 us": 7 * time.Microsecond} {
		if d, err := ParseDuration(text); err != nil || d != want {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
	for text, want := range map[string]int64{"5": 5, "1 kb": 1024, "2MB": 2 << 20, "3 gibibytes": 3 << 30, "4 k": 4096} {
		if n, err := ParseSize(text); err != nil || n != want {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "s", "99999999999999999999 s", "9999999999999 d", "1 2 s", "-1 s"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
	for _, text := range []string{"", "kb", "99999999999 tb", "1.5 mb"} {
		if n, err := ParseSize(text); err == nil {
			t.Errorf("%q is %v", text, n)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"json.ignore-parse-errors", "path", "format", "TUMBLE"}
	for name, want := range map[string]string{"json.ignore-parse-error": "json.ignore-parse-errors", "pahT": "path", "x": "", "tumbel": "TUMBLE", "completely different": ""} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestNeedsOption(t *testing.T) {
	known := []Option{{Name: "path"}, {Name: "rate"}}
	for _, tt := range []struct {
		given map[string]string
		want  string
	}{
		{map[string]string{"rate": "1", "zzzzzz": "2"}, "connector 'x' needs the option 'format', such as json"},
		{map[string]string{"rate": "1", "fromat": "2"}, "unknown option 'fromat' of connector 'x'; did you mean 'format'?"},
		{map[string]string{"formats": "1", "fromat": "2"}, "unknown option 'formats' of connector 'x'; did you mean 'format'?"},
	} {
		if err := NeedsOption("connector 'x'", "format", ", such as json", tt.given, known); err.Error() != tt.want {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
	}
}
