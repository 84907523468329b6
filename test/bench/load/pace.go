package load

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pace sends the time at which each request is due, rate a second from start until stop, to the
// schedules in turn, and closes them. It returns the number of requests that were lost: a schedule
// without a buffer loses a request for which no receiver waits. pace sleeps in the kernel, on a
// thread of its own, since the runtime's timers are precise to a millisecond only, and latencies
// of less are measured.
func pace(ctx context.Context, schedules []chan time.Time, start, stop time.Time, rate float64) (lost int) {
	defer func() {
		for _, schedule := range schedules {
			close(schedule)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// On one core, GOMAXPROCS is 1, and a thread that sleeps in the kernel would hold the only
	// processor of the Go scheduler.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	// By default a thread may wake 50 µs late (timer slack). A kernel that refuses a smaller slack
	// keeps the default.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for n := 0; ; n++ {
		at := start.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if !at.Before(stop) {
			return lost
		}
		if wait := time.Until(at); wait > 20*time.Microsecond {
			pause := unix.NsecToTimespec(wait.Nanoseconds())
			// A signal may end the pause early; then the request is sent that much early.
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &pause, nil)
		}
		schedule := schedules[n%len(schedules)]
		if cap(schedule) == 0 {
			select {
			case schedule <- at:
			default:
				lost++
			}
			if ctx.Err() != nil {
				return lost
			}
			continue
		}
		select {
		case schedule <- at:
		case <-ctx.Done():
			return lost
		}
	}
}
