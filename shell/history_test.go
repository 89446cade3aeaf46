package shell

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "history")
	h, err := loadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"SELECT 'a\\nb\\\\'\n  , 1;", "SELECT 2;", "SELECT 'ü';"}
	for _, e := range []string{want[0], want[1], want[1], "", "  ", " SELECT 3;", "SET 'x.password' = 'p';", want[2] + "\n"} {
		if err := h.add(e); err != nil {
			t.Fatal(err)
		}
	}
	again, err := loadHistory(path)
	if err != nil || !slices.Equal(again.entries, want) || !slices.Equal(h.entries, want) {
		t.Errorf("got %q and %q, %v, want %q", h.entries, again.entries, err, want)
	}
	// A long file is cut.
	var sb strings.Builder
	for i := range 3 * historyLimit {
		fmt.Fprintf(&sb, "SELECT %d;\n", i)
	}
	if err := os.WriteFile(path, []byte(sb.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err = loadHistory(path); err != nil || len(h.entries) != historyLimit || h.entries[historyLimit-1] != fmt.Sprintf("SELECT %d;", 3*historyLimit-1) {
		t.Fatalf("%d entries, %v", len(h.entries), err)
	}
	if data, _ := os.ReadFile(path); strings.Count(string(data), "\n") != historyLimit {
		t.Errorf("the file has %d lines", strings.Count(string(data), "\n"))
	}
	// A file that cannot be read is told, and not written to.
	if h, err = loadHistory(filepath.Dir(path)); err == nil || h.path != "" {
		t.Errorf("a folder as history: %v", err)
	}
}

func TestHasSecret(t *testing.T) {
	for s, want := range map[string]bool{
		"CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'properties.sasl.jaas.config' = 'user')": true,
		"CREATE TABLE t (a INT) WITH ('password' = 'x')":                                              true,
		"CREATE TABLE t (a INT) WITH ('s3.secret-key'='x')":                                           true,
		"CREATE TABLE t (a INT) WITH ('oauth.token' =\n 'x')":                                         true,
		"CREATE TABLE t (a INT) WITH ('avro-confluent.basic-auth.user-info' = 'me:pw')":               true,
		"CREATE TABLE t (a INT) WITH ('avro-confluent.url' = 'http://me:pw@host')":                    true,
		"set 'http.API_KEY' = 'x'":                                                                    true,
		"\\set x.password y":                                                                          true,
		"SELECT token FROM t":                                                                         false,
		"SELECT * FROM t WHERE token = 1":                                                             false,
		"CREATE TABLE t (password STRING)":                                                            false,
		"SELECT 'a' AS secret, 'b' AS other":                                                          false,
	} {
		if got := hasSecret(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestPasteReader(t *testing.T) {
	const in = "a\tb\033[200~c\td\n\033[201~e\tf\033[Ag\033"
	want := "a\tb\033[200~c" + string(pastedTab) + "d\n\033[201~e\tf\033[Ag\033"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "eof with data": iotest.DataErrReader(strings.NewReader(in))} {
		got, err := io.ReadAll(&pasteReader{in: r})
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// The end mark may come in pieces.
	p := &pasteReader{in: io.MultiReader(strings.NewReader("\033[200~x\t\033[2"), strings.NewReader("01~\ty"))}
	if got, err := io.ReadAll(p); err != nil || string(got) != "\033[200~x"+string(pastedTab)+"\033[201~\ty" {
		t.Errorf("in pieces: %q, %v", got, err)
	}
}
