package main

import (
	"bytes"
	"errors"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		var out bytes.Buffer
		log := newWarnings(&out, quiet)
		log.Info("connected")
		log.Warn("a broker is away", "broker", "b:9092", "error", errors.New("refused"))
		log.With("table", "t").Error("panic", "panic", "boom", "stack", "goroutine 1")
		want := "weir: warning: a broker is away (broker: b:9092, error: refused)\n"
		if quiet {
			want = ""
		}
		want += "weir: error: panic (table: t, panic: boom)\ngoroutine 1\n"
		if out.String() != want {
			t.Errorf("quiet %t: got\n%s\nwant\n%s", quiet, out.String(), want)
		}
	}
}
