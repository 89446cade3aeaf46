package weir

import (
	"fmt"
	"slices"
	"strings"
)

// InertSetting is a key of Flink that is accepted here and has no effect, or of which only some values are.
type InertSetting struct {
	// Key is the key; with a * at the end all keys that begin so.
	Key string
	// Why says why it has no effect, or why other values are refused.
	Why string
	// Values are the values that are accepted, in any case; none means any.
	Values []string
}

// inert lists the keys of Flink that do nothing here. Those that would change results are accepted only with the values that change nothing. A key that
// begins with a longer one of the list goes by that one.
var inert = []InertSetting{
	// Would change results.
	{"table.exec.legacy-cast-behaviour", "CAST fails on what it cannot read", []string{"disabled"}},
	{"table.exec.source.cdc-events-duplicate", "changes of a source are taken to come once each", []string{"false"}},
	{"table.exec.sink.nested-constraint-enforcer", "NOT NULL inside of ROW, ARRAY and MAP is not enforced at sinks", []string{"ignore"}},
	{"table.column-expansion-strategy", "* has all columns", []string{""}},
	{"table.legacy-nested-row-nullability", "a ROW that is NULL makes its fields NULL", []string{"false"}},
	{"table.sql-dialect", "Flink SQL is the only dialect", []string{"default"}},
	{"table.dynamic-table-options.enabled", "the hint OPTIONS is always taken", []string{"true"}},
	{"table.rtas-ctas.atomicity-enabled", "CREATE TABLE .. AS makes the table first and then fills it", []string{"false"}},

	// Change how results are reached, or how often they are shown, and not what they are in the end.
	{"table.exec.mini-batch.*", "changes are folded by batch anyway", nil},
	{"table.exec.async-lookup.*", "there are no lookup joins yet", nil},
	{"table.exec.async-scalar.*", "functions run in step", nil},
	{"table.exec.async-table.*", "functions run in step", nil},
	{"table.exec.async-ml-predict.*", "there are no models", nil},
	{"table.exec.async-vector-search.*", "there is no vector search", nil},
	{"table.exec.async-state.*", "state is in memory", nil},
	{"table.exec.resource.*", "weir.memory.limit and weir.threads bound what a query takes", nil},
	{"table.exec.spill-compression.*", "nothing is spilled to disk", nil},
	{"table.exec.sort.*", "sorts are in memory", nil},
	{"table.exec.window-agg.*", "weir.memory.limit bounds it", nil},
	{"table.exec.local-hash-agg.*", "local phases are chosen by the planner", nil},
	{"table.exec.operator-fusion-codegen.*", "there is no generated code", nil},
	{"table.exec.rank.*", "Top-N keeps what it needs", nil},
	{"table.exec.deduplicate.*", "changes are folded by batch anyway", nil},
	{"table.exec.interval-join.*", "interval joins do not exist yet", nil},
	{"table.exec.delta-join.*", "there are no delta joins", nil},
	{"table.exec.unbounded-over.*", "there is one implementation", nil},
	{"table.exec.disabled-operators", "it is for tests of Flink", nil},
	{"table.exec.shuffle-mode", "tasks are joined by queues", nil},
	{"table.exec.simplify-operator-name-enabled", "operators have one name", nil},
	{"table.exec.uid.*", "operators have ids of their own", nil},
	{"table.exec.legacy-transformation-uids", "operators have ids of their own", nil},
	{"table.exec.sink.keyed-shuffle", "rows of a key stay in order", nil},
	{"table.exec.sink.upsert-materialize", "rows of a key stay in order, so that nothing has to be put in order before a sink", nil},
	{"table.exec.sink.rowtime-inserter", "rows carry no timestamp beside their columns", nil},
	{"table.exec.sink.require-on-conflict", "rows of a key stay in order, so that there is no conflict to resolve", nil},
	{"table.optimizer.*", "the planner decides by itself", nil},
	{"table.plan.*", "there are no compiled plans", nil},
	{"table.display.*", "the shell fits columns to the terminal", nil},
	{"table.builtin-catalog-name", "the first catalog is default_catalog", nil},
	{"table.builtin-database-name", "the first database is default_database", nil},
	{"table.catalog-store.*", "catalogs live as long as the session", nil},
	{"table.resources.*", "there are no jars", nil},

	// Concern a cluster, or a client of one.
	{"execution.checkpointing.*", "checkpoints are taken by the caller, not by the clock", nil},
	{"execution.state-recovery.*", "a restore is asked for by the caller", nil},
	{"execution.savepoint.*", "a restore is asked for by the caller", nil},
	{"execution.*", "it concerns a cluster", nil},
	{"state.*", "state is in memory", nil},
	{"restart-strategy*", "a failed query stays failed", nil},
	{"pipeline.*", "it concerns a cluster", nil},
	{"parallelism.*", "there is parallelism.default", nil},
	{"jobmanager.*", "there is one process", nil},
	{"taskmanager.*", "there is one process", nil},
	{"rest.*", "there is one process", nil},
	{"cluster.*", "there is one process", nil},
	{"high-availability*", "there is one process", nil},
	{"heartbeat.*", "there is one process", nil},
	{"blob.*", "there is one process", nil},
	{"io.*", "there is one process", nil},
	{"fs.*", "paths are local", nil},
	{"security.*", "connectors have options of their own for it", nil},
	{"metrics.*", "--metrics serves them", nil},
	{"env.*", "there is no Java", nil},
	{"python.*", "there is no Python", nil},
	{"yarn.*", "there is one process", nil},
	{"kubernetes.*", "there is one process", nil},
	{"sql-client.*", "weir has flags and commands of its own for it", nil},
	{"sql-gateway.*", "there is no gateway", nil},
	{"client.*", "there is one process", nil},
}

// InertSettings lists the keys of Flink that have no effect here, in the order of the documentation.
func InertSettings() []InertSetting { return slices.Clone(inert) }

// inertKey finds what is said of a key: the longest entry that it begins with.
func inertKey(key string) *InertSetting {
	var best *InertSetting
	for i := range inert {
		s := &inert[i]
		prefix, all := strings.CutSuffix(s.Key, "*")
		if (s.Key == key || all && strings.HasPrefix(key, prefix)) && (best == nil || len(s.Key) > len(best.Key)) {
			best = s
		}
	}
	return best
}

// checkFlinkKey refuses values of keys of Flink that would change results and cannot here. Flink accepts any key.
func checkFlinkKey(key, value string) error {
	s := inertKey(key)
	if s == nil || len(s.Values) == 0 || slices.ContainsFunc(s.Values, func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(value)) }) {
		return nil
	}
	return newError("WEIR-3002", fmt.Sprintf("configuration key '%s': '%s' is not supported: %s", key, value, s.Why), "")
}

// keyNote warns of a key that nobody knows and that looks like one that is known, or like an option of tables.
func keyNote(key string) string {
	switch {
	case key == "scan.watermark.idle-timeout":
		return "it is an option of tables (WITH, or a hint OPTIONS); SET 'table.exec.source.idle-timeout' is for all of them"
	case strings.HasPrefix(key, "scan."), strings.HasPrefix(key, "sink."), key == "bad-records.table":
		return "it is an option of tables: WITH, or a hint OPTIONS"
	}
	// A misspelled table.exec.source.idle-timeout begins with no entry; a misspelled pipeline.name begins with pipeline.*.
	if s := inertKey(key); findSetting(key) != nil || s != nil && (!strings.HasSuffix(s.Key, ".*") || strings.Count(s.Key, ".") > 1) {
		return ""
	}
	names := settingKeys()
	for _, s := range inert {
		if !strings.HasSuffix(s.Key, "*") {
			names = append(names, s.Key)
		}
	}
	return nearest(key, names)
}
