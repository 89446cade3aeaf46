package parser

import (
	"slices"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
)

// noteReserved records a word that Flink reserves, used as a name without backticks.
func (p *parser) noteReserved(t *token) {
	if t.kind == tokIdent && ast.Reserved(t.up) {
		p.note(t.pos, t.end, t.weir, ast.ExtReservedWord, "`"+t.text+"`")
	}
}

// note records that the text from pos to end is not Flink's, unless it is inside
// /*weir .. */, where Flink does not see it. portable is what to write instead.
func (p *parser) note(pos ast.Pos, end int, hidden bool, kind ast.ExtensionKind, portable string) {
	if hidden {
		return
	}
	p.ext = append(p.ext, ast.Extension{Span: ast.Span{Start: pos, Stop: end}, Kind: kind, Text: p.text[pos.Offset:end], Portable: portable})
}

// extensions gives what was recorded for a statement, in text order, without
// duplicates (rewriting looks at some places twice).
func (p *parser) extensions() []ast.Extension {
	first := p.toks[p.start].pos
	// Two statements on one line: Flink's client splits at the end of a line only.
	if before, ok := p.before(); ok && !strings.Contains(p.text[before:first.Offset], "\n") {
		p.note(first, p.toks[p.start].end, false, ast.ExtSeveralOnLine, "")
	}
	slices.SortStableFunc(p.ext, func(a, b ast.Extension) int { return a.Start.Offset - b.Start.Offset })
	return slices.CompactFunc(p.ext, func(a, b ast.Extension) bool { return a.Start == b.Start && a.Kind == b.Kind })
}

// before gives the offset behind the semicolon of the statement before this one; false: there is none, or it is not known.
func (p *parser) before() (int, bool) {
	if p.start > 0 {
		return p.toks[p.start-1].end, true
	}
	// A part of a script is all that was read: its semicolon may stand before blanks.
	text := strings.TrimRight(p.text[:p.toks[p.start].pos.Offset], " \t")
	return len(text), strings.HasSuffix(text, ";")
}

// noteOption records a table option that is Weir's own.
func (p *parser) noteOption(o ast.Option, hidden bool) {
	if !weirOption(o.Key.Value) {
		return
	}
	p.note(o.Start, o.Stop, hidden, ast.ExtTableOption, "/*weir , "+p.text[o.Start.Offset:o.Stop]+" */")
}

// weirOption reports whether a table option is Weir's own; docs/flink.md lists them.
func weirOption(key string) bool {
	switch key {
	case "csv.header", "bad-records.table", "scan.watermark.max-future", "scan.watermark.future-rows", "scan.watermark.null-rows":
		return true
	}
	return strings.HasPrefix(key, "weir.")
}

// flinkHints are the hints that Flink knows; it refuses any other.
var flinkHints = wordSet(`OPTIONS STATE_TTL LOOKUP BROADCAST SHUFFLE_HASH SHUFFLE_MERGE NEST_LOOP MULTI_JOIN`)
