package colbuf

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestInt(t *testing.T) {
	for _, c := range []struct {
		text string
		v    int64
		n    int
	}{
		{"", 0, 0}, {"-", 0, 0}, {"x", 0, 0}, {"+1", 0, 0}, {" 1", 0, 0}, {",1234567", 0, 0}, {"\xff1234567", 0, 0}, {"/1234567", 0, 0}, {":1234567", 0, 0},
		{"7", 7, 1}, {"7,", 7, 1}, {"7,......", 7, 1}, {"-7,.....", -7, 2}, {"0000007,", 7, 7}, {"1234567,", 1234567, 7}, {"12345678", 12345678, 8},
		{"12345678,", 12345678, 8}, {"99999999", 99999999, 8}, {"123456789,", 123456789, 9}, {"1\xff\xff\xff\xff\xff\xff\xff", 1, 1},
		{"999999999999999999", 999999999999999999, 18}, {"-999999999999999999", -999999999999999999, 19}, {"1000000000000000000", 0, 0},
		{"--1", 0, 0}, {"1-2345678", 1, 1}, {"12a45678", 12, 2},
	} {
		if v, n := Int([]byte(c.text)); v != c.v || n != c.n {
			t.Errorf("%q: %d of %d bytes, want %d of %d", c.text, v, n, c.v, c.n)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		want := r.Int64N(1_000_000_000_000_000_000) >> r.IntN(60)
		if r.IntN(2) == 0 {
			want = -want
		}
		text := strconv.FormatInt(want, 10)
		for _, tail := range []string{"", ",", ",12345678", "\n-1,2,3,4"} {
			if v, n := Int([]byte(text + tail)); v != want || n != len(text) {
				t.Fatalf("%q: %d of %d bytes", text+tail, v, n)
			}
		}
	}
}
