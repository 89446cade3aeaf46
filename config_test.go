package weir_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
)

// TestFlinkKeys: a key of Flink acts, is known to have no effect, or is refused where its value would change results; a misspelled one is warned of.
func TestFlinkKeys(t *testing.T) {
	db := open(t, weir.Options{})
	for _, tt := range []struct{ sql, err, warning string }{
		{"SET 'table.exec.state.ttl' = '1 h'", "", ""},
		{"SET 'table.exec.state.ttl' = 'soon'", "configuration key 'table.exec.state.ttl'", ""},
		{"SET 'table.sql-dialect' = 'HIVE'", "is not supported: Flink SQL is the only dialect", ""},
		{"SET 'table.sql-dialect' = 'Default'", "", ""},
		{"SET 'table.exec.sink.type-length-enforcer' = 'ERROR'", "is none of IGNORE, TRIM_PAD", ""},
		{"SET 'table.exec.mini-batch.enabled' = 'true'", "", ""},
		{"SET 'execution.checkpointing.interval' = '10 s'", "", ""},
		{"SET 'pipeline.object-reuse' = 'true'", "", ""},
		{"SET 'my.key' = 'x'", "", ""},
		{"SET 'parallelism.defualt' = '2'", "", "the key 'parallelism.defualt' has no effect; did you mean 'parallelism.default'?"},
		{"SET 'table.exec.state.tll' = '1 h'", "", "the key 'table.exec.state.tll' has no effect; did you mean 'table.exec.state.ttl'?"},
		{"SET 'pipeline.nam' = 'x'", "", "the key 'pipeline.nam' has no effect; did you mean 'pipeline.name'?"},
		{"SET 'scan.watermark.idle-timeout' = '30 s'", "",
			"the key 'scan.watermark.idle-timeout' has no effect; it is an option of tables (WITH, or a hint OPTIONS); SET 'table.exec.source.idle-timeout' is for all of them"},
		{"SET 'scan.watermark.max-future' = '5 min'", "", "the key 'scan.watermark.max-future' has no effect; it is an option of tables: WITH, or a hint OPTIONS"},
	} {
		res, err := db.ExecuteWith(context.Background(), tt.sql, weir.ExecOptions{})
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.sql, err, tt.err)
			continue
		}
		if err == nil && strings.Join(res.Warnings, "|") != tt.warning {
			t.Errorf("%s: warned of %q, want %q", tt.sql, res.Warnings, tt.warning)
		}
	}
	for _, s := range weir.InertSettings() {
		for _, v := range s.Values {
			if err := db.Exec(context.Background(), "SET '"+s.Key+"' = '"+v+"'"); err != nil {
				t.Error(err)
			}
		}
		for _, k := range weir.Settings() {
			if k.Key == s.Key {
				t.Errorf("%s has an effect and none", s.Key)
			}
		}
	}
}
