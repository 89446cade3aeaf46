package csv

import (
	"bytes"
	"context"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/biddata"
)

func BenchmarkDecode(b *testing.B) {
	mem := &biddata.Pool{}
	const rows = 7000 // about 1 MiB
	data := biddata.Lines(rows, 1, false)
	for _, bc := range []struct {
		name   string
		wanted []int
	}{{"7columns", []int{0, 1, 2, 3, 4, 5, 6}}, {"3columns", []int{0, 2, 5}}} {
		b.Run(bc.name, func(b *testing.B) {
			d, err := Format{}.Decoder(connectors.FormatConfig{Columns: biddata.Schema(), Wanted: bc.wanted})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				dec, err := d.Decode(context.Background(), data, connectors.RecordPosition{Line: 1}, mem)
				if err != nil || dec.Batch.Len() != rows {
					b.Fatal(err, dec.Batch.Len())
				}
				dec.Batch.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

// BenchmarkQuoted decodes the same rows with every cell in quotes.
func BenchmarkQuoted(b *testing.B) {
	mem := &biddata.Pool{}
	const rows = 7000
	var data []byte
	for line := range bytes.Lines(biddata.Lines(rows, 1, false)) {
		data = append(append(append(data, '"'), bytes.ReplaceAll(bytes.TrimSuffix(line, newline), []byte(","), []byte(`","`))...), "\"\n"...)
	}
	d, err := Format{}.Decoder(connectors.FormatConfig{Columns: biddata.Schema(), Wanted: []int{0, 1, 2, 3, 4, 5, 6}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if n, lines := d.Boundary(data, false); n != len(data) || lines != rows {
			b.Fatal(n, lines)
		}
		dec, err := d.Decode(context.Background(), data, connectors.RecordPosition{Line: 1}, mem)
		if err != nil || dec.Batch.Len() != rows {
			b.Fatal(err, dec.Batch.Len())
		}
		dec.Batch.Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
