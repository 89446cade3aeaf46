package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// warnings writes what connectors have to say while a query runs (a broker is away, offsets are not committed) to stderr, a line each, and panics with
// their stacks; with --quiet only errors.
type warnings struct {
	out   io.Writer
	quiet bool
	mu    *sync.Mutex
	attrs []slog.Attr
}

func newWarnings(out io.Writer, quiet bool) *slog.Logger {
	return slog.New(&warnings{out: out, quiet: quiet, mu: &sync.Mutex{}})
}

func (w *warnings) Enabled(_ context.Context, l slog.Level) bool {
	return l >= slog.LevelError || l >= slog.LevelWarn && !w.quiet
}

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	level := "warning"
	if r.Level >= slog.LevelError {
		level = "error"
	}
	fmt.Fprintf(&b, "weir: %s: %s", level, r.Message)
	sep := " ("
	add := func(a slog.Attr) bool {
		if a.Key == "stack" {
			return true // below
		}
		fmt.Fprintf(&b, "%s%s: %v", sep, strings.ReplaceAll(a.Key, "_", " "), a.Value)
		sep = ", "
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	if sep == ", " {
		b.WriteByte(')')
	}
	b.WriteByte('\n')
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stack" {
			fmt.Fprintf(&b, "%v\n", a.Value)
		}
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.out, b.String())
	return err
}

func (w *warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *w
	c.attrs = append(append([]slog.Attr{}, w.attrs...), attrs...)
	return &c
}

// WithGroup leaves groups out: nobody here makes any.
func (w *warnings) WithGroup(string) slog.Handler { return w }
