// Command gen writes the event file of the examples: go run ./examples/gen > examples/data/rides.json
//
// The events are the ends of bike rides in one city on one morning, as a message bus would deliver them: nearly in the order of time, every 64th of
// them late by minutes (a bike without network reports later). The same seed gives the same bytes on every machine.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sort"
	"time"
)

var stations = []string{"Harbour", "Central Station", "Old Town", "University", "Museum Park", "Riverside", "Market Square", "Stadium"}

// ride is one event. arrival is when it reaches the file, in milliseconds since the first; it is not written.
type ride struct {
	arrival int64
	line    string
}

func main() {
	rides := flag.Int("rides", 3000, "number of rides")
	seed := flag.Uint64("seed", 1, "seed of the random numbers")
	flag.Parse()
	if err := write(os.Stdout, *rides, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes n rides of two hours, one JSON object a line.
func write(w io.Writer, n int, seed uint64) error {
	start := time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(seed, 0))
	events := make([]ride, n)
	const span = int64(2 * time.Hour / time.Millisecond)
	for i := range events {
		end := span*int64(i)/int64(n) + random.Int64N(span/int64(n))
		delay := random.Int64N(4000) // within the watermark's 5 seconds
		if i%64 == 63 {
			delay = 60_000 + random.Int64N(15*60_000)
		}
		minutes := 3 + random.IntN(40)
		events[i] = ride{arrival: end + delay, line: fmt.Sprintf(
			`{"ride_id":%d,"bike":%d,"station":%q,"minutes":%d,"price":%d.%02d,"ended_at":"%s"}`,
			i+1, 100+random.IntN(400), stations[min(random.IntN(len(stations)), random.IntN(len(stations)))], minutes,
			1+minutes*15/100, minutes*15%100, start.Add(time.Duration(end)*time.Millisecond).Format("2006-01-02 15:04:05.000"))}
	}
	sort.SliceStable(events, func(i, j int) bool { return events[i].arrival < events[j].arrival })
	out := bufio.NewWriter(w)
	for _, e := range events {
		fmt.Fprintln(out, e.line)
	}
	return out.Flush()
}
