package shell

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

// completeTimeout is how long a press of Tab may look for names.
const completeTimeout = time.Second

// lineBreak stands for a line break inside the line editor, which knows single lines only: a rune for private use, shown as ↵.
const (
	lineBreak      = '\uE00A'
	shownLineBreak = '↵'
)

var (
	toEditor   = strings.NewReplacer("\n", string(lineBreak), "\t", string(pastedTab)).Replace
	fromEditor = strings.NewReplacer(string(lineBreak), "\n", string(pastedTab), "\t").Replace
)

// painter shows line breaks of a recalled statement, and tabs as blanks.
type painter struct{}

// Paint implements readline.Painter.
func (painter) Paint(line []rune, _ int) []rune {
	painted := make([]rune, len(line))
	for i, r := range line {
		switch r {
		case lineBreak:
			r = shownLineBreak
		case pastedTab:
			r = ' '
		}
		painted[i] = r
	}
	return painted
}

// completer completes words of the line that is edited.
type completer struct {
	ctx     context.Context
	s       *repl
	columns func() int // of the terminal
}

// Do implements readline.AutoCompleter: it gives what may be put behind the cursor, and how many runes of it are there already.
func (c *completer) Do(line []rune, pos int) (suffixes [][]rune, shared int) {
	before := fromEditor(string(line[:pos]))
	word, items := c.candidates(before, fromEditor(string(line[pos:])))
	// Tab at the beginning of a line indents it.
	if strings.TrimSpace(before) == "" {
		return [][]rune{[]rune("    ")}, 0
	}
	width, tooWide := displayWidth(word), 0
	for _, item := range items {
		if !strings.HasPrefix(item, word) {
			continue
		}
		// The line editor cannot list what is wider than the screen.
		if displayWidth(item)+2 >= c.columns() {
			tooWide++
			continue
		}
		suffixes = append(suffixes, []rune(toEditor(item[len(word):])))
	}
	if tooWide > 0 && len(suffixes) > 0 {
		return nil, 0
	}
	// Nor can it list words behind wide runes.
	if len(suffixes) > 1 && width != utf8.RuneCountInString(word) {
		return onlyCommon(suffixes), 0
	}
	return suffixes, utf8.RuneCountInString(word)
}

// onlyCommon gives what all candidates begin with.
func onlyCommon(suffixes [][]rune) [][]rune {
	common := suffixes[0]
	for _, s := range suffixes[1:] {
		n := 0
		for n < len(common) && n < len(s) && common[n] == s[n] {
			n++
		}
		common = common[:n]
	}
	if len(common) == 0 {
		return nil
	}
	return [][]rune{common}
}

// candidates returns the word before the cursor and what it may become.
func (c *completer) candidates(before, after string) (word string, items []string) {
	if c.s.pending == "" && strings.HasPrefix(before, "\\") {
		return c.meta(before)
	}
	ctx, cancel := context.WithTimeout(c.ctx, completeTimeout)
	defer cancel()
	text := c.s.pending + before
	got := c.s.r.DB.Complete(ctx, text+after, len(text))
	word = text[got.Start:]
	items = got.Items
	if len(items) == 1 && !strings.HasSuffix(items[0], "(") && !strings.HasSuffix(items[0], string(filepath.Separator)) {
		items = []string{items[0] + " "}
	}
	return word, items
}

// meta completes meta commands and their arguments.
func (c *completer) meta(before string) (word string, items []string) {
	name, rest, hasArg := strings.Cut(before, " ")
	if !hasArg {
		for _, m := range metaCommands {
			if strings.HasPrefix(m.name, name) {
				items = append(items, m.name)
			}
		}
		sort.Strings(items)
		return name, items
	}
	word = rest[strings.LastIndexByte(rest, ' ')+1:]
	var all []string
	switch name {
	case "\\format":
		all = Formats
	case "\\timing", "\\x":
		all = []string{"on", "off"}
	case "\\i", "\\o":
		return word, files(word)
	case "\\stop":
		for _, j := range c.s.r.DB.Jobs() {
			all = append(all, j.ID())
		}
	case "\\set":
		ctx, cancel := context.WithTimeout(c.ctx, completeTimeout)
		defer cancel()
		text := "SET '" + word
		for _, item := range c.s.r.DB.Complete(ctx, text, len(text)).Items {
			all = append(all, strings.TrimSuffix(item, "'"))
		}
	case "\\d":
		ctx, cancel := context.WithTimeout(c.ctx, completeTimeout)
		defer cancel()
		text := "DESCRIBE " + word
		got := c.s.r.DB.Complete(ctx, text, len(text))
		return text[got.Start:], got.Items
	}
	for _, a := range all {
		if strings.HasPrefix(a, word) {
			items = append(items, a)
		}
	}
	return word, items
}

// files lists files and folders whose path begins with prefix.
func files(prefix string) []string {
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(filepath.Join(".", dir))
	if filepath.IsAbs(dir) {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, base) && (base != "" || !strings.HasPrefix(name, ".")) {
			if e.IsDir() {
				name += string(filepath.Separator)
			}
			out = append(out, dir+name)
		}
	}
	return out
}
