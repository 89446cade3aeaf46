//go:build unix

package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/mattn/go-runewidth"
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// terminal is a REPL in a process of its own, behind a pseudo-terminal whose screen can be read.
type terminal struct {
	t       *testing.T
	cmd     *exec.Cmd
	pty     *os.File
	mu      sync.Mutex
	screen  screen
	changed chan struct{}
	ended   chan struct{}
}

// startREPL starts the test binary as a REPL (TestMain).
func startREPL(t *testing.T, env ...string) *terminal {
	t.Helper()
	term := &terminal{t: t, cmd: exec.Command(testBinary()), changed: make(chan struct{}, 1), ended: make(chan struct{})}
	dir := t.TempDir()
	term.cmd.Dir = dir
	term.cmd.Env = append(os.Environ(), append([]string{"WEIR_TEST_REPL=1", "TERM=xterm", "WEIR_HISTORY=" + dir + "/history"}, env...)...)
	var err error
	term.pty, err = pty.StartWithSize(term.cmd, &pty.Winsize{Rows: 200, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(term.ended)
		buf := make([]byte, 4096)
		for {
			n, err := term.pty.Read(buf)
			term.mu.Lock()
			term.screen.write(buf[:n])
			term.mu.Unlock()
			select {
			case term.changed <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill()
		_ = term.cmd.Wait()
		term.pty.Close()
		<-term.ended
	})
	term.wait("weir>")
	return term
}

// send types keys.
func (e *terminal) send(keys string) {
	e.t.Helper()
	if _, err := e.pty.WriteString(keys); err != nil {
		e.t.Fatal(err)
	}
}

// text is what the screen shows.
func (e *terminal) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.screen.String()
}

// tail is the end of the screen.
func (e *terminal) tail() string {
	lines := strings.Split(e.text(), "\n")
	return strings.Join(lines[max(len(lines)-30, 0):], "\n")
}

// wait waits until the screen shows a text.
func (e *terminal) wait(text string) {
	e.t.Helper()
	e.until(fmt.Sprintf("%q", text), func(s string) bool { return strings.Contains(s, text) })
}

// prompt waits until the last line of the screen is exactly this.
func (e *terminal) prompt(line string) {
	e.t.Helper()
	e.until(fmt.Sprintf("the line %q", line), func(s string) bool {
		return s[strings.LastIndexByte(s, '\n')+1:] == strings.TrimRight(line, " ")
	})
}

func (e *terminal) until(what string, ok func(screen string) bool) {
	e.t.Helper()
	deadline := time.After(patience)
	for {
		if ok(e.text()) {
			return
		}
		select {
		case <-e.changed:
		case <-e.ended:
			if !ok(e.text()) {
				e.t.Fatalf("the shell has ended without %s; the screen:\n%s", what, e.tail())
			}
			return
		case <-deadline:
			e.t.Fatalf("no %s; the screen:\n%s", what, e.tail())
		}
	}
}

// enter types a line and waits for the prompt behind what it gives; it returns what was shown in between.
func (e *terminal) enter(line string) string {
	e.t.Helper()
	e.send("\x0c") // a clear screen
	e.until("an empty screen", func(s string) bool { return s == "weir>" })
	e.send(line + "\r")
	e.until("the next prompt", func(s string) bool { return strings.Count(s, "weir>") == 2 && strings.HasSuffix(s, "\nweir>") })
	s := e.text()
	_, s, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(s, "weir>")
}

// exit waits for the end of the shell and returns its status.
func (e *terminal) exit() int {
	e.t.Helper()
	done := make(chan error, 1)
	go func() { done <- e.cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			e.t.Fatal(err)
		}
		<-e.ended // all that it has written is on the screen
		return e.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		e.t.Fatalf("the shell does not end; the screen:\n%s", e.text())
	}
	return -1
}

// screen is as much of a terminal as the line editor needs.
type screen struct {
	lines [][]rune // a wide rune is followed by a 0
	x, y  int
	rest  []byte
}

func (s *screen) write(b []byte) {
	b = append(s.rest, b...)
	s.rest = nil
	for len(b) > 0 {
		if !utf8.FullRune(b) {
			break
		}
		r, n := utf8.DecodeRune(b)
		if r == '\033' {
			end := 2
			for end < len(b) && (b[end] < '@' || b[end] > '~') {
				end++
			}
			if end >= len(b) {
				break
			}
			s.control(string(b[2:end]), b[end])
			b = b[end+1:]
			continue
		}
		b = b[n:]
		switch r {
		case '\r':
			s.x = 0
		case '\n':
			s.y, s.x = s.y+1, 0 // the line discipline sends \r\n
		case '\b':
			s.x = max(s.x-1, 0)
		case '\a':
		default:
			s.put(r)
		}
	}
	s.rest = append([]byte(nil), b...)
}

func (s *screen) put(r rune) {
	w := runewidth.RuneWidth(r)
	if s.x+w > 120 {
		s.x, s.y = 0, s.y+1
	}
	for len(s.lines) <= s.y {
		s.lines = append(s.lines, nil)
	}
	for len(s.lines[s.y]) < s.x+w {
		s.lines[s.y] = append(s.lines[s.y], ' ')
	}
	s.lines[s.y][s.x] = r
	if w == 2 {
		s.lines[s.y][s.x+1] = 0
	}
	s.x += w
}

func (s *screen) control(args string, final byte) {
	n, err := strconv.Atoi(args)
	switch final {
	case 'A':
		if err != nil {
			n = 1
		}
		s.y = max(s.y-n, 0)
	case 'C':
		if err != nil {
			n = 1
		}
		s.x += n
	case 'H':
		s.x, s.y = 0, 0
	case 'K':
		if s.y < len(s.lines) {
			if n == 2 {
				s.lines[s.y] = nil
			} else if s.x < len(s.lines[s.y]) {
				s.lines[s.y] = s.lines[s.y][:s.x]
			}
		}
	case 'J':
		if n == 2 {
			s.lines = nil
			return
		}
		if s.y < len(s.lines) {
			s.lines = s.lines[:s.y+1]
			if s.x < len(s.lines[s.y]) {
				s.lines[s.y] = s.lines[s.y][:s.x]
			}
		}
	}
}

// String gives the lines without blanks at their ends and without empty lines at the end.
func (s *screen) String() string {
	var sb strings.Builder
	for _, l := range s.lines {
		sb.WriteString(strings.TrimRight(strings.ReplaceAll(string(l), "\x00", ""), " ") + "\n")
	}
	return strings.TrimRight(sb.String(), "\n")
}

func testBinary() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
