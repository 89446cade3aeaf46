// Gen writes the answers into the .slt files of the folder above, or into others given by name: every `query` block gets the rows
// that a real Flink gives, and becomes `statement error` where Flink refuses or fails (and the other way round). Text between blocks
// stays. Run it against a SQL Gateway of Flink 2.3:
//
//	go run ./sqltests/functions/gen -gateway http://127.0.0.1:8083 sqltests/functions/*.slt
//
// Flink's folding of constants has defects of its own (it cuts UPPER('straße') to six letters, and fails where a constant turns out to be
// NULL): a comment `# ask: SELECT ...` in front of a block is what is asked in its place, with the constants hidden from the planner.
//
// A CREATE TABLE without WITH becomes a table of JSON files in a temporary folder of this machine, which the Flink must see too.
//
// The session is in batch mode and its zone is UTC unless the file sets another. Each value is a line; NULL is NULL, the empty string is
// (empty), anything else is printed as CAST to STRING does (BYTES as x'0a').
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/weir-sql/weir/sqltests/internal/flink"
)

func main() {
	gateway := flag.String("gateway", "http://127.0.0.1:8083", "address of the SQL Gateway")
	flag.Parse()
	log.SetFlags(0)
	for _, name := range flag.Args() {
		if err := rewrite(*gateway, name); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

func rewrite(gateway, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	session, err := flink.Open(gateway, map[string]string{"execution.runtime-mode": "batch", "table.local-time-zone": "UTC",
		"table.dml-sync": "true"})
	if err != nil {
		return err
	}
	defer session.Close()
	folder, err := os.MkdirTemp("", "tables")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	n := 0
	var blocks []string
	queries, refused := 0, 0
	for _, block := range strings.Split(strings.TrimRight(string(text), "\n"), "\n\n") {
		kind, sql := parse(block)
		switch {
		case kind == "":
			blocks = append(blocks, block)
			continue
		case strings.HasPrefix(kind, "statement ok"):
			if strings.HasPrefix(sql, "CREATE TABLE ") && !strings.Contains(sql, " WITH (") {
				n++
				sql += fmt.Sprintf(" WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '%s/%d')", folder, n)
			}
			if _, err := session.Run(sql); err != nil {
				return fmt.Errorf("%s: %.3000v", sql, err)
			}
			blocks = append(blocks, block)
			continue
		}
		answer, err := ask(session, kind, sql, asked(block, sql))
		if err != nil {
			return err
		}
		queries++
		if strings.Contains(answer, "statement error\n") {
			refused++
		}
		blocks = append(blocks, comments(block)+answer)
	}
	log.Printf("%s: %d queries, %d of them errors", name, queries, refused)
	return os.WriteFile(name, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644)
}

// comments are the lines of the block before its first word.
func comments(block string) string {
	var kept strings.Builder
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// asked is the SQL for Flink.
func asked(block, sql string) string {
	for line := range strings.Lines(comments(block)) {
		if other, ok := strings.CutPrefix(line, "# ask: "); ok {
			return strings.TrimSpace(other)
		}
	}
	return sql
}

// parse gives the first line of a block and its SQL; "" for blocks that are only comments.
func parse(block string) (kind, sql string) {
	lines := strings.Split(block[len(comments(block)):], "\n")
	if strings.HasPrefix(lines[0], "statement ") || strings.HasPrefix(lines[0], "query ") {
		sql, _, _ = strings.Cut(strings.Join(lines[1:], "\n"), "\n----")
		return lines[0], sql
	}
	return "", ""
}

// ask gives the block with Flink's answer.
func ask(session *flink.Session, kind, sql, asked string) (string, error) {
	result, err := session.Run(asked)
	var failed *flink.Error
	if errors.As(err, &failed) {
		return "statement error\n" + sql, nil
	}
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(kind, "query ") {
		kind = "query " + strings.Repeat("T", len(result.Columns))
	}
	out := kind + "\n" + sql + "\n----"
	for _, row := range result.Rows {
		for _, cell := range row {
			value := "NULL"
			if cell != nil {
				value = *cell
				if value == "" {
					value = "(empty)"
				}
				if value != strings.TrimSpace(value) || strings.ContainsAny(value, "\n\r\t") {
					log.Printf("%s: the answer %q does not keep its form as a line", sql, value)
				}
			}
			out += "\n" + value
		}
	}
	return out, nil
}
