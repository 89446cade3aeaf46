package weir

import (
	"io"
	"reflect"
	"runtime"
	"testing"

	"github.com/weir-sql/weir/connectors"
)

// Whoever sees the signal of a closed Go channel must find the end: a job once waited for ever because the signal came first.
func TestSignalOfAClosedChannelComesBehindTheEnd(t *testing.T) {
	type row struct{ N int64 }
	alone := runtime.GOMAXPROCS(0) == 1
	for range 2000 {
		rows := make(chan row)
		close(rows)
		table := &goTable{source: &goSource{channel: reflect.ValueOf(rows)}}
		r := &goReader{scan: &goScan{table: table}, env: &connectors.Env{}, ready: make(chan struct{}, 1), queue: make(chan reflect.Value, 1)}
		go r.receive(t.Context())
		for len(r.Ready()) == 0 { // without giving way, where there are two processors: the moment between the two is short
			if alone {
				runtime.Gosched()
			}
		}
		if _, err := r.Next(t.Context()); err != io.EOF {
			t.Fatalf("got %v, want the end", err)
		}
	}
}
