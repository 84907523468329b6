//go:build unix

package overload

import (
	"syscall"
	"time"
)

// processorTime gives how much time of processors the process has used.
func processorTime() (used time.Duration, known bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
