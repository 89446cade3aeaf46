package weir

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/connectors"
)

// Setting describes a configuration key of a session (SET 'key' = 'value').
type Setting struct {
	Key     string
	Default string
	Type    string // duration, integer, size, boolean, string, or values joined by |
	Doc     string
}

// settings lists all keys that mean something here; for the others see inert.
var settings = []Setting{
	{Key: "parallelism.default", Default: "1", Type: "integer", Doc: "number of partitions of keyed operators"},
	{Key: "table.local-time-zone", Default: "UTC", Type: "string", Doc: "session time zone, for TIMESTAMP_LTZ"},
	{Key: "table.exec.source.idle-timeout", Default: "0 ms", Type: "duration", Doc: "a split without rows for so long is idle; 0 is never"},
	{Key: "table.exec.state.ttl", Default: "0 ms", Type: "duration", Doc: "a group of GROUP BY, or the last row of a key of upserts, that had no row for so long, by the clock, is forgotten; 0 is never"},
	{Key: "table.dml-sync", Default: "false", Type: "boolean", Doc: "whether an unbounded INSERT is waited for; bounded ones always are"},
	{Key: "table.exec.sink.not-null-enforcer", Default: "ERROR", Type: "ERROR|DROP", Doc: "what happens to a NULL for a NOT NULL column of a sink"},
	{Key: "table.exec.sink.type-length-enforcer", Default: "IGNORE", Type: "IGNORE|TRIM_PAD", Doc: "whether texts and bytes are cut or padded to the length of their column of a sink"},
	{Key: "table.exec.emit.early-fire.enabled", Default: "false", Type: "boolean", Doc: "windows give results before they close, by the clock"},
	{Key: "table.exec.emit.early-fire.delay", Default: "", Type: "duration", Doc: "how often, from the first row of a key and window on; 0 is at every row"},
	{Key: "table.exec.emit.late-fire.enabled", Default: "false", Type: "boolean", Doc: "windows give results again for late rows; set to false, allow-lateness has no effect"},
	{Key: "table.exec.emit.late-fire.delay", Default: "", Type: "duration", Doc: "how long after a late row, by the clock; 0 is at the row"},
	{Key: "table.exec.emit.allow-lateness", Default: "0 ms", Type: "duration", Doc: "for how long behind its close a window takes late rows"},
	{Key: "table.optimizer.non-deterministic-update.strategy", Default: "TRY_RESOLVE", Type: "TRY_RESOLVE|IGNORE", Doc: "whether a function that gives another value each time, like RAND() or CURRENT_TIMESTAMP, is refused over changes of which whole rows are taken back; IGNORE, Flink's default, lets it go"},
	{Key: "pipeline.auto-watermark-interval", Default: "200 ms", Type: "duration", Doc: "how often on-periodic watermarks are emitted; 0 means on-event"},
	{Key: "pipeline.name", Default: "", Type: "string", Doc: "name of the job that the next INSERT starts"},
	{Key: "execution.runtime-mode", Default: "streaming", Type: "streaming|batch", Doc: "batch: bounded queries give their final rows once"},
	{Key: "weir.threads", Default: "0", Type: "integer", Doc: "workers of a source; 0 is one for each core"},
	{Key: "weir.batch-size", Default: "8192", Type: "integer", Doc: "most rows of a batch"},
	{Key: "weir.memory.limit", Default: "", Type: "size", Doc: "what a query may hold; default: half of the machine's memory"},
	{Key: "weir.input-order", Default: "time", Type: "time|split|arrival", Doc: "the order in which rows of several bounded splits are taken"},
	{Key: "weir.scan.max-open-splits", Default: "64", Type: "integer", Doc: "most splits of a bounded scan that may be open at once"},
	{Key: "weir.scan.block-size", Default: "1 mb", Type: "size", Doc: "about how much a source reads at once"},
	{Key: "weir.infer.rows", Default: "1000", Type: "integer", Doc: "rows that are looked at to infer a schema"},
	{Key: "weir.result-mode", Default: "changelog", Type: "changelog|table", Doc: "whether an updating query over bounded input shows its changes or its final table"},
	{Key: "weir.optimizer", Default: "on", Type: "on|off", Doc: "off: only the rules that are part of a query's meaning"},
	{Key: "weir.check-contracts", Default: "false", Type: "boolean", Doc: "put a checker between any two operators (for tests)"},
}

// Settings lists the configuration keys, by name.
func Settings() []Setting {
	out := append([]Setting(nil), settings...)
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

func findSetting(key string) *Setting {
	for i := range settings {
		if settings[i].Key == key {
			return &settings[i]
		}
	}
	return nil
}

// checkSetting validates a key and its value.
func checkSetting(key, value string) error {
	s := findSetting(key)
	if s == nil {
		if strings.HasPrefix(key, "weir.") {
			return newError("WEIR-3001", fmt.Sprintf("unknown configuration key '%s'", key), nearest(key, settingKeys()))
		}
		return checkFlinkKey(key, value)
	}
	if err := checkValue(s.Type, value); err != nil {
		return newError("WEIR-3002", fmt.Sprintf("configuration key '%s': %v", key, err), "")
	}
	switch {
	case key == "parallelism.default", key == "weir.batch-size", key == "weir.scan.max-open-splits", key == "weir.infer.rows":
		if n, _ := strconv.Atoi(value); n < 1 {
			return newError("WEIR-3002", fmt.Sprintf("configuration key '%s': must be at least 1, not %s", key, value), "")
		}
	case key == "weir.threads":
		if n, _ := strconv.Atoi(value); n < 0 {
			return newError("WEIR-3002", "configuration key 'weir.threads': must not be negative", "")
		}
	}
	return nil
}

func settingKeys() []string {
	keys := make([]string, len(settings))
	for i := range settings {
		keys[i] = settings[i].Key
	}
	return keys
}

func checkValue(kind, value string) error {
	var err error
	switch kind {
	case "string":
	case "integer":
		_, err = strconv.Atoi(value)
		if err != nil {
			err = fmt.Errorf("%q is no whole number", value)
		}
	case "boolean":
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			err = fmt.Errorf("%q is neither true nor false", value)
		}
	case "duration":
		_, err = ParseDuration(value)
	case "size":
		_, err = ParseSize(value)
	default:
		values := strings.Split(kind, "|")
		for _, v := range values {
			if strings.EqualFold(v, value) {
				return nil
			}
		}
		err = fmt.Errorf("%q is none of %s", value, strings.Join(values, ", "))
	}
	return err
}

// ParseDuration reads a duration in Flink's form: `10 s`, `200ms`, `1 min`, `1 d`; a bare number is milliseconds.
func ParseDuration(s string) (time.Duration, error) { return connectors.ParseDuration(s) }

// ParseSize reads a size in Flink's form: `128MB`, `1 gb`; units are powers of 1024, a bare number is bytes.
func ParseSize(s string) (int64, error) { return connectors.ParseSize(s) }

// nearest gives a hint with the nearest of names, or "".
func nearest(word string, names []string) string {
	n := Nearest(word, names)
	if n == "" {
		return ""
	}
	return fmt.Sprintf("did you mean '%s'?", n)
}
