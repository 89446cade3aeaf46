package shell

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-sql/weir"
)

// metaCommand is a command of the shell itself.
type metaCommand struct {
	name, args, doc string
	run             func(s *repl, ctx context.Context, arg string) error
}

// metaCommands is filled by init: help lists it.
var metaCommands []metaCommand

func init() {
	metaCommands = []metaCommand{
		{"\\?", "", "show this help", func(s *repl, _ context.Context, _ string) error { s.help(); return nil }},
		{"\\q", "", "leave the shell (also Ctrl-D, QUIT, EXIT)", func(s *repl, _ context.Context, _ string) error { s.quit = true; return nil }},
		{"\\d", "[TABLE]", "list tables and views, or describe one (or a file: \\d 'x.csv')", (*repl).describe},
		{"\\l", "", "list catalogs and databases", func(s *repl, ctx context.Context, _ string) error {
			return s.statements(ctx, "SHOW CATALOGS; SHOW DATABASES;", "")
		}},
		{"\\df", "", "list functions", func(s *repl, ctx context.Context, _ string) error { return s.statements(ctx, "SHOW FUNCTIONS;", "") }},
		{"\\i", "FILE", "run the statements of a file", (*repl).include},
		{"\\o", "[FILE]", "write results to a file; without a file to the screen again", (*repl).output},
		{"\\format", "[FORMAT]", "how results are printed: " + strings.Join(Formats, ", "), (*repl).setFormat},
		{"\\x", "", "switch between vertical and table", func(s *repl, ctx context.Context, _ string) error {
			if s.r.Writer.Format == "vertical" {
				return s.setFormat(ctx, "table")
			}
			return s.setFormat(ctx, "vertical")
		}},
		{"\\limit", "[N]", "print at most N rows of a result that has an end (0: all)", (*repl).setLimit},
		{"\\timing", "[on|off]", "print how long each statement takes", (*repl).setTiming},
		{"\\set", "[KEY VALUE]", "make a setting of the session, or list those that were made", (*repl).set},
		{"\\settings", "", "list all settings, their defaults and meanings", func(s *repl, _ context.Context, _ string) error { s.settings(); return nil }},
		{"\\jobs", "", "list the INSERTs that run in the background", func(s *repl, _ context.Context, _ string) error {
			fmt.Fprint(s.r.Out, s.r.Status())
			return nil
		}},
		{"\\stop", "JOB", "stop a job in order", (*repl).stop},
		{"\\clear", "", "clear the screen", func(s *repl, _ context.Context, _ string) error { fmt.Fprint(s.r.Out, "\033[H\033[2J"); return nil }},
	}
}

// meta runs a meta command.
func (s *repl) meta(ctx context.Context, line string) error {
	line = strings.TrimSuffix(strings.TrimSpace(line), ";")
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	names := make([]string, len(metaCommands))
	for i, m := range metaCommands {
		names[i] = m.name
		if m.name != name {
			continue
		}
		if arg != "" && m.args == "" {
			return fmt.Errorf("%s takes no argument", name)
		}
		if arg == "" && m.args != "" && m.args[0] != '[' {
			return fmt.Errorf("%s wants an argument: %s %s", name, name, m.args)
		}
		return m.run(s, ctx, arg)
	}
	hint := "\\? lists all"
	if n := weir.Nearest(name, names); n != "" {
		hint = "did you mean " + n + "? " + hint
	}
	return fmt.Errorf("unknown command %s; %s", printable(name), hint)
}

func (s *repl) help() {
	out := s.r.Out
	fmt.Fprint(out, "Statements end with a semicolon and may span lines. INSERTs without an end run in the background.\n")
	fmt.Fprint(out, "  SELECT * FROM 'file.csv' LIMIT 5;     a file is a table\n  SHOW TABLES;  DESCRIBE t;  EXPLAIN SELECT ...;\n\n")
	for _, m := range metaCommands {
		fmt.Fprintf(out, "  %-22s %s\n", m.name+" "+m.args, m.doc)
	}
	fmt.Fprint(out, "\nKeys: Tab completes, Ctrl-R searches the history, Ctrl-C stops the running query or clears the line,\nCtrl-D leaves. A line that begins with a blank is not kept in the history.\n")
}

// describe is \d.
func (s *repl) describe(ctx context.Context, arg string) error {
	if arg == "" {
		return s.statements(ctx, "SHOW TABLES;", "")
	}
	if _, err := os.Stat(arg); err == nil && !strings.HasPrefix(arg, "'") && strings.ContainsAny(arg, "./\\") {
		arg = "'" + strings.ReplaceAll(arg, "'", "''") + "'"
	}
	return s.statements(ctx, "DESCRIBE "+arg+";", "")
}

// include is \i.
func (s *repl) include(ctx context.Context, arg string) error {
	data, err := os.ReadFile(strings.Trim(arg, "'"))
	if err != nil {
		return err
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	return s.statements(ctx, text, strings.Trim(arg, "'"))
}

// output is \o.
func (s *repl) output(_ context.Context, arg string) error {
	if s.file != nil {
		err := s.file.Close()
		s.file, s.r.Out = nil, s.screen
		if err != nil {
			return err
		}
	}
	if arg == "" {
		return nil
	}
	f, err := os.Create(strings.Trim(arg, "'"))
	if err != nil {
		return err
	}
	s.file, s.r.Out = f, f
	return nil
}

func (s *repl) setFormat(_ context.Context, arg string) error {
	if arg == "" {
		f := s.r.Writer.Format
		if f == "" {
			f = "table"
		}
		fmt.Fprintln(s.r.Err, "format "+f)
		return nil
	}
	if !slices.Contains(Formats, arg) {
		hint := ""
		if n := weir.Nearest(arg, Formats); n != "" {
			hint = "; did you mean " + n + "?"
		}
		return fmt.Errorf("unknown format %q: it is one of %s%s", arg, strings.Join(Formats, ", "), hint)
	}
	s.r.Writer.Format = arg
	fmt.Fprintln(s.r.Err, "format "+arg)
	return nil
}

func (s *repl) setLimit(_ context.Context, arg string) error {
	if arg != "" {
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("\\limit wants a number of rows, or 0 for all, not %q", arg)
		}
		s.r.Limit = n
	}
	if s.r.Limit == 0 {
		fmt.Fprintln(s.r.Err, "limit 0: all rows are printed")
		return nil
	}
	fmt.Fprintf(s.r.Err, "limit %d\n", s.r.Limit)
	return nil
}

func (s *repl) setTiming(_ context.Context, arg string) error {
	switch strings.ToLower(arg) {
	case "":
		s.r.Timing = !s.r.Timing
	case "on", "true":
		s.r.Timing = true
	case "off", "false":
		s.r.Timing = false
	default:
		return fmt.Errorf("\\timing is on or off, not %q", arg)
	}
	state := "off"
	if s.r.Timing {
		state = "on"
	}
	fmt.Fprintln(s.r.Err, "timing is "+state)
	return nil
}

// set is \set: a short form of SET.
func (s *repl) set(ctx context.Context, arg string) error {
	if arg == "" {
		return s.statements(ctx, "SET;", "")
	}
	key, value, ok := strings.Cut(arg, " ")
	if k, v, eq := strings.Cut(arg, "="); eq {
		key, value, ok = k, v, true
	}
	if !ok {
		return fmt.Errorf("\\set wants a key and a value: \\set weir.threads 2")
	}
	quote := func(t string) string {
		return "'" + strings.ReplaceAll(strings.Trim(strings.TrimSpace(t), "'"), "'", "''") + "'"
	}
	return s.statements(ctx, "SET "+quote(key)+" = "+quote(value)+";", "")
}

func (s *repl) settings() {
	made := s.r.DB.Config()
	for _, c := range weir.Settings() {
		value, ok := made[c.Key]
		if !ok {
			value = c.Default
		}
		if value == "" {
			value = "not set"
		}
		mark := " "
		if ok {
			mark = "*"
		}
		fmt.Fprintf(s.r.Out, "%s %-36s %-12s %s\n", mark, c.Key, value, c.Doc)
	}
}

func (s *repl) stop(_ context.Context, arg string) error {
	for _, j := range s.r.DB.Jobs() {
		if j.ID() == arg {
			s.r.stopJob(j)
			return nil
		}
	}
	return fmt.Errorf("there is no job %s; \\jobs lists them", arg)
}
