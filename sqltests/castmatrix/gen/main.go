// Gen writes ../matrix.txt: for each pair of types and some values of the first, what CAST and TRY_CAST give in a real
// Flink. Run it against a SQL Gateway of Flink 2.3 whose session zone is UTC:
//
//	go run ./sqltests/castmatrix/gen -gateway http://127.0.0.1:8083 > sqltests/castmatrix/matrix.txt
//
// Each value is asked for behind a CASE that Flink cannot fold, so the answers are those of running jobs and not of the
// planner's constant folding. With -constants the bare expressions are asked for instead.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/weir-sql/weir/sqltests/internal/flink"
)

var (
	gateway   = flag.String("gateway", "http://127.0.0.1:8083", "address of the SQL Gateway")
	workers   = flag.Int("workers", 2, "sessions at once")
	only      = flag.String("only", "", "only this source type")
	constants = flag.Bool("constants", false, "ask for bare constants instead of values known only at run time")
)

// answer is one cell: a text, NULL (nil) or an error.
type answer struct {
	text *string
	err  string // "", "error: plan" or "error: run"
}

func (a answer) String() string {
	switch {
	case a.err != "":
		return a.err
	case a.text == nil:
		return "NULL"
	}
	return strconv.Quote(*a.text)
}

func main() {
	flag.Parse()
	log.SetFlags(0)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, header)
	results := make([][]string, len(sources))
	var group sync.WaitGroup
	next := make(chan int)
	for range *workers {
		group.Add(1)
		go func() {
			defer group.Done()
			a, err := newAsker()
			if err != nil {
				log.Fatal(err)
			}
			for i := range next {
				results[i] = a.source(sources[i])
				log.Printf("%s: %d lines", sources[i].name, len(results[i]))
			}
			a.session.Close()
		}()
	}
	for i, s := range sources {
		if *only == "" || *only == s.name {
			next <- i
		}
	}
	close(next)
	group.Wait()
	for _, lines := range results {
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
	}
}

type asker struct{ session *flink.Session }

func newAsker() (*asker, error) {
	s, err := flink.Open(*gateway, map[string]string{"execution.runtime-mode": "batch", "table.local-time-zone": "UTC"})
	return &asker{s}, err
}

// source gives the lines of one source type. A pair of types that Flink refuses when it plans has one line, with the
// first value; the refusal does not depend on the value.
func (a *asker) source(s source) []string {
	typed := "CAST(NULL AS " + s.name + ")"
	var lines []string
	planned := make([][2]bool, len(targets))
	for i, t := range targets {
		for k, cast := range []string{"CAST", "TRY_CAST"} {
			ok, err := a.session.Plans("SELECT " + outer(cast, s.values[0], t))
			if err != nil {
				log.Fatal(err)
			}
			planned[i][k] = ok
		}
	}
	for v, value := range s.values {
		var cells [2][]answer
		var tryAsk, castAsk []int
		for i := range targets {
			if planned[i][1] {
				tryAsk = append(tryAsk, i)
			}
		}
		cells[1] = a.ask("TRY_CAST", value, tryAsk)
		var alone []int
		for i := range targets {
			switch {
			case !planned[i][0]:
			case cells[1][i].text != nil || value == typed:
				castAsk = append(castAsk, i)
			default: // a NULL of TRY_CAST: CAST most likely fails
				alone = append(alone, i)
			}
		}
		cells[0] = a.ask("CAST", value, castAsk)
		for _, i := range alone {
			cells[0][i] = a.ask("CAST", value, []int{i})[i]
		}
		for i, t := range targets {
			for k := range cells {
				if !planned[i][k] {
					cells[k][i] = answer{err: "error: plan"}
				}
			}
			if v > 0 && !planned[i][0] && !planned[i][1] {
				continue
			}
			lines = append(lines, strings.Join([]string{value, s.name, t, cells[0][i].String(), cells[1][i].String()}, "\t"))
		}
	}
	return lines
}

// outer is the expression whose printed value is recorded. Guards keep Flink from folding the value and from merging the
// casts (both have defects of their own: a folded FLOAT NaN is an error, CAST(CAST(f AS VARCHAR(5)) AS STRING) cuts nothing).
func outer(cast, value, target string) string {
	if !*constants {
		if inner, ok := strings.CutPrefix(value, "CAST("); ok && !strings.HasPrefix(inner, "NULL ") {
			at := strings.LastIndex(inner, " AS ")
			value = "CAST(" + guard(inner[:at]) + inner[at:]
		}
		value = guard(value)
	}
	return cast + "(" + value + " AS " + target + ")"
}

// guard is the value behind a condition that is always true but no constant.
func guard(value string) string { return "CASE WHEN RAND() >= 0 THEN " + value + " END" }

// ask casts the value to the given targets, in one query where that works, else in halves.
func (a *asker) ask(cast, value string, which []int) []answer {
	cells := make([]answer, len(targets))
	if len(which) == 0 {
		return cells
	}
	var list []string
	for _, i := range which {
		list = append(list, outer(cast, value, targets[i]))
	}
	query := "SELECT " + strings.Join(list, ", ")
	result, err := a.session.Run(query)
	var refused *flink.Error
	switch {
	case err == nil && len(result.Rows) == 1:
		for j, i := range which {
			cells[i].text = result.Rows[0][j]
		}
	case err == nil:
		log.Fatalf("%s: %d rows", query, len(result.Rows))
	case !errors.As(err, &refused):
		log.Fatal(err)
	case len(which) == 1:
		ok, err := a.session.Plans(query)
		if err != nil {
			log.Fatal(err)
		}
		cells[which[0]].err = "error: run"
		if !ok {
			cells[which[0]].err = "error: plan"
			log.Printf("%s: refused, though the pair of types is not", query)
		}
	default:
		half := len(which) / 2
		for _, part := range [][]int{which[:half], which[half:]} {
			got := a.ask(cast, value, part)
			for _, i := range part {
				cells[i] = got[i]
			}
		}
	}
	return cells
}
