//go:build !unix

package op

import "time"

func cpuTime() time.Duration { return 0 }
