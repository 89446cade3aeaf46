package parser

import (
	"strings"

	"github.com/weir-sql/weir/parser/ast"
)

// hints takes the hint comments that stand here.
func (p *parser) hints() []ast.Hint {
	var out []ast.Hint
	for p.tok().kind == tokHint {
		t := p.tok()
		open := len("/*+")
		if t.weir && strings.HasPrefix(p.text[t.pos.Offset:], "/*weir+") {
			open = len("/*weir+")
		}
		inside := t.pos
		inside.Offset += open
		inside.Column += open
		h := newParser(p.text, inside, t.end-len("*/"))
		list := h.hintList(t)
		p.ext = append(p.ext, h.ext...)
		out = append(out, list...)
		p.i++
	}
	return out
}

// hintList parses NAME(args), NAME, ...
func (h *parser) hintList(comment *token) []ast.Hint {
	var out []ast.Hint
	if h.tok().kind == tokEOF {
		h.failAt(comment, CodeSyntax, "", "the hint is empty")
	}
	for h.tok().kind != tokEOF {
		src := h.i
		t := h.tok()
		if t.kind != tokIdent {
			h.unexpected("the name of a hint")
		}
		h.i++
		hint := ast.Hint{Name: strings.ToUpper(t.text), Weir: comment.weir}
		h.expected = h.expected[:0]
		if h.acceptOp("(") {
			for !h.acceptOp(")") {
				hint.Args = append(hint.Args, h.hintArg(comment.weir, comment))
				if !h.acceptOp(",") {
					h.expectOp(")")
					break
				}
			}
		}
		hint.Span = h.spanFrom(src)
		if !flinkHints[hint.Name] {
			h.note(comment.pos, comment.end, comment.weir, ast.ExtHint, "/*weir+"+h.text[comment.pos.Offset+3:comment.end])
		}
		out = append(out, hint)
		h.acceptOp(",")
	}
	return out
}

func (h *parser) hintArg(hidden bool, comment *token) ast.HintArg {
	src := h.i
	t := h.tok()
	switch t.kind {
	case tokString, tokIdent, tokQuoted, tokNumber:
	default:
		h.unexpected("an argument of the hint")
	}
	h.i++
	a := ast.HintArg{Key: t.text, Quoted: t.kind == tokString || t.kind == tokQuoted}
	for t.kind == tokIdent && h.op(".") { // db.table
		h.i++
		a.Key += "." + h.anyIdent().Name
	}
	if h.acceptOp("=") {
		v := h.tok()
		if v.kind == tokNumber || v.kind == tokIdent && (v.up == "TRUE" || v.up == "FALSE") {
			h.i++
			s := stringOf(v)
			a.Value = &s
		} else {
			s := h.stringLit("the value as a string")
			a.Value = &s
		}
		if weirOption(a.Key) {
			h.note(comment.pos, comment.end, hidden, ast.ExtTableOption, "/*weir+"+h.text[comment.pos.Offset+3:comment.end])
		}
	}
	a.Span = h.spanFrom(src)
	return a
}
