//go:build unix

package cpu

import (
	"syscall"
	"time"
)

// Time is the processor time that the process has spent, in user and system mode.
func Time() time.Duration {
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
		panic(err) // it has no reason to fail
	}
	return time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
}
