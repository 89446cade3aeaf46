package kafka

import (
	"context"
	"fmt"

	"github.com/weir-sql/weir/connectors"
)

// Upsert is the connector 'upsert-kafka': a topic whose keys are the PRIMARY KEY of the table. A record sets the row of its key, a null value deletes it.
type Upsert struct{}

// Name is upsert-kafka.
func (Upsert) Name() string { return "upsert-kafka" }

// Options lists the options.
func (Upsert) Options() []connectors.Option {
	return append([]connectors.Option{
		{Name: "sink.buffer-flush.max-rows", Type: "integer", Default: "0", Doc: "Has no effect here: every change is written; the last one of a key counts."},
		{Name: "sink.buffer-flush.interval", Type: "duration", Default: "0", Doc: "Has no effect here."},
	}, commonOptions...)
}

// Table checks a declaration.
func (c Upsert) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	t := &table{decl: decl, opts: decl.Options, upsert: true}
	for _, o := range []string{"key.format", "value.format"} {
		if decl.Options[o] == "" {
			return nil, fmt.Errorf("connector 'upsert-kafka' needs the option '%s'", o)
		}
	}
	if len(decl.PrimaryKey) == 0 {
		return nil, fmt.Errorf("connector 'upsert-kafka' needs a PRIMARY KEY ... NOT ENFORCED: the columns that the key of a record has")
	}
	if err := t.setFormats("upsert-kafka", c.Options()); err != nil {
		return nil, err
	}
	if err := t.setTopics(); err != nil {
		return nil, err
	}
	if len(t.topics) > 1 {
		return nil, fmt.Errorf("connector 'upsert-kafka' takes one topic")
	}
	var key []string
	for _, i := range decl.PrimaryKey {
		key = append(key, decl.Columns[i].Name)
	}
	if err := t.splitColumns(key); err != nil {
		return nil, err
	}
	t.start = when{mode: "earliest-offset"}
	return t, t.finish()
}
