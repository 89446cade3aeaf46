//go:build !unix

package main

import "testing"

func TestProcess(t *testing.T) {
	t.Skip("signals, pipes and terminals of the command are tested on Unix")
}
