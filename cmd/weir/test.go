package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/shell"
	"github.com/weir-sql/weir/sqltests"
)

func (a *app) testCmd() *cobra.Command {
	var (
		rewrite, matrix, asJSON, quiet bool
		junit, filter, config, engine  string
		jobs                           int
		settings                       []string
	)
	cmd := &cobra.Command{
		Use:   "test PATH...",
		Short: "Run test files (*.slt, *.test) and folders of them",
		Args:  needArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := sqltests.Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(files) == 0 {
				return usageError{fmt.Errorf("no *.slt or *.test file under %s", strings.Join(args, ", "))}
			}
			cfg := sqltests.Config{Rewrite: rewrite, Engine: engine, Connectors: all.Connectors(), Formats: all.Formats(), Settings: map[string]string{}}
			if filter != "" {
				if cfg.Filter, err = regexp.Compile(filter); err != nil {
					return usageError{err}
				}
				files = filterFiles(files, cfg.Filter)
			}
			if config != "" {
				if err := readConfig(config, cfg.Settings); err != nil {
					return usageError{err}
				}
			}
			for _, s := range settings {
				k, v, ok := strings.Cut(s, "=")
				if !ok {
					return usageError{fmt.Errorf("--set wants key=value, not %q", s)}
				}
				cfg.Settings[k] = v
			}
			variants := []sqltests.Variant{{Name: "default"}}
			if matrix {
				variants = sqltests.Matrix()
			}
			defer a.interruptible()()
			results := sqltests.RunFiles(a.ctx, files, variants, cfg, jobs)
			return a.reportTests(results, junit, asJSON, quiet)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&rewrite, "rewrite", false, "write what came out into the files: review the change as a diff")
	f.BoolVar(&matrix, "matrix", false, "run each file under every configuration that may not change results")
	f.BoolVar(&asJSON, "json", false, "print results as JSON")
	f.BoolVar(&quiet, "quiet", false, "name only files with failures")
	f.StringVar(&junit, "junit", "", "write results to `FILE` as JUnit XML")
	f.StringVar(&filter, "run", "", "only files whose name matches the regular expression `REGEX`")
	f.StringVar(&config, "config", "", "a `FILE` of settings, a line key=value each")
	f.StringVar(&engine, "engine", "weir", "the `NAME` for skipif and onlyif")
	f.IntVarP(&jobs, "jobs", "j", runtime.GOMAXPROCS(0), "run `N` files at a time")
	f.StringArrayVar(&settings, "set", nil, "a setting of the session, `KEY=VALUE`; may be repeated")
	return cmd
}

func filterFiles(files []string, re *regexp.Regexp) []string {
	var out []string
	for _, f := range files {
		if re.MatchString(f) {
			out = append(out, f)
		}
	}
	return out
}

func readConfig(path string, into map[string]string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("%s:%d: want key=value, not %q", path, i+1, line)
		}
		into[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return nil
}

func (a *app) reportTests(results []sqltests.FileResult, junit string, asJSON, quiet bool) error {
	failed := 0
	if asJSON {
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(results); err != nil {
			return err
		}
		for _, r := range results {
			failed += r.Failed
		}
	} else {
		failed = sqltests.Report(a.out, results, quiet)
	}
	if junit != "" {
		if err := a.writeFile(junit, func(w io.Writer) error { return sqltests.WriteJUnit(w, results) }); err != nil {
			fmt.Fprintf(a.err, "weir: %v\n", err)
			return exitError(shell.ExitFailed)
		}
	}
	if a.ctx.Err() != nil {
		return exitError(shell.ExitInterrupted)
	}
	if failed > 0 {
		return exitError(shell.ExitFailed)
	}
	return nil
}
