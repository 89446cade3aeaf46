// Package biddata makes lines of auction bids for tests and benchmarks of the text formats: 7 columns, about 222 bytes of JSON and 150 of CSV.
package biddata

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/weir-sql/weir/types"
)

// Schema has the columns of a bid.
func Schema() types.Schema {
	return types.Schema{
		{Name: "auction", Type: types.BigIntType}, {Name: "bidder", Type: types.BigIntType}, {Name: "price", Type: types.BigIntType},
		{Name: "channel", Type: types.StringType}, {Name: "url", Type: types.StringType}, {Name: "dateTime", Type: types.TimestampOf(3)},
		{Name: "extra", Type: types.StringType},
	}
}

// Lines returns n lines of a seed.
func Lines(n int, seed uint64, json bool) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	format := "%d,%d,%d,%s,%s,%s,%s\n"
	if json {
		format = `{"auction":%d,"bidder":%d,"price":%d,"channel":"%s","url":"%s","dateTime":"%s","extra":"%s"}` + "\n"
	}
	channels := []string{"Google", "Facebook", "Baidu", "Apple"}
	var out []byte
	for i := range n {
		channel := channels[r.IntN(4)]
		if r.IntN(2) == 0 {
			channel = fmt.Sprintf("channel-%d", r.IntN(10000))
		}
		at := fmt.Sprintf("2024-05-01 %02d:%02d:%02d.%03d", i/3600000%24, i/60000%60, i/1000%60, i%1000)
		out = fmt.Appendf(out, format, 1000+r.IntN(100000), 1000+r.IntN(50000), int64(math.Pow(10, r.Float64()*6)*100), channel,
			"https://www.nexmark.com/"+word(5)+"/"+word(5)+"/item.htm?q=1", at, word(28+r.IntN(30)))
	}
	return out
}
