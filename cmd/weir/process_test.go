//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// process is the command in a process of its own.
type process struct {
	*exec.Cmd
	t      *testing.T
	out    *bufio.Reader
	pipe   io.Closer
	errOut watched
}

// watched is a buffer that tells when it has a text.
type watched struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	text  string
	found chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(b)
	w.look()
	return len(b), nil
}

func (w *watched) look() {
	if w.found != nil && strings.Contains(w.buf.String(), w.text) {
		close(w.found)
		w.found = nil
	}
}

// has returns a channel that is closed when the buffer has a text.
func (w *watched) has(text string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := make(chan struct{})
	w.text, w.found = text, found
	w.look()
	return found
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(exe, args...), t: t}
	p.Env = append(os.Environ(), "WEIR_TEST_MAIN=1")
	p.Stderr = &p.errOut
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out, p.pipe = bufio.NewReader(out), out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	t.Cleanup(func() { timer.Stop(); _ = p.Process.Kill() })
	return p
}

// line reads a line of standard output.
func (p *process) line() string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v; stderr: %s", err, p.errOut.String())
	}
	return s
}

// told waits until standard error has a text, or for patience, and returns what is there.
func (p *process) told(text string) string {
	select {
	case <-p.errOut.has(text):
	case <-time.After(patience):
	}
	return p.errOut.String()
}

// wait returns the exit status, and the rest of what was printed.
func (p *process) wait() (int, string) {
	rest, _ := io.ReadAll(p.out)
	_ = p.Wait()
	return p.ProcessState.ExitCode(), string(rest)
}

const endless = "CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', 'fields.id.kind' = 'random'); CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole'); "

func TestInterruptOnce(t *testing.T) {
	for _, c := range []struct{ name, sql, summary string }{
		{"select", endless + "SELECT id FROM e; SELECT 'behind'", "stopped: "},
		{"insert that is waited for", endless + "CREATE TABLE p (id BIGINT) WITH ('connector' = 'print'); SET 'table.dml-sync' = 'true'; INSERT INTO p SELECT id FROM e; SELECT 'behind'", "stopped: "},
		{"insert that runs beside", endless + "INSERT INTO n SELECT id FROM e; SELECT 1", "insert-into_default_catalog.default_database.n: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, "-c", c.sql, "--format", "jsonl")
			p.line()
			_ = p.Process.Signal(os.Interrupt)
			status, rest := p.wait()
			if status != 130 || !strings.Contains(p.errOut.String(), c.summary) || strings.Contains(rest, "behind") {
				t.Errorf("status %d, rest %q, stderr %s", status, rest, p.errOut.String())
			}
			if rest != "" && !strings.HasSuffix(rest, "\n") {
				t.Errorf("the last row is cut: %q", rest[max(len(rest)-100, 0):])
			}
		})
	}
}

// TestInterruptTwice has a query that cannot stop in order, since nobody reads its result.
func TestInterruptTwice(t *testing.T) {
	p := start(t, "-c", strings.Replace(endless, "1000", "1", 1)+"SELECT REPEAT('x', 4000000) AS x FROM e", "--format", "csv")
	p.line()
	if _, err := p.out.Peek(1); err != nil { // of a row that no pipe holds
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = p.Wait(); close(done) }()
	// Two signals may become one while the first is pending: send them until the process has ended.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended; {
		_ = p.Process.Signal(os.Interrupt)
		select {
		case <-done:
			ended = true
		case <-tick.C:
		}
	}
	if status := p.ProcessState.ExitCode(); status != 130 || !strings.Contains(p.errOut.String(), "stopped at once") {
		t.Errorf("status %d, stderr %s", status, p.errOut.String())
	}
}

func TestClosedPipe(t *testing.T) {
	for _, format := range []string{"table", "csv", "json", "jsonl", "vertical"} {
		p := start(t, "-c", endless+"SELECT id FROM e", "--format", format)
		p.line()
		p.pipe.Close()
		_ = p.Wait()
		if status := p.ProcessState.ExitCode(); status != 0 || strings.Contains(p.errOut.String(), "goroutine") || strings.Contains(p.errOut.String(), "error") {
			t.Errorf("%s: status %d, stderr %s", format, status, p.errOut.String())
		}
	}
}

func TestStatusSignal(t *testing.T) {
	p := start(t, "-c", endless+"SELECT id FROM e", "--format", "csv")
	p.line()
	p.line() // a row
	go func() { _, _ = io.Copy(io.Discard, p.out) }()
	_ = p.Process.Signal(syscall.SIGUSR1)
	const line = "| 1      | default_catalog.default_database.e | "
	p.told(line)
	_ = p.Process.Signal(os.Interrupt)
	_ = p.Wait()
	for _, want := range []string{"| job id | table ", "| holds the minimum |", line} {
		if !strings.Contains(p.errOut.String(), want) {
			t.Errorf("stderr %s does not have %q", p.errOut.String(), want)
		}
	}
}

// TestMetrics: a running query is seen at --metrics; an address that is in use is an error before anything runs; nothing listens at the end.
func TestMetrics(t *testing.T) {
	p := start(t, "-c", endless+"SELECT id FROM e", "--format", "csv", "--metrics", "127.0.0.1:0")
	p.line()
	p.line() // a row
	go func() { _, _ = io.Copy(io.Discard, p.out) }()
	_, rest, _ := strings.Cut(p.told("/metrics\n"), "metrics at http://") // its pipe is another than that of the rows: they may be seen first
	addr, _, _ := strings.Cut(rest, "/metrics")
	get := func(path string) string {
		t.Helper()
		res, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
	if got := get("/metrics"); !strings.Contains(got, "weir_query_info{name=\"collect\",query=\"1\"} 1\n") || !strings.Contains(got, "weir_table_rows_total{") {
		t.Errorf("/metrics: %s", got)
	}
	if got := get("/watermarks"); !strings.Contains(got, "default_catalog.default_database.e") {
		t.Errorf("/watermarks: %s", got)
	}
	second := start(t, "-c", "SELECT 1", "--metrics", addr)
	status, printed := second.wait()
	if status != 2 || printed != "" || !strings.Contains(second.errOut.String(), "--metrics "+addr+": ") || !strings.Contains(second.errOut.String(), "address already in use") {
		t.Errorf("status %d, out %q, stderr %s", status, printed, second.errOut.String())
	}
	_ = p.Process.Signal(os.Interrupt)
	_ = p.Wait()
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("something still listens")
	}
}

// TestTerminal: on a terminal there is a progress line, and tables fit.
func TestTerminal(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-c", strings.Replace(endless, "1000", "10", 1)+"INSERT INTO n SELECT id FROM e; SELECT '"+strings.Repeat("x", 50)+"' AS a, '"+strings.Repeat("y", 50)+"' AS b")
	cmd.Env = append(os.Environ(), "WEIR_TEST_MAIN=1")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var seen strings.Builder
	buf := make([]byte, 4096)
	stopped := false
	for {
		n, err := f.Read(buf)
		seen.Write(buf[:n])
		if !stopped && strings.Contains(seen.String(), "… |") && strings.Contains(seen.String(), " rows read, ") {
			stopped = true
			_ = cmd.Process.Signal(os.Interrupt)
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	if !stopped || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("status %d, screen:\n%s", cmd.ProcessState.ExitCode(), seen.String())
	}
	if !strings.Contains(seen.String(), "| "+strings.Repeat("x", 25)) || !strings.Contains(seen.String(), "… |") {
		t.Errorf("the table does not fit:\n%s", seen.String())
	}
	for _, l := range strings.Split(seen.String(), "\r\n") {
		if strings.HasPrefix(l, "|") && len([]rune(l)) > 60 {
			t.Errorf("a line of %d runes: %s", len([]rune(l)), l)
		}
	}
}

// firstByte counts what is written and when the first of it came.
type firstByte struct {
	began time.Time
	first time.Duration
	bytes int64
	lines int64
}

func (f *firstByte) Write(p []byte) (int, error) {
	if f.bytes == 0 {
		f.first = time.Since(f.began)
	}
	f.bytes += int64(len(p))
	f.lines += int64(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

func TestLB02HugeResults(t *testing.T) {
	if testing.Short() {
		t.Skip("5 million rows in three formats: not with -short")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	generate := func(rows int) string {
		return fmt.Sprintf(`CREATE TABLE big (id BIGINT, s STRING, d DOUBLE) WITH ('connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '%d',
			'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '%d', 'fields.s.length' = '20'); SELECT id, s, d FROM big`, rows, rows)
	}
	// peak runs a query and returns the most memory that the process had, in MiB.
	peak := func(format string, rows int) (int64, *firstByte) {
		cmd := exec.Command(exe, "-c", generate(rows), "--format", format, "--quiet", "--set", "weir.threads=2") // each has rows in hand
		cmd.Env = append(os.Environ(), "WEIR_TEST_MAIN=1")
		out := &firstByte{began: time.Now()}
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
		if runtime.GOOS == "darwin" {
			rss /= 1024 // bytes there
		}
		return rss / 1024, out
	}
	for format, extra := range map[string]int64{"table": 4, "csv": 1, "json": 2} {
		small, _ := peak(format, 100_000)
		large, out := peak(format, 5_000_000)
		t.Logf("%s: %d MiB for 5 million rows, %d MiB for 100 000; first byte after %v, all after %v", format, large, small, out.first, time.Since(out.began))
		if out.lines != 5_000_000+extra {
			t.Errorf("%s: %d lines", format, out.lines)
		}
		// 5 million rows are 250 MB of text and more.
		if large > small+100 || large > 250 {
			t.Errorf("%s: %d MiB for 5 million rows, %d MiB for 100 000: memory grows with the result", format, large, small)
		}
		if out.first > time.Since(out.began)/2 {
			t.Errorf("%s: the first rows come only after %v", format, out.first)
		}
	}
}
