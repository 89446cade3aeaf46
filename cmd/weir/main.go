// Command weir is the engine on the command line: a REPL, a runner of scripts and test files, and a checker. It turns flags into options and registers
// the connectors it ships.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/chzyer/readline"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/metrics"
	"github.com/weir-sql/weir/shell"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// exitError carries an exit status through cobra.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a wrong call.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

// app is one run of the command.
type app struct {
	in       io.Reader
	out, err io.Writer
	ctx      context.Context

	format        string
	noHeader      bool
	settings      []string
	quiet         bool
	maxRows       uint64
	continueError bool
	statsFile     string
	command       string
	metricsAddr   string
	checkpointDir string
	restore       bool
}

func run(args []string, in io.Reader, out, errOut io.Writer) int {
	tuneCollector()
	// A reader that goes away (| head) is an error of the write, not the end of the process: what runs is stopped in order.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a := &app{in: in, out: out, err: errOut, ctx: ctx}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.Execute()
	var exit exitError
	switch {
	case err == nil:
		return shell.ExitOK
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintf(errOut, "weir: %v\n", err)
	return shell.ExitUsage
}

// tuneCollector lets the heap grow a little further between collections: memory of the hot path is pooled, so that garbage is small beside it.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// interruptible ends the app's context at the first SIGINT or SIGTERM; a second one ends the process at once.
func (a *app) interruptible() (stop func()) {
	ctx, cancel := context.WithCancel(a.ctx)
	a.ctx = ctx
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			fmt.Fprintln(a.err, "weir: stopped at once")
			os.Exit(shell.ExitInterrupted)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "Streaming SQL: queries over files and streams, with event time and watermarks",
		Long: `Weir runs Flink SQL over files and streams.

  weir                              a shell
  weir -c "SELECT * FROM 'x.csv'"   run statements and print their results
  weir run script.sql               run a script
  weir test suite/                  run test files with a virtual clock
  weir broker --topic clicks:2      a Kafka broker in memory, for development`,
		SilenceUsage: true, SilenceErrors: true,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cmd.Flags().Changed("command"):
				return a.runScripts(script{a.command, ""})
			case !isTerminal(a.in):
				return a.runFiles("-")
			}
			return a.repl()
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.DisableDefaultCmd = true
	f := root.Flags()
	f.StringVarP(&a.command, "command", "c", "", "`SQL`: statements to run")
	a.runFlags(root)
	root.AddCommand(a.runCmd(), a.testCmd(), a.checkCmd(), a.explainCmd(), a.brokerCmd(), versionCmd())
	return root
}

// noArgs refuses what is no subcommand, and knows what was meant.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if _, err := os.Stat(args[0]); err == nil {
		return usageError{fmt.Errorf("unknown command %q; to run a script write: weir run %s", args[0], args[0])}
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	hint := "see weir --help"
	if n := weir.Nearest(args[0], names); n != "" {
		hint = "did you mean " + n + "?"
	}
	return usageError{fmt.Errorf("unknown command %q; %s", args[0], hint)}
}

// needArgs refuses a subcommand without the scripts or test files that it is for.
func needArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{fmt.Errorf("nothing to %s; write: weir %s", cmd.Name(), cmd.Use)}
	}
	return nil
}

// runFlags adds the flags that -c and run have in common.
func (a *app) runFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.format, "format", "", "`FORMAT` of results: "+strings.Join(shell.Formats, ", ")+" (default table)")
	f.BoolVar(&a.noHeader, "no-header", false, "no header line in csv, tsv, table and markdown")
	f.StringArrayVar(&a.settings, "set", nil, "a setting of the session, `KEY=VALUE`; may be repeated")
	f.BoolVar(&a.quiet, "quiet", false, "no warnings, no summary")
	f.Uint64Var(&a.maxRows, "max-rows", 0, "print at most `N` rows of each result (0: all)")
	f.BoolVar(&a.continueError, "continue-on-error", false, "go on behind a failed statement")
	f.StringVar(&a.statsFile, "stats", "", "write figures of each statement to `FILE`, as JSON")
	f.StringVar(&a.metricsAddr, "metrics", "", "serve /metrics (Prometheus) and /watermarks at `ADDR`, host:port, while it runs")
	f.StringVar(&a.checkpointDir, "checkpoint-dir", "", "`DIR` for checkpoints (not supported yet: refused)")
	f.BoolVar(&a.restore, "restore", false, "continue from the last checkpoint (not supported yet: refused)")
}

// observe refuses what is not there, and serves metrics where that is asked for, until the function that it returns is called.
func (a *app) observe(db *weir.DB) (stop func(), err error) {
	if a.checkpointDir != "" || a.restore {
		return nil, usageError{errors.New("--checkpoint-dir and --restore are not supported yet: checkpoints are kept in memory only, nothing could be restored from disk")}
	}
	if a.metricsAddr == "" {
		return func() {}, nil
	}
	s, err := metrics.Listen(a.metricsAddr, db)
	if err != nil {
		return nil, usageError{fmt.Errorf("--metrics %s: %w", a.metricsAddr, err)}
	}
	if !a.quiet {
		fmt.Fprintf(a.err, "metrics at http://%s/metrics\n", s.Addr())
	}
	return func() { _ = s.Close() }, nil
}

func (a *app) runCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run script.sql ...",
		Short: "Run scripts: SELECTs print, INSERTs run; - is standard input",
		Long: `Runs scripts one after the other in one session: SELECTs print their rows, INSERTs run. A bounded INSERT ends before the next statement begins;
unbounded ones run on and are waited for at the end. The first Ctrl-C stops what runs in order, a second one ends the process at once.

Exit status: 0 fine, 1 a statement failed, 2 wrong usage, 130 stopped by SIGINT.`,
		Args: needArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.runFiles(args...) },
	}
	a.runFlags(cmd)
	return cmd
}

// read reads a script; - is standard input. A byte order mark is left out.
func (a *app) read(name string) (string, error) {
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(a.in)
	} else {
		data, err = os.ReadFile(name)
	}
	return strings.TrimPrefix(string(data), "\ufeff"), err
}

// open opens a session with the settings of the command line.
func (a *app) open() (*weir.DB, error) {
	config := map[string]string{}
	for _, s := range a.settings {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--set wants key=value, not %q", s)}
		}
		config[strings.Trim(strings.TrimSpace(k), "'")] = strings.Trim(strings.TrimSpace(v), "'")
	}
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats(), Config: config, Log: newWarnings(a.err, a.quiet), Stdin: a.in, Stdout: a.out, Stderr: a.err})
	if err != nil {
		return nil, usageError{err}
	}
	return db, nil
}

func (a *app) runner(db *weir.DB) (*shell.Runner, error) {
	if a.format != "" && !slices.Contains(shell.Formats, a.format) {
		hint := ""
		if n := weir.Nearest(a.format, shell.Formats); n != "" {
			hint = "; did you mean " + n + "?"
		}
		return nil, usageError{fmt.Errorf("unknown format %q: it is one of %s%s", a.format, strings.Join(shell.Formats, ", "), hint)}
	}
	r := &shell.Runner{DB: db, Out: a.out, Err: a.err, Quiet: a.quiet, ContinueOnError: a.continueError, Progress: isTerminal(a.err),
		Writer: shell.WriterOptions{Format: a.format, NoHeader: a.noHeader, MaxRows: int64(min(a.maxRows, math.MaxInt64))}}
	if isTerminal(a.out) {
		r.Writer.Width = max(readline.GetScreenWidth(), 0)
	}
	return r, nil
}

// script is a text to run; name is its file, "" for that of -c.
type script struct{ text, name string }

// runFiles runs scripts; all are read before the first one runs.
func (a *app) runFiles(names ...string) error {
	var scripts []script
	for _, name := range names {
		text, err := a.read(name)
		if err != nil {
			fmt.Fprintf(a.err, "weir: %v\n", err)
			return exitError(shell.ExitFailed)
		}
		if name == "-" {
			name = "<stdin>"
		}
		scripts = append(scripts, script{text, name})
	}
	return a.runScripts(scripts...)
}

func (a *app) runScripts(scripts ...script) error {
	db, err := a.open()
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := a.runner(db)
	if err != nil {
		return err
	}
	unobserve, err := a.observe(db)
	if err != nil {
		return err
	}
	defer unobserve()
	defer a.interruptible()()
	defer onStatusSignal(func() { r.PrintWatermarks(context.WithoutCancel(a.ctx)) })()
	status := shell.ExitOK
	for _, s := range scripts {
		status = max(status, r.RunScript(a.ctx, s.text, s.name))
		if status != shell.ExitOK && (!a.continueError || a.ctx.Err() != nil) {
			break
		}
	}
	if a.statsFile != "" {
		if err := a.writeFile(a.statsFile, r.WriteStats); err != nil {
			fmt.Fprintf(a.err, "weir: %v\n", err)
			status = max(status, shell.ExitFailed)
		}
	}
	if err := db.Close(); err != nil {
		fmt.Fprintf(a.err, "weir: %v\n", err)
		status = max(status, shell.ExitFailed)
	}
	if status != shell.ExitOK {
		return exitError(status)
	}
	return nil
}

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}

func (a *app) writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// repl is the shell. Ctrl-C is its own affair; SIGTERM ends it in order.
func (a *app) repl() error {
	db, err := a.open()
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := a.runner(db)
	if err != nil {
		return err
	}
	unobserve, err := a.observe(db)
	if err != nil {
		return err
	}
	defer unobserve()
	ctx, stop := signal.NotifyContext(a.ctx, syscall.SIGTERM)
	defer stop()
	defer onStatusSignal(func() { r.PrintWatermarks(context.WithoutCancel(ctx)) })()
	if status := shell.REPL(ctx, r); status != shell.ExitOK {
		return exitError(status)
	}
	return nil
}

// version is set by the linker in releases.
var version = "dev"

func versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			v := version
			if info, ok := debug.ReadBuildInfo(); ok && v == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
				v = info.Main.Version
			}
			fmt.Fprintf(cmd.OutOrStdout(), "weir %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
