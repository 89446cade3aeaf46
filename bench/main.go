//go:build unix

// Command bench measures Weir against DuckDB on the same files, in the same run: it builds the data and the engine, installs DuckDB for Python in a
// folder of its own, checks that both give the same answers, and prints the table of docs/performance.md.
//
//	go run ./bench                    # 10M bids, about 30 minutes on two cores
//	go run ./bench -bids 1000000 -runs 3 -formats json
//	go run ./bench -kafka             # Kafka only: against a bare consumer, and memory while nobody reads
//	go run ./bench -sections watermarks,kafka
package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	bids    = flag.Int("bids", 10_000_000, "number of bids")
	runs    = flag.Int("runs", 5, "runs of each measurement; the median counts")
	dir     = flag.String("dir", filepath.Join(os.TempDir(), "weir-bench"), "where data, engine and DuckDB are kept")
	formats = flag.String("formats", "json,csv,parquet", "formats to measure")
	only    = flag.String("query", "", "only queries whose name contains this")
	cores   = flag.String("threads", "1,2", "numbers of threads")
	write   = flag.String("write", "", "write the report to this file too")

	sections  = flag.String("sections", "duckdb,disorder,watermarks,startup,files,kafka,memory", "what to measure")
	onlyKafka = flag.Bool("kafka", false, "the same as -sections kafka,memory")
	records   = flag.Int("records", 3_000_000, "number of records in the topic")
	waiting   = flag.Int64("waiting", 1024, "MiB in the topic whose rows nobody takes")
	blocked   = flag.Duration("blocked", time.Minute, "for how long nobody takes them")
	bare      = flag.String("bare", "", "be the bare consumer: ADDRESS TOPIC RECORDS (the benchmark calls itself so)")
)

// header begins docs/performance.md.
const header = `# Performance

Made by one command, which builds the data (a Nexmark-like stream of bids, slightly out of order), the engine and a DuckDB of its own, checks that both
give the same answer to every query, and prints these tables:

	go run ./bench -write docs/performance.md

Both engines read the same file from the page cache with the same number of threads, in turn. A ratio is Weir's time by DuckDB's: below 1 Weir is faster.
CPU time is that of Weir's whole process, start included, against that of DuckDB's query alone; judge by it, wall time is disturbed by whatever else runs.
Weir judges every row by the exact watermark before it, counts late rows and emits windows as the watermark passes; DuckDB groups once at the end.

`

const duckVersion = "2.0.1"

// figures of one run.
type figures struct {
	cpu, wall float64 // seconds
	peakMiB   float64
	answer    string
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	if f := strings.Fields(*bare); len(f) == 3 {
		n, err := strconv.Atoi(f[2])
		if err == nil {
			err = bareConsumer(f[0], f[1], n)
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	if *onlyKafka {
		*sections = "kafka,memory"
	}
	wanted := strings.Split(*sections, ",")
	if err := prepare(wanted); err != nil {
		log.Fatal(err)
	}
	var out strings.Builder
	what := fmt.Sprintf("Medians of %d runs", *runs)
	if needsBids(wanted) {
		what = fmt.Sprintf("%d bids, medians of %d runs", *bids, *runs)
	}
	if slices.Contains(wanted, "duckdb") {
		what += ", DuckDB " + duckVersion + " (Python)"
	}
	fmt.Fprintf(&out, "%s, %d cores, %s, %s\n\n", what, runtime.NumCPU(), runtime.Version(), time.Now().Format("2006-01-02"))
	known := map[string]func(*strings.Builder) error{"duckdb": against, "disorder": disorder, "watermarks": watermarks, "startup": startup, "files": manyFiles, "kafka": kafka, "memory": kafkaMemory}
	for _, s := range wanted {
		measure := known[s]
		if measure == nil {
			log.Fatalf("unknown section %q: they are duckdb, disorder, watermarks, startup, files, kafka, memory", s)
		}
		if err := measure(&out); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Print(out.String())
	if *write != "" {
		if err := os.WriteFile(*write, []byte(header+out.String()), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

func path(parts ...string) string { return filepath.Join(append([]string{*dir}, parts...)...) }

func sh(name string, args ...string) error {
	log.Printf("+ %s %s", name, strings.Join(args, " "))
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

func data(kind string) string { return fmt.Sprintf("%s-%d", kind, *bids) }

func needsBids(wanted []string) bool {
	return slices.ContainsFunc(wanted, func(s string) bool { return s == "duckdb" || s == "disorder" || s == "watermarks" })
}

// prepare builds the engine and what is not there yet of the data and of DuckDB.
func prepare(wanted []string) error {
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	for out, pkg := range map[string]string{"weir": "./cmd/weir", "nexgen": "./bench/nexgen"} {
		if err := sh("go", "build", "-o", path(out), pkg); err != nil {
			return err
		}
	}
	if !needsBids(wanted) {
		return nil
	}
	for kind, args := range map[string][]string{"usual": {"-formats", *formats}, "ordered": {"-formats", "json", "-maxdelay", "0"}, "late": {"-formats", "json", "-late", "0.01"}} {
		if _, err := os.Stat(path(data(kind))); err == nil {
			continue
		}
		if err := os.MkdirAll(path("new"), 0o755); err != nil {
			return err
		}
		if err := sh(path("nexgen"), append([]string{"-bids", strconv.Itoa(*bids), "-kinds", "bid", "-out", path("new")}, args...)...); err != nil {
			return err
		}
		if err := os.Rename(path("new"), path(data(kind))); err != nil {
			return err
		}
	}
	if _, err := os.Stat(path("duckdb", "bin", "python")); err == nil || !slices.Contains(wanted, "duckdb") {
		return nil
	}
	if err := sh("python3", "-m", "venv", path("duckdb")); err != nil {
		return err
	}
	return sh(path("duckdb", "bin", "pip"), "install", "-q", "duckdb=="+duckVersion)
}

func runWeir(script string) (figures, error) {
	cmd := exec.Command(path("weir"), "--quiet", "--format", "csv", "--no-header", "-c", script)
	cmd.Stderr = os.Stderr
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return figures{}, fmt.Errorf("weir: %w", err)
	}
	s := cmd.ProcessState
	return figures{cpu: (s.UserTime() + s.SystemTime()).Seconds(), wall: time.Since(began).Seconds(), peakMiB: maxRSS(s), answer: strings.TrimSpace(string(out))}, nil
}

func maxRSS(s *os.ProcessState) float64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return math.NaN()
}

func runDuck(sql string, threads int) (figures, error) {
	cmd := exec.Command(path("duckdb", "bin", "python"), filepath.Join("bench", "duck.py"), strconv.Itoa(threads), sql)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return figures{}, fmt.Errorf("duckdb: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	f := figures{peakMiB: maxRSS(cmd.ProcessState), answer: strings.Join(lines[:len(lines)-1], "\n")}
	if _, err := fmt.Sscanf(lines[len(lines)-1], "cpu %g %g", &f.cpu, &f.wall); err != nil {
		return f, fmt.Errorf("duck.py printed %q", lines[len(lines)-1])
	}
	return f, nil
}

func median(fs []figures, of func(figures) float64) float64 {
	v := make([]float64, len(fs))
	for i, f := range fs {
		v[i] = of(f)
	}
	sort.Float64s(v)
	return v[len(v)/2]
}

func cpu(f figures) float64  { return f.cpu }
func wall(f figures) float64 { return f.wall }
func peak(f figures) float64 { return f.peakMiB }

// same compares answers: text, or numbers that differ by rounding only. Timestamps differ in the number of fraction digits.
func same(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] == y[i] || strings.TrimRight(x[i], "0") == strings.TrimRight(y[i], "0") {
			continue
		}
		f, err1 := strconv.ParseFloat(x[i], 64)
		g, err2 := strconv.ParseFloat(y[i], 64)
		if err1 != nil || err2 != nil || math.Abs(f-g) > 1e-9*math.Max(math.Abs(f), math.Abs(g)) {
			return false
		}
	}
	return true
}

// against measures both engines in turn.
func against(out *strings.Builder) error {
	scaling := map[string]map[int]float64{}
	for _, format := range strings.Split(*formats, ",") {
		file := path(data("usual"), "bids."+format)
		fmt.Fprintf(out, "| %s | threads | Weir Mrows/s | DuckDB Mrows/s | CPU ratio | wall ratio | peak MiB Weir / DuckDB |\n|---|---|---|---|---|---|---|\n", format)
		for _, q := range queries {
			if !strings.Contains(q.name, *only) {
				continue
			}
			for _, c := range strings.Split(*cores, ",") {
				threads, err := strconv.Atoi(c)
				if err != nil {
					return err
				}
				script := weirScript(q.weir, format, file, "ts - INTERVAL '4' SECOND", threads)
				sql := strings.ReplaceAll(q.duck, "${bids}", duckSource(format, file))
				var a, b []figures
				for range *runs {
					x, err := runWeir(script)
					if err != nil {
						return err
					}
					y, err := runDuck(sql, threads)
					if err != nil {
						return err
					}
					if !same(x.answer, y.answer) {
						return fmt.Errorf("%s %s: the answers differ: Weir %s, DuckDB %s", format, q.name, x.answer, y.answer)
					}
					a, b = append(a, x), append(b, y)
				}
				key := format + " " + q.name
				if scaling[key] == nil {
					scaling[key] = map[int]float64{}
				}
				scaling[key][threads] = median(a, wall)
				n := float64(*bids) / 1e6
				fmt.Fprintf(out, "| %s | %d | %.2f | %.2f | **%.2f** | %.2f | %.0f / %.0f |\n", q.name, threads, n/median(a, wall), n/median(b, wall),
					median(a, cpu)/median(b, cpu), median(a, wall)/median(b, wall), median(a, peak), median(b, peak))
				log.Printf("%s %s, %d threads: CPU ratio %.2f", format, q.name, threads, median(a, cpu)/median(b, cpu))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "| weir.threads 2 against 1 | wall ratio |\n|---|---|\n")
	keys := make([]string, 0, len(scaling))
	for k := range scaling {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if s := scaling[k]; s[1] > 0 && s[2] > 0 {
			fmt.Fprintf(out, "| %s | %.2fx |\n", k, s[1]/s[2])
		}
	}
	fmt.Fprintln(out)
	return nil
}

// disorder measures what late rows and a watermark without delay cost over data in order.
func disorder(out *strings.Builder) error {
	tumble := queries[2].weir
	cases := []struct{ name, data, watermark string }{
		{"in order, ts - 4 s", "ordered", "ts - INTERVAL '4' SECOND"},
		{"in order, WATERMARK FOR ts AS ts", "ordered", "ts"},
		{"usual disorder, WATERMARK FOR ts AS ts", "usual", "ts"},
		{"1 % late rows, ts - 4 s", "late", "ts - INTERVAL '4' SECOND"},
	}
	if !strings.Contains(*formats, "json") {
		return nil
	}
	fs := make([][]figures, len(cases))
	for range *runs {
		for i, c := range cases {
			f, err := runWeir(weirScript(tumble, "json", path(data(c.data), "bids.json"), c.watermark, 1))
			if err != nil {
				return err
			}
			fs[i] = append(fs[i], f)
		}
	}
	fmt.Fprintf(out, "| tumble 10 s over JSON, 1 thread | CPU ns/row | ratio |\n|---|---|---|\n")
	base := median(fs[0], cpu)
	for i, c := range cases {
		m := median(fs[i], cpu)
		fmt.Fprintf(out, "| %s | %.0f | %.2f |\n", c.name, m*1e9/float64(*bids), m/base)
	}
	fmt.Fprintln(out)
	return nil
}

// startup measures the whole process on a file of one row.
func startup(out *strings.Builder) error {
	file := path("one.json")
	line := `{"auction":1,"bidder":2,"price":3,"channel":"a","url":"b","dateTime":"2024-05-01 10:00:00.000","extra":""}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o644); err != nil {
		return err
	}
	var fs []figures
	for range max(*runs, 9) {
		f, err := runWeir(weirScript("SELECT auction FROM bids", "json", file, "ts", 1))
		if err != nil {
			return err
		}
		fs = append(fs, f)
	}
	fmt.Fprintf(out, "Start to the end of a query over one row, whole process: %.0f ms wall, %.0f ms CPU, peak %.0f MiB.\n", median(fs, wall)*1000, median(fs, cpu)*1000, median(fs, peak))
	return nil
}

// manyFiles measures a scan of 5,000 compressed files of one day each, in order of event time: it may hold 64 open files and 100 MiB.
func manyFiles(out *strings.Builder) error {
	const files, rows = 5000, 200
	dir := path("days")
	if _, err := os.Stat(dir); err != nil {
		if err := os.MkdirAll(dir+".new", 0o755); err != nil {
			return err
		}
		day := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range files {
			f, err := os.Create(filepath.Join(dir+".new", fmt.Sprintf("d%04d.json.gz", i*7%files))) // names in another order than days
			if err != nil {
				return err
			}
			z := gzip.NewWriter(f)
			for r := range rows {
				fmt.Fprintf(z, "{\"k\":%d,\"ts\":\"%s\"}\n", r%5, day.Add(time.Duration(i*24*60+7*r)*time.Minute).Format("2006-01-02 15:04:05.000"))
			}
			if err := z.Close(); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		if err := os.Rename(dir+".new", dir); err != nil {
			return err
		}
	}
	script := fmt.Sprintf("CREATE TABLE e (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' HOUR) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json'); "+
		"SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY window_start, window_end", dir)
	// 64 files beside standard input, output, error, and what the runtime keeps open.
	cmd := exec.Command("sh", "-c", "ulimit -n 72; exec \"$@\"", "sh", path("weir"), "--quiet", "--format", "csv", "--no-header", "-c", script)
	cmd.Stderr = os.Stderr
	began := time.Now()
	got, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("weir over %d files: %w", files, err)
	}
	if n := strings.Count(string(got), fmt.Sprintf(",%d\n", rows)); n != files {
		return fmt.Errorf("weir over %d files: %d days with %d rows", files, n, rows)
	}
	fmt.Fprintf(out, "\n%d gzip files of one day each, named in another order, under a limit of 72 open files: %.1f s wall, peak %.0f MiB.\n", files, time.Since(began).Seconds(), maxRSS(cmd.ProcessState))
	return nil
}
