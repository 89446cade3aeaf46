//go:build !unix

package shell

import "testing"

func TestREPL(t *testing.T) { t.Skip("there are no pseudo-terminals here: the REPL is tested on Unix") }
