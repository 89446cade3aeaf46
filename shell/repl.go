package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/chzyer/readline"
	"github.com/mattn/go-isatty"

	"github.com/weir-sql/weir"
)

// DefaultLimit is how many rows of a result that has an end the REPL prints.
const DefaultLimit = 1000

// repl is a session at a terminal.
type repl struct {
	r       *Runner
	rl      *readline.Instance
	beside  io.Writer // the terminal, while the editor shows the prompt
	history *history
	signals chan os.Signal // SIGINT, while a statement runs
	screen  io.Writer      // r.Out without \o
	file    *os.File       // of \o
	pending string         // an unfinished statement
	entry   string         // what goes into the history: pending and the statements before it on its lines
	quit    bool
	jobs    sync.WaitGroup // goroutines that wait for jobs in the background
	leaving chan struct{}
}

// REPL reads statements from the terminal (standard input), runs them and prints their results, until the user leaves or ctx ends. r.Out and r.Err are
// the terminal. Ctrl-C stops the running statement or clears the line. It returns the exit status.
func REPL(ctx context.Context, r *Runner) int {
	s := &repl{r: r, screen: r.Out, signals: make(chan os.Signal, 2), leaving: make(chan struct{})}
	var err error
	if s.history, err = loadHistory(historyPath()); err != nil {
		r.note(fmt.Sprintf("the history is not kept: %v", err))
	}
	r.Interactive = true
	if r.Limit == 0 {
		r.Limit = DefaultLimit
	}
	// The editor shows itself where results do not go, if those go to a file.
	editor := os.Stdout
	if !isatty.IsTerminal(editor.Fd()) {
		editor = os.Stderr
	}
	stdin := readline.NewCancelableStdin(&pasteReader{in: os.Stdin})
	s.rl, err = readline.NewEx(&readline.Config{
		Stdin: stdin, Stdout: editor, Stderr: os.Stderr,
		AutoComplete: &completer{ctx: ctx, s: s, columns: readline.GetScreenWidth}, Painter: painter{},
		HistoryLimit: historyLimit + 2, DisableAutoSaveHistory: true, HistorySearchFold: true,
		FuncFilterInputRune: s.filter,
	})
	if err != nil {
		fmt.Fprintf(r.Err, "error: %v\n", err)
		return ExitFailed
	}
	s.beside = s.rl.Stderr()
	signal.Notify(s.signals, os.Interrupt)
	defer signal.Stop(s.signals)
	release := context.AfterFunc(ctx, func() { s.rl.Close() })
	defer func() {
		// The terminal reads no further, so Close need not wait for a key.
		if release() {
			stdin.Close()
			s.rl.Close()
		}
	}()
	r.note("Weir: streaming SQL. \\? shows help, \\q leaves.")
	s.loop(ctx, editor)
	s.leave()
	if ctx.Err() != nil {
		return ExitInterrupted
	}
	return ExitOK
}

// Codes that make a terminal mark what is pasted.
const (
	markPastes   = "\033[?2004h"
	unmarkPastes = "\033[?2004l"
)

func (s *repl) loop(ctx context.Context, editor io.Writer) {
	for !s.quit && ctx.Err() == nil {
		s.rl.SetPrompt(s.prompt())
		s.fillHistory()
		io.WriteString(editor, markPastes)
		line, err := s.rl.Readline()
		io.WriteString(editor, unmarkPastes)
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			s.pending, s.entry = "", ""
		case err != nil:
			s.quit = true
		default:
			s.line(ctx, fromEditor(line))
		}
	}
}

// filter sees every key before the line editor.
func (s *repl) filter(r rune) (rune, bool) {
	switch r {
	case readline.CharCtrlL:
		io.WriteString(s.rl.Config.Stdout, "\033[H\033[2J")
	case readline.CharKill:
		// The editor fails on Ctrl-K while it shows completions: there it only puts them away.
		if s.rl.Operation.IsInCompleteMode() {
			return readline.CharBell, true
		}
	}
	return r, true
}

// prompt says what is open.
func (s *repl) prompt() string {
	if s.pending == "" {
		return "weir> "
	}
	switch open := weir.Split(s.pending).Open; open {
	case "", "in statement":
		return "   -> "
	default:
		return open + "> "
	}
}

// fillHistory gives the editor its history anew: it would mix up entries that are edited, and knows nothing of statements with several lines.
func (s *repl) fillHistory() {
	s.rl.ResetHistory()
	if len(s.history.entries) == 0 {
		_ = s.rl.Operation.SaveHistory("") // the editor's search needs an entry
	}
	for _, e := range s.history.entries {
		_ = s.rl.Operation.SaveHistory(toEditor(e))
	}
}

// line takes a line (or a recalled statement of several lines).
func (s *repl) line(ctx context.Context, line string) {
	trimmed := strings.TrimSpace(line)
	inText := false
	if s.pending != "" {
		switch weir.Split(s.pending).Open {
		case "in string", "in quoted name", "in comment":
			inText = true
		}
	}
	if strings.HasPrefix(trimmed, "\\") && !inText {
		s.remember(line)
		if err := s.meta(ctx, trimmed); err != nil {
			fmt.Fprintf(s.r.Err, "error: %v\n", err)
		}
		return
	}
	if s.pending == "" {
		switch strings.ToUpper(strings.TrimSpace(strings.TrimSuffix(trimmed, ";"))) {
		case "HELP":
			s.help()
			return
		case "QUIT", "EXIT":
			s.quit = true
			return
		case "CLEAR":
			fmt.Fprint(s.screen, "\033[H\033[2J")
			return
		}
	}
	s.entry += line + "\n"
	text := s.pending + line + "\n"
	script := weir.Split(text)
	whole := script.Statements
	if script.Unfinished {
		whole = whole[:len(whole)-1]
	}
	next := 0
	if len(whole) > 0 {
		next = whole[len(whole)-1].Next
	}
	s.pending = strings.TrimLeft(text[next:], " \t\r\n")
	if script.Open == "" {
		s.remember(s.entry)
		s.pending, s.entry = "", ""
	}
	if len(whole) > 0 {
		if err := s.statements(ctx, text[:next], ""); err != nil {
			fmt.Fprintf(s.r.Err, "error: %v\n", err)
		}
	}
}

func (s *repl) remember(entry string) {
	if err := s.history.add(entry); err != nil {
		s.r.note(fmt.Sprintf("the history is not kept: %v", err))
		s.history.path = ""
	}
}

// statements runs statements, prints their errors, and goes on behind a failed one unless they come from a file. The first Ctrl-C stops the running
// one in order and leaves out those behind it; a second one ends it at once.
func (s *repl) statements(ctx context.Context, text, file string) error {
	for len(s.signals) > 0 {
		<-s.signals // old
	}
	soft, cancelSoft := context.WithCancel(ctx)
	defer cancelSoft()
	hard, cancelHard := context.WithCancel(context.Background())
	defer cancelHard()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for _, cancel := range []func(){cancelSoft, cancelHard} {
			select {
			case <-s.signals:
				s.r.interrupted()
				cancel()
			case <-done:
				return
			}
		}
	}()
	defer func() { close(done); <-ended }()

	script := weir.Split(text)
	for i, st := range script.Statements {
		s.r.Writer.Width = 0
		if s.file == nil {
			s.r.Writer.Width = max(readline.GetScreenWidth(), 0)
		}
		err := s.r.run(soft, hard, st, source{text, file})
		s.adopt()
		switch {
		case err == nil:
			continue
		case errors.Is(err, errStopped):
			if left := len(script.Statements) - i - 1; left > 0 {
				s.r.note(fmt.Sprintf("%d %s not run", left, plural(int64(left), "statement")))
			}
			return nil
		}
		s.r.PrintError(place(st, err), text, file)
		if file != "" {
			return nil
		}
	}
	if script.Open == "in comment" && !script.Unfinished {
		return fmt.Errorf("line %d, column %d: the comment that begins here has no end", script.OpenLine, script.OpenColumn)
	}
	return nil
}

// tell prints a line beside the prompt. It may be called from any goroutine.
func (s *repl) tell(line string) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.erase()
	io.WriteString(s.beside, line+"\n")
}

// adopt takes over the jobs that a statement has left in the background: why they stall, and their end, is told beside the prompt.
func (s *repl) adopt() {
	for _, b := range s.r.jobs {
		j, entry := b.job, b.entry
		s.jobs.Go(func() {
			unwatch := s.r.watchStalls(j, func(note string) { s.tell(fmt.Sprintf("job %s: %s", j.ID(), note)) })
			select {
			case <-j.Done():
				unwatch()
			case <-s.leaving:
				unwatch()
				return
			}
			text := fmt.Sprintf("job %s has ended: ", j.ID())
			st := j.Stats()
			switch err := j.Err(); {
			case err != nil:
				entry.Error = err.Error()
				text = fmt.Sprintf("job %s %s: %v", j.ID(), j.State(), err)
			default:
				text += summary(j.Name()+": "+written(j.State(), st.RowsOut), st, 0)
			}
			s.tell(text)
		})
	}
	s.r.jobs = nil
}

// leave stops the jobs in the background, in order.
func (s *repl) leave() {
	close(s.leaving)
	s.jobs.Wait()
	if s.file != nil {
		s.file.Close()
	}
	jobs := s.r.DB.Jobs()
	if len(jobs) == 0 {
		return
	}
	s.r.note(fmt.Sprintf("stopping %d %s", len(jobs), plural(int64(len(jobs)), "job")))
	var wg sync.WaitGroup
	for _, j := range jobs {
		wg.Go(func() { s.r.stopJob(j) })
	}
	wg.Wait()
	for _, j := range jobs {
		st := j.Stats()
		s.r.note(summary(j.Name()+": "+written(j.State(), st.RowsOut), st, 0))
	}
}
