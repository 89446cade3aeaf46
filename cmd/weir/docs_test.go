package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the tables of flags in docs/cli.md anew")

var flagsPart = regexp.MustCompile(`(?s)(<!-- flags: (\w+) -->\n)(.*?)(<!-- end -->)`)

// TestDocumentedFlags holds the tables of docs/cli.md against the flags that there are.
func TestDocumentedFlags(t *testing.T) {
	const page = "../../docs/cli.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	root := (&app{}).root()
	commands := map[string]*cobra.Command{"weir": root}
	for _, c := range root.Commands() {
		commands[c.Name()] = c
	}
	got := flagsPart.ReplaceAllStringFunc(string(data), func(part string) string {
		m := flagsPart.FindStringSubmatch(part)
		c := commands[m[2]]
		if c == nil {
			t.Errorf("there is no command %s", m[2])
			return part
		}
		delete(commands, m[2])
		return m[1] + flagTable(c) + m[4]
	})
	for name, c := range commands {
		if c.HasAvailableLocalFlags() && c.Flags().HasAvailableFlags() && name != "help" {
			t.Errorf("%s has no table of flags for %s", page, name)
		}
	}
	switch {
	case got == string(data):
	case *update:
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test ./cmd/weir -run TestDocumentedFlags -update", page)
	}
}

// flagTable is the Markdown table of a command's flags.
func flagTable(c *cobra.Command) string {
	var sb strings.Builder
	sb.WriteString("| flag | default | |\n| --- | --- | --- |\n")
	cell := strings.NewReplacer("|", "\\|", "\n", " ").Replace
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		head := "`--" + f.Name
		if f.Shorthand != "" {
			head = "`-" + f.Shorthand + "`, " + head
		}
		if name != "" {
			head += " " + name
		}
		def := ""
		if v := f.DefValue; v != "" && v != "false" && v != "[]" && v != "0" {
			def = "`" + v + "`"
		}
		if f.Name == "jobs" {
			def = "number of cores"
		}
		fmt.Fprintf(&sb, "| %s` | %s | %s |\n", head, def, cell(usage))
	})
	return sb.String()
}
