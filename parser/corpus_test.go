package parser

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-sql/weir/parser/ast"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output in testdata/*.txt")

// corpusCase is a text with what the parser makes of it. In the files a case is
// the text, a line of four dashes, the output, and an empty line; lines that
// begin with # between cases are comments.
type corpusCase struct {
	comment, text, want string
}

func readCorpus(t testing.TB, file string) []corpusCase {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	var c corpusCase
	part := &c.text
	for _, line := range strings.Split(string(b), "\n") {
		switch {
		case line == "----" && part == &c.text:
			part = &c.want
		case line == "" && part == &c.want:
			cases = append(cases, c)
			c = corpusCase{}
			part = &c.text
		case line == "" && c.text == "":
		case strings.HasPrefix(line, "#") && c.text == "":
			c.comment += line + "\n"
		default:
			*part += line + "\n"
		}
	}
	if c.text != "" {
		t.Fatalf("%s: the last case has no ---- or no empty line behind it", file)
	}
	return cases
}

// allCorpus gives every text of the corpus and every script.
func allCorpus(t testing.TB) []string {
	t.Helper()
	var out []string
	files, _ := filepath.Glob("testdata/*.txt")
	for _, f := range files {
		for _, c := range readCorpus(t, f) {
			out = append(out, strings.TrimSuffix(c.text, "\n"))
		}
	}
	scripts, _ := filepath.Glob("testdata/scripts/*.sql")
	for _, f := range scripts {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// describe gives what the parser makes of a text: each statement printed, then
// its tree, then what goes beyond Flink; or the error as a user sees it.
func describe(text string) string {
	var b strings.Builder
	stmts, err := Parse(text)
	for _, s := range stmts {
		b.WriteString(ast.Print(s) + "\n")
		b.WriteString("  " + ast.Dump(s) + "\n")
		for _, e := range s.Base().Extensions {
			b.WriteString("  beyond Flink: " + string(e.Kind) + " " + e.Text)
			if e.Portable != "" {
				b.WriteString(" -> " + e.Portable)
			}
			b.WriteString("\n")
		}
	}
	if err != nil {
		b.WriteString("error " + err.(*Error).Render(text, ""))
	}
	if b.Len() == 0 {
		b.WriteString("nothing\n")
	}
	return strings.ReplaceAll(b.String(), "\n\n", "\n\\\n")
}

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		cases := readCorpus(t, file)
		var out strings.Builder
		for _, c := range cases {
			text := strings.TrimSuffix(c.text, "\n")
			got := describe(text)
			if got != c.want && !*rewrite {
				t.Errorf("%s: %s\n--- got\n%s--- want\n%s", file, text, got, c.want)
			}
			out.WriteString(c.comment + c.text + "----\n" + got + "\n")
		}
		if *rewrite {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// roundTrip checks that a text's statements, printed, parse to the same trees,
// and that printing is stable. It gives the number of statements.
func roundTrip(t testing.TB, text string) int {
	t.Helper()
	stmts, err := Parse(text)
	if err != nil {
		return 0
	}
	for _, s := range stmts {
		printed := ast.Print(s)
		if len(printed) > MaxText {
			continue
		}
		again, err := ParseStatement(printed)
		if err != nil {
			if e := err.(*Error); e.Code == CodeLimit {
				continue // printing adds parentheses
			}
			t.Fatalf("%s\nprinted as\n%s\n%v", s.Base().Source, printed, err)
		}
		if a, b := ast.Dump(s), ast.Dump(again); a != b {
			t.Fatalf("%s\nprinted as\n%s\nis\n%s\nbut was\n%s", s.Base().Source, printed, b, a)
		}
		if twice := ast.Print(again); twice != printed {
			t.Fatalf("printed as\n%s\nand then as\n%s", printed, twice)
		}
	}
	return len(stmts)
}

func TestPrintParsesToTheSameTree(t *testing.T) {
	n := 0
	for _, text := range allCorpus(t) {
		n += roundTrip(t, text)
	}
	if n < 400 {
		t.Errorf("only %d statements were tried", n)
	}
	t.Logf("%d statements", n)
}
