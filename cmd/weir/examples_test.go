package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples keeps the demonstrations of examples/watermarks working: their tests on a virtual clock, and the script that needs no time on a broker.
// (.ci/examples runs all of them as a user does.)
func TestExamples(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "watermarks")
	if status, out, errOut := call("", "test", dir); status != 0 || !strings.Contains(out, "0 failed") {
		t.Errorf("status %d\n%s%s", status, out, errOut)
	}
	text, err := os.ReadFile(filepath.Join(dir, "late-firing", "late-firing.sql"))
	if err != nil {
		t.Fatal(err)
	}
	eachKafka(t, func(t *testing.T, b *kafkaBroker) {
		sql := strings.NewReplacer("127.0.0.1:9092", b.seeds, "'topic' = 'clicks'", "'topic' = '"+b.topic("clicks", 1)+"'").Replace(string(text))
		status, out, errOut := call("", "-c", sql, "--quiet", "--format=csv")
		const want = `op,window_start,window_end,n
+I,1970-01-01 00:00:00.000,1970-01-01 00:00:05.000,2
-U,1970-01-01 00:00:00.000,1970-01-01 00:00:05.000,2
+U,1970-01-01 00:00:00.000,1970-01-01 00:00:05.000,3
+I,1970-01-01 00:00:05.000,1970-01-01 00:00:10.000,1
+I,1970-01-01 00:00:10.000,1970-01-01 00:00:15.000,1
page,late_watermark,late_by,late_window_end
too late,1970-01-01 00:00:10.000,6000,1970-01-01 00:00:05.000
`
		if status != 0 || out != want {
			t.Errorf("status %d\n%s%s\nwant\n%s", status, out, errOut, want)
		}
	})
}
