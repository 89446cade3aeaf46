// Package kafka has the connectors 'kafka' and 'upsert-kafka': topics of Apache Kafka (and of what speaks its protocol) as tables.
//
//	CREATE TABLE clicks (...) WITH ('connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
//
// Options are those of Flink's connectors; 'properties.*' are those of Kafka's Java client (the ones that mean something here; unknown ones are errors).
//
// Source. Each partition is a split. Delivery: each record once; after a restore from the positions of the checkpoint. Ordering: that of the partition.
// Replay: any position that the topic still has; records that were deleted before they were read are an error, unless 'properties.auto.offset.reset' says
// where to go on, and are counted then. Position: the offset of the next record, where a bounded scan ends, and the id of the topic, so that a topic that
// was deleted and made again is noticed. Transactions are read as committed unless 'properties.isolation.level' says otherwise. Partitions that appear
// later are read from their beginning.
//
// What is read ahead is bounded for each table: a reader that is not asked stops the fetching.
//
// Offsets of 'properties.group.id' are committed behind the sinks' commits (connectors.ReportingSource), never ahead of what came out.
//
// Sink. Delivery: at least once ('sink.delivery-guarantee'): rows can be read as soon as they have arrived; a checkpoint, and the end, wait until all have.
// Exactly once: an epoch is a transaction, the receipt its name; only the process that wrote it can commit it. Ordering: rows of one partition of the sink
// that go to one partition of the topic stay in order. There is nothing to replay.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// Connector is the connector 'kafka'.
type Connector struct{}

// Name is kafka.
func (Connector) Name() string { return "kafka" }

var commonOptions = []connectors.Option{
	{Name: "properties.bootstrap.servers", Type: "string", Required: true, Doc: "Addresses of brokers, host:port, separated by commas."},
	{Name: "properties.#", Type: "string", Doc: "A property of Kafka's Java client, such as properties.group.id. docs/kafka.md says which have an effect; unknown ones are errors."},
	{Name: "key.format", Type: "string", Doc: "The format of keys."},
	{Name: "key.fields-prefix", Type: "string", Doc: "What the names of key columns begin with, and the names in the key do not; needs EXCEPT_KEY."},
	{Name: "value.format", Type: "string", Doc: "The format of values."},
	{Name: "value.fields-include", Type: "ALL|EXCEPT_KEY", Default: "ALL", Doc: "Whether the value has the key columns too."},
	{Name: "scan.bounded.mode", Type: "unbounded|latest-offset|group-offsets|timestamp|specific-offsets", Default: "unbounded", Doc: "Where reading ends."},
	{Name: "scan.bounded.specific-offsets", Type: "string", Doc: "Where reading ends, as partition:0,offset:42;partition:1,offset:300; the offsets are not read, and neither are partitions without one."},
	{Name: "scan.bounded.timestamp-millis", Type: "integer", Doc: "Reading ends before the first record with this timestamp or a later one."},
	{Name: "scan.topic-partition-discovery.interval", Type: "duration", Default: "5 min", Doc: "How often to look for new partitions and topics; 0 for never."},
	{Name: "scan.parallelism", Type: "integer", Doc: "Has no effect here: partitions are decoded in parallel."},
	{Name: "sink.parallelism", Type: "integer", Doc: "Has no effect here: as many copies write as the query has there."},
	{Name: "sink.delivery-guarantee", Type: "at-least-once|exactly-once|none", Default: "at-least-once", Doc: "What a sink promises."},
	{Name: "sink.transactional-id-prefix", Type: "string", Doc: "What the names of the transactions of exactly-once begin with."},
}

// Options lists the options.
func (Connector) Options() []connectors.Option {
	return append([]connectors.Option{
		{Name: "topic", Type: "string", Doc: "The topic; several, separated by ;, can be read. A sink of several has a column METADATA FROM 'topic' that says which."},
		{Name: "topic-pattern", Type: "string", Doc: "A regular expression; all topics whose whole name matches are read."},
		{Name: "format", Type: "string", Doc: "The format of values: value.format."},
		{Name: "key.fields", Type: "string", Doc: "The columns that the key has, separated by ;."},
		{Name: "scan.startup.mode", Type: "group-offsets|earliest-offset|latest-offset|timestamp|specific-offsets", Default: "group-offsets",
			Doc: "Where reading begins at the first start."},
		{Name: "scan.startup.specific-offsets", Type: "string", Doc: "Where reading begins, as partition:0,offset:42;partition:1,offset:300."},
		{Name: "scan.startup.timestamp-millis", Type: "integer", Doc: "Reading begins at the first record with this timestamp or a later one."},
		{Name: "sink.partitioner", Type: "default|fixed|round-robin", Default: "default", Doc: "Which partition a row goes to: by the hash of its key, one for each partition of the sink, or in turn."},
	}, commonOptions...)
}

// table is a checked declaration.
type table struct {
	decl    connectors.Declaration
	opts    map[string]string
	props   properties
	upsert  bool
	topics  []string
	pattern *regexp.Regexp

	key, value part
	// keyCols are the positions in the schema of the columns of the key, valueCols those of the value.
	keyCols, valueCols []int
	keyPrefix          string

	start, stop when
	discover    time.Duration
	guarantee   string
	metadata    types.Schema // readable
}

// part is the key or the value: its format.
type part struct {
	name   string // of the format, "" when there is none
	prefix string // of the format's options: "json.", "value.json."
	format connectors.RecordFormat
	opts   map[string]string
}

// when says where reading begins or ends.
type when struct {
	mode    string
	millis  int64
	offsets map[int32]int64
}

// Table checks a declaration.
func (c Connector) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	t := &table{decl: decl, opts: decl.Options, guarantee: "at-least-once"}
	if err := t.setFormats("kafka", c.Options()); err != nil {
		return nil, err
	}
	if err := t.setTopics(); err != nil {
		return nil, err
	}
	if len(decl.PrimaryKey) > 0 && t.changes() == "I" {
		return nil, fmt.Errorf("the format '%s' gives rows that are added only, so that a PRIMARY KEY cannot be kept: remove it, or use connector 'upsert-kafka'", t.value.name)
	}
	if err := t.setKey(); err != nil {
		return nil, err
	}
	var err error
	if t.start, err = t.when("scan.startup", "group-offsets"); err != nil {
		return nil, err
	}
	t.props = propertiesOf(t.opts)
	if t.start.mode == "group-offsets" && t.props["group.id"] == "" && t.props["auto.offset.reset"] == "" {
		// Flink takes a group of its own making then, which has no offsets, and fails at run time. A sink does not mind.
		t.start.mode = "no-group"
	}
	return t, t.finish()
}

// setFormats checks the options' names and finds the formats.
func (t *table) setFormats(connector string, options []connectors.Option) error {
	value := t.opts["value.format"]
	if f, ok := t.opts["format"]; ok && value != "" {
		return errors.New("options 'format' and 'value.format' mean the same: remove one of them")
	} else if ok {
		value = f
	}
	if value == "" {
		return connectors.NeedsOption("connector '"+connector+"'", "format", ", such as json, csv or avro", t.opts, options)
	}
	known := [][]connectors.Option{options}
	find := func(which, name string) (part, error) {
		p := part{name: name}
		f, err := t.decl.Formats(name)
		if err != nil {
			return p, err
		}
		rf, ok := f.(connectors.RecordFormat)
		if !ok {
			return p, fmt.Errorf("the format '%s' is one of files and cannot be used with connector '%s'", name, connector)
		}
		p.format = rf
		p.prefix = which + name
		known = append(known, connectors.PrefixOptions(p.prefix, f.Options()))
		p.opts = connectors.FormatOptions(t.opts, p.prefix)
		if topic := t.opts["topic"]; name == "avro-confluent" && p.opts["subject"] == "" && topic != "" && !strings.Contains(topic, ";") {
			p.opts["subject"] = topic + map[bool]string{true: "-key", false: "-value"}[which == "key."] // as in Flink
		}
		return p, nil
	}
	var err error
	which := ""
	if t.opts["value.format"] != "" {
		which = "value."
	}
	if t.value, err = find(which, value); err != nil {
		return err
	}
	if k := t.opts["key.format"]; k != "" {
		if t.key, err = find("key.", k); err != nil {
			return err
		}
	}
	owner := fmt.Sprintf("connector '%s' with format '%s'", connector, value)
	return connectors.CheckOptions(owner, t.opts, known...)
}

// changes are the row kinds that the value's format gives.
func (t *table) changes() string {
	if f, ok := t.value.format.(connectors.ChangelogFormat); ok {
		gives, _ := f.Changelog()
		return gives
	}
	return "I"
}

func (t *table) setTopics() error {
	topic, pattern := t.opts["topic"], t.opts["topic-pattern"]
	switch {
	case topic != "" && pattern != "":
		return fmt.Errorf("options 'topic' and 'topic-pattern' exclude each other")
	case pattern != "":
		re, err := regexp.Compile("^(?:" + pattern + ")$")
		if err != nil {
			return fmt.Errorf("option 'topic-pattern': %w", err)
		}
		t.pattern = re
	default:
		for _, name := range strings.Split(topic, ";") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(t.topics, name) {
				t.topics = append(t.topics, name)
			}
		}
		if len(t.topics) == 0 {
			return fmt.Errorf("connector 'kafka' needs the option 'topic', or 'topic-pattern' to read several")
		}
	}
	return nil
}

// setKey splits the columns into those of the key and those of the value.
func (t *table) setKey() error {
	fields := t.opts["key.fields"]
	switch {
	case t.key.name == "" && fields != "":
		return fmt.Errorf("option 'key.fields' needs 'key.format'")
	case t.key.name != "" && fields == "":
		return fmt.Errorf("option 'key.format' needs 'key.fields': the columns that the key has")
	}
	var names []string
	for _, f := range strings.Split(fields, ";") {
		if f = strings.TrimSpace(f); f != "" {
			names = append(names, f)
		}
	}
	return t.splitColumns(names)
}

func (t *table) splitColumns(key []string) error {
	schema := t.decl.Columns
	if len(schema) == 0 {
		return fmt.Errorf("table %s needs columns: connector 'kafka' cannot infer them", t.decl.Name)
	}
	except := strings.EqualFold(t.opts["value.fields-include"], "EXCEPT_KEY")
	t.keyPrefix = t.opts["key.fields-prefix"]
	if t.keyPrefix != "" && !except {
		return fmt.Errorf("option 'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY'")
	}
	in := map[string]bool{}
	for _, k := range key {
		i := schema.Index(k)
		if i < 0 {
			hint := "the columns are " + strings.Join(schema.Names(), ", ")
			if near := connectors.Nearest(k, schema.Names()); near != "" {
				hint = "did you mean '" + near + "'?"
			}
			return fmt.Errorf("the key has the column '%s', which table %s does not have; %s", k, t.decl.Name, hint)
		}
		if in[k] {
			return fmt.Errorf("option 'key.fields' has the column '%s' twice", k)
		}
		if !strings.HasPrefix(k, t.keyPrefix) {
			return fmt.Errorf("the key column '%s' does not begin with 'key.fields-prefix' = '%s'", k, t.keyPrefix)
		}
		in[k] = true
		t.keyCols = append(t.keyCols, i)
	}
	for i, c := range schema {
		if !except || !in[c.Name] {
			t.valueCols = append(t.valueCols, i)
		}
	}
	return nil
}

// when reads the options that begin with prefix: scan.startup or scan.bounded.
func (t *table) when(prefix, def string) (when, error) {
	w := when{mode: strings.ToLower(connectors.GetString(t.opts, prefix+".mode", def))}
	millis, specific := t.opts[prefix+".timestamp-millis"], t.opts[prefix+".specific-offsets"]
	if (millis != "") != (w.mode == "timestamp") {
		return w, fmt.Errorf("options '%s.mode' = 'timestamp' and '%s.timestamp-millis' need each other", prefix, prefix)
	}
	if (specific != "") != (w.mode == "specific-offsets") {
		return w, fmt.Errorf("options '%s.mode' = 'specific-offsets' and '%s.specific-offsets' need each other", prefix, prefix)
	}
	w.millis = connectors.GetInt(t.opts, prefix+".timestamp-millis", 0)
	if w.millis < 0 {
		return w, fmt.Errorf("option '%s.timestamp-millis' must not be negative", prefix)
	}
	if specific == "" {
		return w, nil
	}
	w.offsets = map[int32]int64{}
	bad := fmt.Errorf("option '%s.specific-offsets': write it as partition:0,offset:42;partition:1,offset:300", prefix)
	for _, pair := range strings.Split(strings.Trim(specific, "; "), ";") {
		p, o, ok := strings.Cut(pair, ",")
		p, okP := strings.CutPrefix(strings.TrimSpace(p), "partition:")
		o, okO := strings.CutPrefix(strings.TrimSpace(o), "offset:")
		partition, errP := strconv.ParseInt(strings.TrimSpace(p), 10, 32)
		offset, errO := strconv.ParseInt(strings.TrimSpace(o), 10, 64)
		if _, twice := w.offsets[int32(partition)]; !ok || !okP || !okO || errP != nil || errO != nil || partition < 0 || offset < 0 || twice {
			return w, bad
		}
		w.offsets[int32(partition)] = offset
	}
	return w, nil
}

// finish checks what both connectors have in common.
func (t *table) finish() error {
	t.props = propertiesOf(t.opts)
	if err := t.props.check(); err != nil {
		return err
	}
	var err error
	if t.stop, err = t.when("scan.bounded", "unbounded"); err != nil {
		return err
	}
	if t.stop.mode == "group-offsets" && t.props["group.id"] == "" {
		return fmt.Errorf("option 'scan.bounded.mode' = 'group-offsets' needs 'properties.group.id'")
	}
	if (t.start.mode == "specific-offsets" || t.stop.mode == "specific-offsets") && (t.pattern != nil || len(t.topics) > 1) {
		return fmt.Errorf("'specific-offsets' need one topic")
	}
	t.discover = connectors.GetDuration(t.opts, "scan.topic-partition-discovery.interval", 5*time.Minute)
	if v, ok := t.props["partition.discovery.interval.ms"]; ok && t.opts["scan.topic-partition-discovery.interval"] == "" {
		if ms, _ := strconv.ParseInt(v, 10, 64); ms <= 0 {
			t.discover = 0
		} else {
			t.discover = time.Duration(ms) * time.Millisecond
		}
	}
	t.guarantee = connectors.GetEnum(t.opts, "sink.delivery-guarantee", "at-least-once", "at-least-once", "exactly-once", "none")
	if err := t.checkExactly(); err != nil {
		return err
	}
	t.metadata = append(types.Schema{}, metadataColumns...)
	if f, ok := t.value.format.(connectors.MetadataFormat); ok {
		for _, c := range f.Metadata() {
			t.metadata = append(t.metadata, types.Column{Name: "value." + c.Name, Type: c.Type})
		}
	}
	for _, p := range []struct {
		part
		what string
		cfg  connectors.FormatConfig
	}{{t.key, "key", t.keyConfig(nil, false)}, {t.value, "value", t.valueConfig(nil, nil, false)}} {
		if p.format == nil {
			continue
		}
		if f, ok := p.format.(connectors.ChangelogFormat); ok && (p.what == "key" || t.upsert) {
			if gives, _ := f.Changelog(); gives != "I" {
				return fmt.Errorf("the format '%s' is one of changes and cannot be the format of the %s here", p.name, p.what)
			}
		}
		if p.name == "csv" && connectors.GetBool(p.opts, "header", false) {
			return fmt.Errorf("option '%s.header': messages have no header line", p.prefix)
		}
		if err := p.format.Check(p.cfg); err != nil {
			return fmt.Errorf("the %s: %w", p.what, err)
		}
	}
	return nil
}

// keyConfig describes the key's columns; wanted are positions in the table's schema.
func (t *table) keyConfig(wanted []int, keepBad bool) connectors.FormatConfig {
	cfg := t.config(t.key, t.keyCols, wanted, keepBad)
	for i := range cfg.Columns {
		cfg.Columns[i].Name = strings.TrimPrefix(cfg.Columns[i].Name, t.keyPrefix)
	}
	return cfg
}

func (t *table) valueConfig(wanted []int, metadata []string, keepBad bool) connectors.FormatConfig {
	cfg := t.config(t.value, t.valueCols, wanted, keepBad)
	cfg.Metadata = metadata
	return cfg
}

func (t *table) config(p part, cols, wanted []int, keepBad bool) connectors.FormatConfig {
	cfg := connectors.FormatConfig{Table: t.decl.Name, Options: p.opts, Zone: t.decl.Zone, KeepBad: keepBad}
	want := map[int]bool{}
	for _, w := range wanted {
		want[w] = true
	}
	for i, c := range cols {
		cfg.Columns = append(cfg.Columns, t.decl.Columns[c])
		if want[c] {
			cfg.Wanted = append(cfg.Wanted, i)
		}
	}
	return cfg
}

// metadataColumns are what every record has.
var metadataColumns = types.Schema{
	{Name: "topic", Type: types.StringType.NotNull()},
	{Name: "partition", Type: types.IntType.NotNull()},
	{Name: "headers", Type: types.MapOf(types.StringType.NotNull(), types.BytesType).NotNull()},
	{Name: "leader-epoch", Type: types.IntType},
	{Name: "offset", Type: types.BigIntType.NotNull()},
	{Name: "timestamp", Type: types.TimestampLTZOf(3).NotNull()},
	{Name: "timestamp-type", Type: types.StringType.NotNull()},
}

// Schema returns the declared columns.
func (t *table) Schema() types.Schema { return t.decl.Columns }

// MetadataKeys are those of the record, and those of the value's format with "value." before them.
func (t *table) MetadataKeys() types.Schema { return t.metadata }

// MetadataWritable is true for headers and timestamp, and for topic where the table does not name exactly one.
func (t *table) MetadataWritable(key string) bool {
	return key == "headers" || key == "timestamp" || key == "topic" && len(t.topics) != 1
}

// Bounded tells by 'scan.bounded.mode'.
func (t *table) Bounded() bool { return t.stop.mode != "unbounded" }

// ChangelogKinds is what the value's format gives; I,UA,D for upsert-kafka.
func (t *table) ChangelogKinds() string {
	if t.upsert {
		return "I,UA,D"
	}
	return t.changes()
}

// AcceptsKinds is what the value's format takes.
func (t *table) AcceptsKinds() string {
	if t.upsert {
		return "I,UA,D"
	}
	if f, ok := t.value.format.(connectors.ChangelogFormat); ok {
		_, takes := f.Changelog()
		return takes
	}
	return "I"
}

// RowEstimate is unknown.
func (t *table) RowEstimate() int64 { return -1 }

// SuppliesWatermarks is false.
func (t *table) SuppliesWatermarks() bool { return false }

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
