package shell

import (
	"bytes"
	"io"
)

// pastedTab stands for a tab that was pasted, which is text; a tab that was typed asks for completion.
const pastedTab = '\uE009'

var (
	pasteBegins = []byte("\033[200~")
	pasteEnds   = []byte("\033[201~")
)

// pasteReader turns tabs in pasted text into pastedTab. The terminal marks pastes (bracketed paste); the line editor skips the marks.
type pasteReader struct {
	in      io.Reader
	pasting bool
	out     []byte // what was read and translated
	rest    []byte // the beginning of a mark that is not complete
	err     error
}

// Read implements io.Reader.
func (p *pasteReader) Read(dst []byte) (int, error) {
	for len(p.out) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		buf := make([]byte, 4096)
		n, err := p.in.Read(buf)
		p.err = err
		p.translate(append(p.rest, buf[:n]...), err != nil)
	}
	n := copy(dst, p.out)
	p.out = p.out[n:]
	return n, nil
}

func (p *pasteReader) translate(data []byte, end bool) {
	p.out, p.rest = p.out[:0], nil
	for len(data) > 0 {
		mark := pasteBegins
		if p.pasting {
			mark = pasteEnds
		}
		switch {
		case bytes.HasPrefix(data, mark):
			p.out = append(p.out, mark...)
			data = data[len(mark):]
			p.pasting = !p.pasting
		case p.pasting && data[0] == '\t':
			p.out = append(p.out, string(pastedTab)...)
			data = data[1:]
		case p.pasting && data[0] == '\033' && bytes.HasPrefix(mark, data) && !end:
			// A lone ESC that is typed must not wait for the next key: only inside of a paste it may be half of a mark.
			p.rest = data
			return
		default:
			p.out = append(p.out, data[0])
			data = data[1:]
		}
	}
}
