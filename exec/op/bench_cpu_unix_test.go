//go:build unix

package op

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used; benchmarks report it, for machines that do other work beside them.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
