// Package blackhole has the connector 'blackhole': a sink that counts rows and forgets them.
//
// Sink. Delivery: none. Ordering: none. Replay: none. Receipts: none. It takes every kind of change.
package blackhole

import (
	"context"
	"fmt"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Connector is the blackhole connector.
type Connector struct{}

// Name is blackhole.
func (Connector) Name() string { return "blackhole" }

// Options is empty.
func (Connector) Options() []connectors.Option { return nil }

// Table checks a declaration.
func (Connector) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	if err := connectors.CheckOptions("connector 'blackhole'", decl.Options); err != nil {
		return nil, err
	}
	if len(decl.Columns) == 0 {
		return nil, fmt.Errorf("table %s: connector 'blackhole' needs columns", decl.Name)
	}
	return &table{decl.Columns}, nil
}

type table struct{ schema types.Schema }

func (t *table) Schema() types.Schema                           { return t.schema }
func (t *table) MetadataKeys() types.Schema                     { return nil }
func (t *table) MetadataWritable(string) bool                   { return false }
func (t *table) Bounded() bool                                  { return true }
func (t *table) ChangelogKinds() string                         { return "" }
func (t *table) AcceptsKinds() string                           { return "all" }
func (t *table) RowEstimate() int64                             { return -1 }
func (t *table) SuppliesWatermarks() bool                       { return false }
func (t *table) Sink(connectors.Write) (connectors.Sink, error) { return sink{}, nil }

type sink struct{}

func (sink) Open(context.Context, *connectors.Env, [][]byte) error { return nil }
func (sink) Write(_ context.Context, b stream.Batch) error         { b.Release(); return nil }
func (sink) Prepare(context.Context, int64) ([]byte, error)        { return nil, nil }
func (sink) Commit(context.Context, []byte) error                  { return nil }
func (sink) Close() error                                          { return nil }
func (sink) Immediate() bool                                       { return true }
