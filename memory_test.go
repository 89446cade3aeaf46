package weir_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/weir-sql/weir"
)

// TestMemoryTablesOfEndlessJobs: what a running job writes into tables in memory, late rows too, can be read behind a checkpoint and when the job has been
// stopped or drained; what a canceled job wrote since is gone.
func TestMemoryTablesOfEndlessJobs(t *testing.T) {
	type row struct {
		TS time.Time `weir:"ts,watermark=0s"`
	}
	for _, end := range []struct {
		how  string
		stop func(*weir.Job) error
		want string // what can be read then
	}{
		{"drain", func(j *weir.Job) error { return j.Drain(t.Context()) }, "2 windows, 2 late rows"},
		{"savepoint", func(j *weir.Job) error {
			s, err := j.Stop(t.Context())
			if err == nil {
				s.Release()
			}
			return err
		}, "1 windows, 2 late rows"},
		{"cancel", (*weir.Job).Cancel, "0 windows, 1 late rows"},
	} {
		t.Run(end.how, func(t *testing.T) {
			db := open(t, weir.Options{})
			rows := make(chan row)
			if err := db.RegisterTable("src", rows); err != nil {
				t.Fatal(err)
			}
			if err := db.Exec(t.Context(), "CREATE TABLE m (n BIGINT); CREATE TABLE late (late_by BIGINT)"); err != nil {
				t.Fatal(err)
			}
			job, err := db.Start(t.Context(), `INSERT INTO m SELECT /*weir+ LATE_ROWS('late') */ COUNT(*) FROM TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '10' SECOND)
				GROUP BY window_start, window_end`)
			if err != nil {
				t.Fatal(err)
			}
			sent := int64(0)
			send := func(seconds ...int) {
				t.Helper()
				for _, s := range seconds {
					rows <- row{time.Date(2024, 5, 1, 10, 0, s, 0, time.UTC)}
					sent++
				}
				for job.Stats().RowsIn < sent {
					if job.Finished() {
						t.Fatalf("the job has ended: %v", job.Err())
					}
					runtime.Gosched()
				}
				if err := job.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			read := func(when, want string) {
				t.Helper()
				got := fmt.Sprintf("%d windows, %d late rows", len(showRows(t, db, "SELECT n FROM m")), len(showRows(t, db, "SELECT late_by FROM late")))
				if got != want {
					t.Errorf("%s: %s, want %s", when, got, want)
				}
			}
			send(15, 1)
			read("running", "0 windows, 0 late rows")
			s, err := job.Checkpoint(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Release()
			if err := job.Sync(t.Context()); err != nil { // Checkpoint does not wait for the sinks' commits
				t.Fatal(err)
			}
			read("behind a checkpoint", "0 windows, 1 late rows")
			send(21, 2)
			read("running on", "0 windows, 1 late rows")
			if err := end.stop(job); err != nil {
				t.Fatal(err)
			}
			read("ended", end.want)
		})
	}
}
