package load

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pace says when requests are due, rate a second from start until stop, on each of the
// schedules in turn, and closes them. It gives how many were due where nobody took them, on
// schedules that keep none. It sleeps in the kernel, on a thread of its own: the runtime's timers
// are good to a millisecond, which is more than what is measured.
func pace(ctx context.Context, schedules []chan time.Time, start, stop time.Time, rate float64) (lost int) {
	defer func() {
		for _, schedule := range schedules {
			close(schedule)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Pinned to one core there is one processor for Go code, and a thread that sleeps in
	// the kernel would hold it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	// Without slack of its own a thread may wake 50 µs late. A kernel that refuses
	// leaves it at that.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for n := 0; ; n++ {
		at := start.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if !at.Before(stop) {
			return lost
		}
		if wait := time.Until(at); wait > 20*time.Microsecond {
			pause := unix.NsecToTimespec(wait.Nanoseconds())
			// A signal may end the pause early; then the request is due that much early.
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
