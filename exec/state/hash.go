// Package state has the keyed state of operators: hash tables from group keys to dense group ids, and the bytes they hold.
//
// Keys compare as SQL groups do: NULL equals NULL, -0.0 equals 0.0, all NaN are one value.
package state

import (
	"encoding/binary"
	"math/bits"
)

// HashVersion names the hash function, its seed and the encoding of keys. It is part of every snapshot: a table is rebuilt from its keys when it is
// restored, so that only what was partitioned by hash depends on it.
const HashVersion = 1

const (
	seed0 = 0x9E3779B97F4A7C15
	seed1 = 0xD1B54A32D192ED03
	seed2 = 0xA0761D6478BD642F
	seed3 = 0xE7037ED1A0B428DB
)

// hashWord mixes one word; all bits of the result are good.
func hashWord(a uint64) uint64 {
	hi, lo := bits.Mul64(a^seed1, seed0)
	return hi ^ lo
}

// hashPair mixes two words.
func hashPair(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^seed0, b^seed1)
	hi, lo = bits.Mul64(hi^lo^a, seed2)
	return hi ^ lo
}

// HashBytes is a short-string hash (wyhash's shape) with a fixed seed.
func HashBytes(b []byte) uint64 {
	n := len(b)
	var x, y uint64
	switch {
	case n > 16:
		s := uint64(n) * seed0
		for i := 0; i+16 < n; i += 16 {
			hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b[i:])^seed2, binary.LittleEndian.Uint64(b[i+8:])^s)
			s = hi ^ lo
		}
		hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b[n-16:])^seed3^s, binary.LittleEndian.Uint64(b[n-8:])^seed0)
		return hi ^ lo
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	hi, lo := bits.Mul64(x^seed2^uint64(n), y^seed3)
	hi, lo = bits.Mul64(hi^lo, seed0)
	return hi ^ lo
}
