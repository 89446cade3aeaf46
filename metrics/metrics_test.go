package metrics_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	testconn "github.com/weir-sql/weir/connectors/test"
	"github.com/weir-sql/weir/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session has a query over two splits that has met every kind of row.
func session(t *testing.T) *weir.DB {
	t.Helper()
	clock, reg := weir.NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)), testconn.NewRegistry()
	db, err := weir.Open(weir.Options{Clock: clock, Connectors: []connectors.Connector{reg.Connector()}, MemoryLimit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Exec(t.Context(), `
CREATE TABLE t (u STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'test', 'splits' = '2',
  'scan.watermark.idle-timeout' = '1 min', 'scan.watermark.max-future' = '5 min', 'scan.watermark.null-rows' = 'keep',
  'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 h');
CREATE TABLE r (w TIMESTAMP(3), u STRING, n BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE n (u STRING, n BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE s (n BIGINT) WITH ('connector' = 'memory');
CREATE TABLE c (n BIGINT) WITH ('connector' = 'test', 'changelog-mode' = 'all');
INSERT INTO s VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	job, err := db.Start(t.Context(), "INSERT INTO r SELECT window_start, u, COUNT(*) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, u")
	if err != nil {
		t.Fatal(err)
	}
	jobs := []*weir.Job{job}
	for _, sql := range []string{ // of which windows miss rows in part, and of which groups take changes
		"INSERT INTO r SELECT window_start, u, COUNT(*) FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND) GROUP BY window_start, window_end, u",
		"INSERT INTO n SELECT u, COUNT(*) FROM t GROUP BY u",
		"INSERT INTO s SELECT n FROM c",
	} {
		if job, err = db.Start(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	for i, rows := range [][]string{
		{"ann,2024-05-01 10:00:30", "bob,2024-05-01 10:00:02", "ann,NULL", "cid,2024-05-01 11:00:00"},
		{"dan,2024-05-01 10:00:20", "dan,2024-05-01 10:00:01", "dan,2024-05-01 10:00:12"},
	} {
		for _, r := range rows {
			if err := reg.Table("`default_catalog`.`default_database`.`t`").Append(i, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := reg.Table("`default_catalog`.`default_database`.`c`").Append(0, "-D,7"); err != nil { // of a row that is not there: the connector counts it
		t.Fatal(err)
	}
	for _, j := range jobs {
		if err := j.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := job.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func get(t *testing.T, url, accept string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", url, res.Status, err, body)
	}
	return string(body)
}

func TestServer(t *testing.T) {
	db := session(t)
	s, err := metrics.Listen("127.0.0.1:0", db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	base := "http://" + s.Addr().String()
	text := get(t, base+"/metrics", "")
	const table = `operator="Scan-1",query="2",table="default_catalog.default_database.t"`
	for _, want := range []string{
		`weir_queries 4`,
		`weir_queries_ended_total{state="finished"} 1`,
		`weir_query_info{name="insert-into_default_catalog.default_database.r",query="2"} 1`,
		`weir_query_rows_in_total{query="2"} 7`,
		`weir_query_watermark_seconds{query="2"} 1.714557615e+09`, // 10:00:15
		`weir_query_watermark_lag_seconds{query="2"} -15`,
		`weir_query_memory_limit_bytes{query="2"} 1.073741824e+09`,
		`weir_table_rows_total{` + table + `} 7`,
		`weir_table_future_rows_total{` + table + `} 1`,
		`weir_table_bad_rows_total{` + table + `} 0`,
		`weir_split_rows_total{operator="Scan-1",query="2",split="0",table="default_catalog.default_database.t"} 4`,
		`weir_split_watermark_lag_seconds{operator="Scan-1",query="2",split="0",table="default_catalog.default_database.t"} -25`,
		`weir_split_holds_watermark{operator="Scan-1",query="2",split="0",table="default_catalog.default_database.t"} 0`,
		`weir_split_holds_watermark{operator="Scan-1",query="2",split="1",table="default_catalog.default_database.t"} 1`,
		`weir_split_last_row_seconds{operator="Scan-1",query="2",split="1",table="default_catalog.default_database.t"} 1.7145576e+09`,
		`weir_split_idle{operator="Scan-1",query="2",split="1",table="default_catalog.default_database.t"} 0`,
		`weir_split_alignment_drift_seconds{operator="Scan-1",query="2",split="0",table="default_catalog.default_database.t"} 10`,
		`weir_operator_late_rows_total{operator="LocalWindowAggregate-1",query="2"} 1`,
		`weir_operator_partly_late_rows_total{operator="LocalWindowAggregate-1",query="3"} 1`,
		`weir_operator_state_rows{operator="GroupAggregate-1",query="4"} 4`,
		`weir_connector_events_total{event="unmatched_retractions",operator="Sink-1",query="5"} 1`,
		// Counters are there before the first late row: rate() and increase() see no step from nothing to one.
		`weir_operator_late_rows_total{operator="LocalWindowAggregate-1",query="3"} 1`,
		`weir_operator_partly_late_rows_total{operator="LocalWindowAggregate-1",query="2"} 0`,
		`weir_operator_null_time_rows_total{operator="GlobalWindowAggregate-1",query="2"} 0`,
		"# TYPE weir_table_rows_total counter", "# TYPE weir_split_idle gauge",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics does not have %q", want)
		}
	}
	emitted := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(weir_[a-z_]+)`).FindAllStringSubmatch(text, -1) {
		emitted[m[1]] = true
	}
	for _, d := range weir.MetricDescs() {
		if !emitted[d.Name] {
			t.Errorf("%s is described and was not given", d.Name)
		}
	}
	if t.Failed() {
		t.Log(text)
	}

	got := get(t, base+"/watermarks", "")
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 8 || !strings.HasPrefix(lines[0], "job id  table ") || strings.Join(strings.Fields(lines[2]), " ") !=
		"2 default_catalog.default_database.t 1 2024-05-01 10:00:15.000 -15s active 2024-05-01 10:00:00.000 TRUE" {
		t.Errorf("/watermarks: %s", got)
	}
	var splits []weir.SplitWatermark
	if err := json.Unmarshal([]byte(get(t, base+"/watermarks", "application/json")), &splits); err != nil || len(splits) != 7 || splits[0].Split != "0" || *splits[0].LagMs != -25000 {
		t.Errorf("/watermarks as JSON: %v %+v", err, splits)
	}
	if got := get(t, base+"/", ""); !strings.Contains(got, "/watermarks") {
		t.Errorf("/: %s", got)
	}

	if _, err := metrics.Listen(s.Addr().String(), db); err == nil {
		t.Error("an address that is in use was taken")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
		c.Close()
		t.Error("the server still listens")
	}
}

// TestAllIdle: when all splits are silent the watermark stays where it is, and so does its metric.
func TestAllIdle(t *testing.T) {
	clock, reg := weir.NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)), testconn.NewRegistry()
	db, err := weir.Open(weir.Options{Clock: clock, Connectors: []connectors.Connector{reg.Connector()}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), `
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'test', 'scan.watermark.idle-timeout' = '1 min');
CREATE TABLE r (ts TIMESTAMP(3)) WITH ('connector' = 'blackhole')`); err != nil {
		t.Fatal(err)
	}
	job, err := db.Start(t.Context(), "INSERT INTO r SELECT ts FROM t")
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.Table("`default_catalog`.`default_database`.`t`").Append(0, "2024-05-01 10:00:30"); err != nil {
		t.Fatal(err)
	}
	got := func(d time.Duration) string {
		if err := clock.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := job.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range db.Metrics(t.Context()) {
			if strings.HasPrefix(m.Name, "weir_query_watermark") || m.Name == "weir_split_idle" {
				out = append(out, fmt.Sprintf("%s %.0f", m.Name, m.Value))
			}
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{0, "weir_query_watermark_seconds 1714557630, weir_query_watermark_lag_seconds -30, weir_split_idle 0"},
		{2 * time.Minute, "weir_query_watermark_seconds 1714557630, weir_query_watermark_lag_seconds 90, weir_split_idle 1"},
	} {
		if s := got(c.after); s != c.want {
			t.Errorf("after %v: %s, want %s", c.after, s, c.want)
		}
	}
}

func TestNoQueries(t *testing.T) {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := metrics.Listen("127.0.0.1:0", db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := get(t, fmt.Sprintf("http://%s/watermarks", s.Addr()), "application/json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("%q", got)
	}
}

// TestAlerts: each metric and label that the example's rules name exists.
func TestAlerts(t *testing.T) {
	rules, err := os.ReadFile("../examples/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, d := range weir.MetricDescs() {
		labels[d.Name] = d.Labels
	}
	exprs := regexp.MustCompile(`(?ms)expr: (.*?)\n(?:        for:|        annotations:)`).FindAllStringSubmatch(string(rules), -1)
	if n := strings.Count(string(rules), "- alert:"); n < 5 || n != len(exprs) {
		t.Fatalf("%d alerts, %d expressions", n, len(exprs))
	}
	for _, e := range exprs {
		names := regexp.MustCompile(`weir_[a-z_]+`).FindAllString(e[1], -1)
		if len(names) == 0 {
			t.Errorf("no metric in %s", e[1])
		}
		for _, n := range names {
			if _, ok := labels[n]; !ok {
				t.Errorf("there is no metric %s", n)
			}
		}
		for _, on := range regexp.MustCompile(`on \(instance, ([a-z, ]+)\)`).FindAllStringSubmatch(e[1], -1) {
			for _, l := range strings.Split(on[1], ", ") {
				if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(labels[n], l) }) {
					t.Errorf("no metric of %s has a label %s", e[1], l)
				}
			}
		}
	}
	for _, n := range regexp.MustCompile(`weir_[a-z_]+`).FindAllString(string(rules), -1) {
		if _, ok := labels[n]; !ok {
			t.Errorf("there is no metric %s", n)
		}
	}
}
