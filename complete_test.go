package weir

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	db, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "events.csv"), []byte("user,clicks\nann,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(ctx, "CREATE DATABASE other; CREATE TABLE bids (auction BIGINT, price DOUBLE, `end` INT, ts TIMESTAMP(3)); CREATE TABLE other.things (thing INT); CREATE VIEW cheap AS SELECT auction AS cheap_auction FROM bids"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string // | is the cursor
		want string // all of these must be offered
		not  string // none of these may be
	}{
		{"|", "SELECT CREATE SHOW EXPLAIN INSERT", "FROM bids"},
		{"sel|", "select", "SELECT"},
		{"Sel|", "", "select"},
		{"SELECT 1; cre|", "create", "select"},
		{"SELECT * FROM |", "bids cheap other TUMBLE(", "auction"},
		{"SELECT * FROM b|", "bids", "cheap BIGINT"},
		{"SELECT * FROM bids JOIN c|", "cheap", "bids"},
		{"SELECT * FROM bids, c|", "cheap", ""},
		{"SELECT a| FROM bids", "auction", "cheap"},
		{"SELECT | FROM bids", "auction price `end` ts", ""},
		{"SELECT `e| FROM bids", "end`", "`end`"},
		{"SELECT b.| FROM bids AS b", "auction price", "cheap"},
		{"SELECT b.p| FROM bids b", "price", "auction"},
		{"SELECT bids.pr| FROM bids", "price", ""},
		{"SELECT cheap_| FROM cheap", "cheap_auction", ""},
		{"SELECT th| FROM other.things", "thing", ""},
		{"SELECT * FROM other.|", "things", "bids"},
		{"SELECT * FROM default_catalog.|", "other default_database", ""},
		{"SELECT * FROM bids WHERE pric|", "price", ""},
		{"SELECT * FROM bids WHERE price > 1 GR|", "GROUP GREATEST(", "group"},
		{"SELECT cou| FROM bids", "count(", "COUNT("},
		{"SELECT * FROM TABLE(TUMBLE(TABLE b|", "bids", ""},
		{"INSERT INTO |", "bids", ""},
		{"DESCRIBE b|", "bids", ""},
		{"DROP TABLE b|", "bids", ""},
		{"SHOW |", "TABLES JOBS", "SELECT"},
		{"show t|", "tables", ""},
		{"USE |", "other CATALOG", "bids"},
		{"USE CATALOG |", "default_catalog", ""},
		{"EXPLAIN |", "SELECT", ""},
		{"SET 'weir.thr|", "weir.threads'", ""},
		{"SET 'weir.optimizer' = '|", "on' off'", ""},
		{"RESET 'table.loc|", "table.local-time-zone'", ""},
		{"CREATE TABLE x (a INT) WITH ('conn|", "connector'", ""},
		{"CREATE TABLE x (a INT) WITH ('connector' = '|", "datagen' filesystem'", "go'"},
		{"CREATE TABLE x (a INT) WITH ('connector' = 'filesystem', 'format' = '|", "csv' json'", ""},
		{"CREATE TABLE x (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv', 'csv.head|", "csv.header'", ""},
		{"CREATE TABLE x (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv', 'csv.header' = '|", "true' false'", ""},
		{"CREATE TABLE x (a INT) WITH ('connector' = 'datagen', '|", "rows-per-second'", "connector'"},
		{"SELECT * FROM '" + dir + "/ev|", dir + "/events.csv'", ""},
		{"SELECT * FROM '" + dir + "/|", dir + "/events.csv' " + dir + "/empty/", ""},
		{"SELECT cl| FROM '" + dir + "/events.csv'", "clicks", ""},
		{"SELECT 'bi|", "", "bids"},
		{"SELECT 1 -- bi|", "", "bids"},
		{"SELECT /* bi|", "", "bids"},
		{"SELECT * FROM bids;\n\n  sel|", "select", ""},
		{"SELECT * FROM nowhere WHERE x.|", "", "bids"},
	} {
		pos := strings.IndexByte(c.text, '|')
		text := c.text[:pos] + c.text[pos+1:]
		got := db.Complete(ctx, text, pos)
		prefix := text[got.Start:pos]
		for _, w := range strings.Fields(c.want) {
			if !slices.Contains(got.Items, w) {
				t.Errorf("%s: no %s in %.100q", c.text, w, strings.Join(got.Items, " "))
			}
		}
		for _, w := range strings.Fields(c.not) {
			if slices.Contains(got.Items, w) {
				t.Errorf("%s: %s in %v", c.text, w, got.Items)
			}
		}
		if c.want == "" && len(got.Items) > 0 {
			t.Errorf("%s: want nothing, got %v", c.text, got.Items)
		}
		for _, item := range got.Items {
			if !strings.HasPrefix(item, prefix) {
				t.Errorf("%s: %q does not begin with %q", c.text, item, prefix)
			}
		}
	}
	if len(db.Jobs()) != 0 {
		t.Error("completing has started jobs")
	}
}

func FuzzComplete(f *testing.F) {
	db, err := Open(Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(context.Background(), "CREATE TABLE bids (auction BIGINT)"); err != nil {
		f.Fatal(err)
	}
	f.Add("SELECT au FROM bids AS b, (SELECT b. FROM x); SET 'we' WITH ('connector' = '", 9)
	f.Fuzz(func(t *testing.T, text string, pos int) {
		got := db.Complete(context.Background(), text, pos)
		pos = min(max(pos, 0), len(text))
		if got.Start < 0 || got.Start > pos {
			t.Fatalf("start %d of %q at %d", got.Start, text, pos)
		}
		for _, item := range got.Items {
			if !strings.HasPrefix(item, text[got.Start:pos]) {
				t.Fatalf("%q does not begin with %q", item, text[got.Start:pos])
			}
		}
	})
}
