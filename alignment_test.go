package weir_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/test"
)

// TestAlignment: the tables of one job share a group, those of a statement set too; other jobs have groups of their own. What SHOW WATERMARKS and
// Job.Watermarks tell of it.
func TestAlignment(t *testing.T) {
	clock := weir.NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	tables := test.NewRegistry()
	db, err := weir.Open(weir.Options{Clock: clock, Connectors: []connectors.Connector{tables.Connector()}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	for _, name := range []string{"slow", "fast"} {
		if err := db.Exec(ctx, "CREATE TABLE "+name+` (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'test',
			'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min'); CREATE TABLE out_`+name+" (ts TIMESTAMP(3)) WITH ('connector' = 'blackhole')"); err != nil {
			t.Fatal(err)
		}
	}
	set, err := db.Start(ctx, "EXECUTE STATEMENT SET BEGIN INSERT INTO out_slow SELECT ts FROM slow; INSERT INTO out_fast SELECT ts FROM fast; END")
	if err != nil {
		t.Fatal(err)
	}
	alone, err := db.Start(ctx, "INSERT INTO out_fast SELECT ts FROM fast")
	if err != nil {
		t.Fatal(err)
	}
	feed := func(table, row string) {
		t.Helper()
		for _, tb := range tables.Tables() {
			if tb.Name() == "`default_catalog`.`default_database`.`"+table+"`" || tb.Name() == "default_catalog.default_database."+table {
				if err := tb.Append(0, row); err != nil {
					t.Fatal(err)
				}
				for _, j := range []*weir.Job{set, alone} {
					if err := j.Sync(ctx); err != nil {
						t.Fatal(err)
					}
				}
				return
			}
		}
		t.Fatalf("no table %s", table)
	}
	feed("slow", "2024-05-01 10:00:00")
	feed("fast", "2024-05-01 10:00:00")
	if err := clock.Advance(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	feed("fast", "2024-05-01 10:01:01")
	feed("fast", "2024-05-01 10:01:02")
	if err := clock.Advance(ctx, 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	got := showRows(t, db, "SHOW WATERMARKS")
	want := []string{
		"1 default_catalog.default_database.slow 0 2024-05-01 10:00:00.000 2.5s active 2024-05-01 10:00:00.000 TRUE",
		"1 default_catalog.default_database.fast 0 2024-05-01 10:01:01.000 -58.5s paused 2024-05-01 10:00:01.000 TRUE",
		"2 default_catalog.default_database.fast 0 2024-05-01 10:01:02.000 -59.5s active 2024-05-01 10:00:02.000 TRUE",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if s := set.Watermarks(ctx)[1]; s.State != weir.SplitPaused || s.DriftMs == nil || *s.DriftMs != 61_000 || s.Pauses != 1 || s.PausedMs != 1500 {
		t.Errorf("%+v", s)
	}
	// The only split of its group waits for no more than the next update.
	if s := alone.Watermarks(ctx)[0]; s.State != weir.SplitActive || s.DriftMs == nil || *s.DriftMs != 0 || s.Pauses != 1 || s.PausedMs != 1000 {
		t.Errorf("%+v", s)
	}
	feed("slow", "2024-05-01 10:00:02")
	if err := clock.Advance(ctx, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if s := set.Watermarks(ctx)[1]; s.State != weir.SplitActive || *s.DriftMs != 60_000 || s.PausedMs != 2000 || s.Rows != 3 {
		t.Errorf("%+v", s)
	}
}
