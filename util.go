package weir

import (
	"reflect"
	"slices"
	"sort"
	"strconv"

	"github.com/pbnjay/memory"
)

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func keysOf[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// memoryLimit is weir.memory.limit: half of the machine's memory unless set.
func memoryLimit(config map[string]string) (int64, error) {
	if s := config["weir.memory.limit"]; s != "" {
		return ParseSize(s)
	}
	return int64(memory.TotalMemory() / 2), nil
}

// sortValues orders Go values of one kind for a repeatable order of map entries.
func sortValues(vs []reflect.Value) {
	sort.SliceStable(vs, func(i, j int) bool {
		a, b := vs[i], vs[j]
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		case a.CanFloat():
			return a.Float() < b.Float()
		case a.Kind() == reflect.String:
			return a.String() < b.String()
		}
		return false
	})
}
