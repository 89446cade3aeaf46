package optest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/exchange"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

var rewrite = flag.Bool("optest.rewrite", false, "write the expectations of operator scripts anew")

// Operator says how a script drives an operator, or a chain of them.
type Operator struct {
	// New makes the operators of the chain, first to last.
	New func() []exec.Operator
	// Inputs are the columns of each input; Output those that come out (a last schema of nil is not allowed: output is printed by it).
	Inputs []types.Schema
	Output types.Schema
	// Time is the event time column of input 0, -1 for none; it decides when Before may be left out.
	Time int
	// Exact asks for Before on every batch and prints the Before of results.
	Exact bool
	// Before asks for Before on every batch.
	Before bool
	// Keys are the columns of input 0 by which rows may be spread over three partitions; nil: the operator runs in one.
	Keys []int
	// Zone is the session zone; nil is UTC.
	Zone *time.Location
	// Unordered says that with several batches the order of rows may differ (nothing that is shipped needs it).
	Unordered bool
}

// Run runs every script of a file under all variants.
func Run(t *testing.T, file string, operators map[string]Operator) {
	scripts, err := ReadScripts(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[*Script][]string{}
	for _, s := range scripts {
		t.Run(s.Name, func(t *testing.T) {
			o, ok := operators[s.Operator]
			if !ok {
				t.Fatalf("%s:%d: no operator %q", s.File, s.Line, s.Operator)
			}
			h := &harness{o: o, s: s}
			if err := h.parse(); err != nil {
				t.Fatal(err)
			}
			want := s.want
			for i, v := range variants(&o, s) {
				out := h.run(t, v)
				if i == 0 {
					got[s] = out
					if *rewrite {
						want = out
					}
				}
				if v.partitions > 1 || v.to > 0 {
					out, want := sorted(out), sorted(want)
					if !slices.Equal(out, want) {
						t.Fatalf("%s:%d %s\ngot (sorted)\n%s\nwant\n%s", s.File, s.Line, v, lines(out), lines(want))
					}
					continue
				}
				if !slices.Equal(out, want) {
					t.Fatalf("%s:%d %s\ngot\n%s\nwant\n%s", s.File, s.Line, v, lines(out), lines(want))
				}
			}
		})
	}
	if *rewrite && !t.Failed() {
		if err := Rewrite(file, scripts, got); err != nil {
			t.Fatal(err)
		}
	}
}

func lines(l []string) string { return "\t" + strings.Join(l, "\n\t") }

func sorted(l []string) []string {
	l = slices.Clone(l)
	sort.Strings(l)
	return l
}

// variant is one way to run a script.
type variant struct {
	batch      int  // rows of a batch, 0: all
	embed      bool // records are slices of larger ones, with rows in between that are not selected
	always     bool // Before on every batch
	twice      bool // every watermark comes twice
	restoreAt  int  // snapshot and restore before this event; -1 never, -2 before every one
	partitions int
	to         int // partitions behind restoreAt, 0: as before
	results    int // Env.BatchRows
}

func (v variant) String() string {
	return fmt.Sprintf("with batches of %d, embedded %t, Before always %t, watermarks twice %t, restore at %d, %d partitions (then %d, 0: the same), result batches of %d",
		v.batch, v.embed, v.always, v.twice, v.restoreAt, v.partitions, v.to, v.results)
}

func variants(o *Operator, s *Script) []variant {
	base := variant{batch: 1, restoreAt: -1, partitions: 1, results: 1024}
	var all []variant
	for _, batch := range []int{1, 2, 3, 0} {
		for _, embed := range []bool{false, true} {
			for _, always := range []bool{true, false} {
				v := base
				v.batch, v.embed, v.always = batch, embed, always
				all = append(all, v)
			}
		}
	}
	v := base
	v.twice = true
	all = append(all, v)
	v = base
	v.results = 1
	all = append(all, v)
	v.batch = 0
	all = append(all, v)
	for _, batch := range []int{1, 0} {
		for at := -2; at <= len(s.events); at++ {
			if at == -1 {
				continue
			}
			v := base
			v.batch, v.restoreAt = batch, at
			all = append(all, v)
		}
	}
	if o.Keys != nil {
		for _, batch := range []int{1, 0} {
			v := base
			v.batch, v.partitions = batch, 3
			all = append(all, v)
			v.restoreAt = -2
			all = append(all, v)
			for at := range len(s.events) + 1 {
				if s.inPair(at) || batch != 1 && at != len(s.events)/2 {
					continue
				}
				v.restoreAt = at
				for _, fromTo := range [][2]int{{3, 1}, {3, 2}, {1, 3}} {
					v.partitions, v.to = fromTo[0], fromTo[1]
					all = append(all, v)
				}
			}
		}
	}
	return all
}

// inPair reports whether event i is the second row of an update.
func (s *Script) inPair(i int) bool {
	return i > 0 && i < len(s.events) && s.events[i].row != nil && s.events[i].kind == stream.UpdateAfter && s.events[i-1].kind == stream.UpdateBefore
}

// harness runs one script.
type harness struct {
	o    Operator
	s    *Script
	rows [][]any // parsed cells of each row event
	wms  []stream.Time
	at   map[int][]int // the partition of each event, by the number of partitions
}

func (h *harness) parse() error {
	if h.o.Zone == nil {
		h.o.Zone = time.UTC
	}
	tt := types.TimestampOf(6)
	if h.o.Time >= 0 {
		tt = h.o.Inputs[0][h.o.Time].Type
	}
	h.rows, h.wms = make([][]any, len(h.s.events)), make([]stream.Time, len(h.s.events))
	for i, e := range h.s.events {
		var err error
		switch {
		case e.watermark != "":
			h.wms[i], err = parseTime(e.watermark, tt, h.o.Zone)
		case e.row != nil:
			schema := h.o.Inputs[e.input]
			if len(e.row) != len(schema) {
				return fmt.Errorf("%s: row %q has %d cells, want %d", h.s.Name, e.text, len(e.row), len(schema))
			}
			for c, text := range e.row {
				var v any
				if v, err = value(text, e.quoted[c], schema[c].Type, h.o.Zone); err != nil {
					break
				}
				h.rows[i] = append(h.rows[i], v)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %q: %w", h.s.Name, e.text, err)
		}
	}
	if h.o.Keys != nil {
		h.at = map[int][]int{}
		for _, n := range []int{2, 3} {
			if err := h.places(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// run gives the lines that come out under a variant.
func (h *harness) run(t *testing.T, v variant) []string {
	checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer checked.AssertSize(t, 0)
	var out, late []string
	total := map[string]int64{}
	errText := ""
	copies := func(n int) []*part {
		parts := make([]*part, n)
		for i := range parts {
			parts[i] = &part{h: h, v: v, n: i, of: n, mem: Poison{checked}, clock: &virtual{now: time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)}, out: &out, late: &late,
				metrics: map[int]*exec.Metrics{}, wm: stream.MinTime, told: stream.MinTime}
		}
		return parts
	}
	parts := copies(v.partitions)
	var all []*part
	done := func() {
		for _, p := range all {
			p.close(t)
		}
	}
	defer func() { done() }()
	each := func(f func(p *part) error) {
		for _, p := range parts {
			if err := f(p); err != nil && !errors.Is(err, exec.ErrEnough) {
				errText = err.Error()
			}
		}
	}
	all = append(all, parts...)
	each(func(p *part) error { return p.open(nil) })
	from := 0
	if v.to > 0 {
		from = v.restoreAt
		each(func(p *part) error { return p.drive(0, from) })
		news := copies(v.to)
		all = append(all, news...)
		if errText == "" {
			if err := rescale(parts, news, checked); err != nil {
				t.Fatalf("%s: %v", v, err)
			}
			parts = news
		}
	}
	each(func(p *part) error {
		if errText != "" && v.to > 0 { // it fails in whatever number of copies
			return nil
		}
		return p.drive(from, len(h.s.events))
	})
	each(func(p *part) error {
		if p.failed || errText != "" && v.to > 0 {
			return nil
		}
		return p.finish()
	})
	for _, p := range all {
		for _, m := range p.metrics {
			m.Each(func(name string, n int64) { total[name] += n })
		}
	}
	out = append(out, late...)
	var names []string
	for n, c := range total {
		if c != 0 {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	for _, n := range names {
		out = append(out, fmt.Sprintf("count %s %d", n, total[n]))
	}
	if errText != "" {
		out = append(out, "error "+errText)
	}
	return out
}

// part is one partition of a run.
type part struct {
	h       *harness
	v       variant
	n, of   int
	failed  bool
	mem     memory.Allocator
	clock   *virtual
	out     *[]string
	late    *[]string // of side outputs, which have no order relative to the results
	metrics map[int]*exec.Metrics
	budget  *exec.Budget

	ops     []exec.Operator
	outs    []exec.Output
	timers  map[int][]time.Time
	pending []pendingRow
	wm      stream.Time // of the script
	told    stream.Time // to the operator
}

type pendingRow struct {
	event  int
	before stream.Time
}

// rescale goes on in news, another number of partitions, where olds stand.
func rescale(olds, news []*part, mem memory.Allocator) error {
	tables := make([][]*state.Tables, len(olds[0].ops))
	timers := map[int][]time.Time{}
	for _, p := range olds {
		ts, err := p.snapshot()
		for i, t := range ts {
			defer t.Release()
			tables[i] = append(tables[i], t)
		}
		if err != nil {
			return err
		}
		for i, at := range p.timers {
			timers[i] = append(timers[i], at...)
		}
	}
	from := make([][]*state.Tables, len(news))
	for _, ts := range tables {
		spread, err := exchange.Redistribute(mem, ts, len(news))
		if err != nil {
			return err
		}
		for i, t := range spread {
			defer t.Release()
			from[i] = append(from[i], t)
		}
	}
	for i, p := range news {
		p.clock.now, p.wm, p.told, p.timers = olds[0].clock.now, olds[0].wm, olds[0].told, timers
		if err := p.open(from[i]); err != nil {
			return err
		}
	}
	return nil
}

// drive gives the operator events [from, to).
func (p *part) drive(from, to int) (err error) {
	defer func() { p.failed = err != nil }()
	for i, e := range p.h.s.events[:to] {
		if i < from {
			continue
		}
		if p.v.to == 0 && (p.v.restoreAt == i || p.v.restoreAt == -2) && !p.h.s.inPair(i) {
			if err := p.restore(); err != nil {
				return err
			}
		}
		switch {
		case e.watermark != "":
			p.wm = max(p.wm, p.h.wms[i])
			if p.v.batch == 1 {
				if err := p.flush(); err != nil {
					return err
				}
			}
			if len(p.pending) == 0 {
				if err := p.tell(); err != nil {
					return err
				}
			}
		case e.advance > 0:
			if err := p.flush(); err != nil {
				return err
			}
			if err := p.advance(e.advance); err != nil {
				return err
			}
		default:
			if !p.mine(i) {
				continue
			}
			if n := len(p.pending); n > 0 {
				last := p.h.s.events[p.pending[n-1].event]
				full := p.v.batch > 0 && n >= p.v.batch && !(last.kind == stream.UpdateBefore && e.kind == stream.UpdateAfter)
				if full || last.input != e.input {
					if err := p.flush(); err != nil {
						return err
					}
				}
			}
			p.pending = append(p.pending, pendingRow{i, p.wm})
		}
	}
	if p.v.to == 0 && p.v.restoreAt == len(p.h.s.events) {
		return p.restore()
	}
	return nil
}

// finish ends the input.
func (p *part) finish() error {
	ctx := context.Background()
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.tell(); err != nil {
		return err
	}
	for i := range p.h.o.Inputs {
		if err := p.ops[0].EndInput(ctx, i, p.outs[0]); err != nil {
			return err
		}
	}
	if err := p.ops[0].ProcessWatermark(ctx, stream.MaxTime, p.outs[0]); err != nil {
		return err
	}
	for i := range p.ops {
		if i > 0 {
			if err := p.ops[i].EndInput(ctx, 0, p.outs[i]); err != nil {
				return err
			}
		}
		if err := p.ops[i].Finish(ctx, p.outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// mine reports whether a row belongs to the partition.
func (p *part) mine(i int) bool { return p.of == 1 || p.h.at[p.of][i] == p.n }

// places says in which of n partitions each event is, by the hash of an exchange.
func (h *harness) places(n int) error {
	rb := array.NewRecordBuilder(memory.NewGoAllocator(), h.o.Inputs[0].Arrow())
	defer rb.Release()
	var events []int
	for i, row := range h.rows {
		if row == nil || h.s.events[i].input != 0 {
			continue
		}
		events = append(events, i)
		for c, v := range row {
			if err := types.Append(rb.Field(c), v, h.o.Inputs[0][c].Type); err != nil {
				return err
			}
		}
	}
	parts, err := exchange.NewPartitioner(h.o.Keys, n).Partition(stream.Batch{Record: rb.NewRecordBatch()})
	if err != nil {
		return err
	}
	h.at[n] = make([]int, len(h.rows))
	for p, b := range parts {
		for i := range b.Len() {
			h.at[n][events[b.Row(i)]] = p
		}
		b.Release()
	}
	return nil
}

func (p *part) open(from []*state.Tables) error {
	p.ops = p.h.o.New()
	p.outs = make([]exec.Output, len(p.ops))
	p.budget = exec.NewBudget(0)
	var out exec.Output = &collector{p}
	for i := len(p.ops) - 1; i >= 0; i-- {
		var schema *arrow.Schema
		if i == len(p.ops)-1 {
			schema = p.h.o.Output.Arrow()
		}
		p.ops[i] = Check(p.ops[i], fmt.Sprintf("operator %d", i), schema)
		p.outs[i] = out
		out = &next{p: p, i: i}
	}
	restored := p.timers
	p.timers = map[int][]time.Time{}
	for i, op := range p.ops {
		if p.metrics[i] == nil {
			p.metrics[i] = &exec.Metrics{}
		}
		env := &exec.Env{ID: fmt.Sprint(i), Name: fmt.Sprintf("operator %d", i), Partition: p.n, Partitions: p.of, Allocator: p.mem, Clock: p.clock,
			Zone: p.h.o.Zone, BatchRows: p.v.results, Bytes: exec.NewAccount(fmt.Sprint(i), p.budget), Metrics: p.metrics[i],
			Timer: func(at time.Time) { p.timers[i] = append(p.timers[i], at) }}
		var r exec.StateReader
		if from != nil {
			r = from[i]
			p.timers[i] = append(p.timers[i], restored[i]...)
		}
		if err := op.Open(context.Background(), env, r); err != nil {
			return err
		}
	}
	return nil
}

// snapshot takes the state of the operators behind all that waits.
func (p *part) snapshot() (tables []*state.Tables, err error) {
	if err := p.flush(); err != nil {
		return nil, err
	}
	if err := p.tell(); err != nil {
		return nil, err
	}
	for _, op := range p.ops {
		t := &state.Tables{}
		tables = append(tables, t)
		if err := op.Snapshot(context.Background(), t.Writer()); err != nil {
			return tables, err
		}
	}
	return tables, nil
}

func (p *part) restore() error {
	tables, err := p.snapshot()
	for _, t := range tables {
		defer t.Release()
	}
	if err != nil {
		return err
	}
	for _, op := range p.ops {
		if err := op.Close(); err != nil {
			return err
		}
	}
	if used := p.budget.Used(); used != 0 {
		return fmt.Errorf("%d bytes are still accounted after Close", used)
	}
	return p.open(tables)
}

func (p *part) close(t *testing.T) {
	for _, op := range p.ops {
		if err := op.Close(); err != nil {
			t.Error(err)
		}
	}
	if used := p.budget.Used(); used != 0 {
		t.Errorf("%s: %d bytes are still accounted after Close", p.v, used)
	}
}

// tell hands on the script's watermark.
func (p *part) tell() error {
	if p.wm == stream.MinTime || p.wm == p.told && !p.v.twice {
		return nil
	}
	p.told = p.wm
	for range 1 + map[bool]int{true: 1}[p.v.twice] {
		if err := p.ops[0].ProcessWatermark(context.Background(), p.wm, p.outs[0]); err != nil {
			return err
		}
	}
	return nil
}

// flush hands on the rows that wait, as one batch, and the watermark behind them.
func (p *part) flush() error {
	if len(p.pending) == 0 {
		return nil
	}
	rows := p.pending
	p.pending = nil
	b, err := p.batch(rows)
	if err != nil {
		return err
	}
	if err := p.ops[0].ProcessBatch(context.Background(), p.h.s.events[rows[0].event].input, b, p.outs[0]); err != nil {
		return err
	}
	return p.tell()
}

func (p *part) batch(rows []pendingRow) (stream.Batch, error) {
	schema := p.h.o.Inputs[p.h.s.events[rows[0].event].input]
	rb := array.NewRecordBuilder(p.mem, schema.Arrow())
	defer rb.Release()
	var b stream.Batch
	plain, late := true, false
	add := func(r pendingRow, selected bool) error {
		e := p.h.s.events[r.event]
		for c, v := range p.h.rows[r.event] {
			if err := types.Append(rb.Field(c), v, schema[c].Type); err != nil {
				return err
			}
		}
		if p.v.embed && selected {
			b.Selection = append(b.Selection, int32(len(b.Kinds)))
		}
		b.Kinds, b.Before = append(b.Kinds, e.kind), append(b.Before, r.before)
		b.Seq = append(b.Seq, stream.SeqOf(int64(r.event/8))+int64(r.event%8)) // as if eight were made of one
		plain = plain && e.kind == stream.Insert
		if t := p.h.o.Time; t >= 0 && p.h.rows[r.event][t] != nil {
			late = late || stream.Time(p.h.rows[r.event][t].(types.TimestampVal)) <= p.wm
		} else {
			late = late || t < 0
		}
		return nil
	}
	for i, r := range rows {
		if p.v.embed && (i == 0 || p.h.s.events[r.event].kind != stream.UpdateAfter) {
			if err := add(r, false); err != nil { // a row that is not selected
				return b, err
			}
		}
		if err := add(r, true); err != nil {
			return b, err
		}
	}
	if plain {
		b.Kinds = nil
	}
	if !p.v.always && !late && !p.h.o.Exact && !p.h.o.Before {
		b.Before = nil
	}
	b.Record = rb.NewRecordBatch()
	if p.v.embed { // cut off the first row, which is not selected
		n := int(b.Record.NumRows())
		s := b
		s.Selection = nil
		cut := s.Slice(1, n)
		b.Record.Release()
		for _, r := range b.Selection {
			cut.Selection = append(cut.Selection, r-1)
		}
		b = cut
	}
	return b, nil
}

// advance moves the clock from due time to due time.
func (p *part) advance(d time.Duration) error {
	end := p.clock.now.Add(d)
	for {
		op, at := -1, time.Time{}
		for i := range p.ops {
			for _, t := range p.timers[i] {
				if !t.After(end) && (op < 0 || t.Before(at)) {
					op, at = i, t
				}
			}
		}
		if op < 0 {
			break
		}
		p.timers[op] = slices.DeleteFunc(p.timers[op], func(t time.Time) bool { return t.Equal(at) })
		if at.After(p.clock.now) {
			p.clock.now = at
		}
		if err := p.ops[op].ProcessTimer(context.Background(), at, p.outs[op]); err != nil {
			return err
		}
	}
	p.clock.now = end
	return nil
}

type virtual struct{ now time.Time }

func (v *virtual) Now() time.Time { return v.now }
