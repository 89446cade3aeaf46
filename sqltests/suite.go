package sqltests

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
)

// Find lists the test files under paths: files as they are, folders with all *.slt and *.test files in them.
func Find(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, p)
			continue
		}
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if ext := filepath.Ext(path); !d.IsDir() && (ext == ".slt" || ext == ".test") {
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	sort.Strings(out)
	return out, nil
}

// Variant is one configuration of the matrix.
type Variant struct {
	Name     string
	Settings map[string]string
	Each     bool  // checkpoint and restore after every row and every word of time
	Rescale  []int // with Each: the parallelism of each restore, in turn
	Sorted   bool  // compare blocks without ORDER BY sorted
}

// Matrix lists the configurations that may not change any result.
func Matrix() []Variant {
	return []Variant{
		{Name: "default"},
		{Name: "batch-size=1", Settings: map[string]string{"weir.batch-size": "1"}},
		{Name: "batch-size=2", Settings: map[string]string{"weir.batch-size": "2"}},
		{Name: "parallelism=4", Settings: map[string]string{"parallelism.default": "4"}, Sorted: true},
		{Name: "restore", Each: true},
		{Name: "rescale", Each: true, Rescale: []int{4, 2, 1, 3}, Sorted: true},
		{Name: "optimizer=off", Settings: map[string]string{"weir.optimizer": "off"}},
	}
}

// With returns the configuration of a variant over cfg.
func (v Variant) With(cfg Config) Config {
	settings := map[string]string{}
	for k, s := range cfg.Settings {
		settings[k] = s
	}
	for k, s := range v.Settings {
		settings[k] = s
	}
	cfg.Settings, cfg.CheckpointEach, cfg.Parallelisms, cfg.SortOutput = settings, v.Each, v.Rescale, v.Sorted
	if v.Name != "default" {
		cfg.Rewrite = false
	}
	return cfg
}

// RunFiles runs files under each variant, jobs files at a time; results come in the order of files, then variants.
func RunFiles(ctx context.Context, files []string, variants []Variant, cfg Config, jobs int) []FileResult {
	if jobs < 1 {
		jobs = 1
	}
	results := make([]FileResult, len(files)*len(variants))
	slots := make(chan struct{}, jobs)
	var wg sync.WaitGroup
	for i := range results {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			v := variants[i%len(variants)]
			results[i] = RunFile(ctx, files[i/len(variants)], v.With(cfg))
			if len(variants) > 1 {
				results[i].Config = v.Name
			}
		}()
	}
	wg.Wait()
	return results
}

// Report prints failures and the figures of each file and in all; it returns the number of failed records.
func Report(w io.Writer, results []FileResult, quiet bool) int {
	passed, failed, skipped := 0, 0, 0
	for _, r := range results {
		passed, failed, skipped = passed+r.Passed, failed+r.Failed, skipped+r.Skipped
		name := r.File
		if r.Config != "" {
			name += " [" + r.Config + "]"
		}
		for _, f := range r.Failures {
			fmt.Fprintf(w, "%s\n", indent(f.String()))
			if r.Config != "" {
				fmt.Fprintf(w, "  under %s\n", r.Config)
			}
		}
		if !quiet || r.Failed > 0 {
			fmt.Fprintf(w, "%s: %d passed, %d failed, %d skipped\n", name, r.Passed, r.Failed, r.Skipped)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// WriteJUnit writes results as JUnit XML: a suite for each file, a failed case for each failed record.
func WriteJUnit(w io.Writer, results []FileResult) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *failure `xml:"failure,omitempty"`
	}
	type suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	var suites []suite
	for _, r := range results {
		name := r.File
		if r.Config != "" {
			name += " [" + r.Config + "]"
		}
		s := suite{Name: name, Tests: r.Passed + r.Failed + r.Skipped, Failures: r.Failed, Skipped: r.Skipped, Time: fmt.Sprintf("%.3f", r.Elapsed.Seconds())}
		for _, f := range r.Failures {
			first, _, _ := strings.Cut(f.Text, "\n")
			s.Cases = append(s.Cases, testcase{name, fmt.Sprintf("%s:%d %s", filepath.Base(f.File), f.Line, f.Word), &failure{first, f.Text}})
		}
		s.Cases = append(s.Cases, testcase{Class: name, Name: fmt.Sprintf("%d records passed", r.Passed)})
		suites = append(suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	err := enc.Encode(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite
	}{Suites: suites})
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	return err
}

// Run runs the test files under dir as subtests, each under the whole matrix.
func Run(t *testing.T, dir string) { RunWith(t, dir, Config{}, Matrix()) }

// RunWith is Run with a configuration and chosen variants.
func RunWith(t *testing.T, dir string, cfg Config, variants []Variant) {
	t.Helper()
	files, err := Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no *.slt or *.test file under %s", dir)
	}
	for _, f := range files {
		for _, v := range variants {
			t.Run(strings.TrimPrefix(filepath.ToSlash(f), filepath.ToSlash(dir)+"/")+"/"+v.Name, func(t *testing.T) {
				t.Parallel()
				r := RunFile(t.Context(), f, v.With(cfg))
				for _, x := range r.Failures {
					t.Errorf("%s", indent(x.String()))
				}
			})
		}
	}
}
