package filesystem

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Decompressors are kept: their windows are large beside a small file, and a scan of thousands of files opens each of them twice.
var gzipReaders, zstdReaders sync.Pool

func openGzip(r io.Reader) (*gzip.Reader, error) {
	if z, ok := gzipReaders.Get().(*gzip.Reader); ok {
		return z, z.Reset(r)
	}
	return gzip.NewReader(r)
}

func openZstd(r io.Reader) (*zstd.Decoder, error) {
	if z, ok := zstdReaders.Get().(*zstd.Decoder); ok {
		return z, z.Reset(r)
	}
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(512<<20), zstd.WithDecoderLowmem(true))
}
