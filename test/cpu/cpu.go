// Package cpu measures what tests and benchmarks cost by the processor time of their process, which
// other programs on the machine change little, unlike the time on a clock.
package cpu

import (
	"testing"
	"time"
)

const (
	// linearTimes is how many times as much as a quarter of an input the whole may take: 4 is linear,
	// 16 is the square.
	linearTimes = 9
	// linearSlack is for inputs that take next to nothing.
	linearSlack = 100 * time.Millisecond
	// linearTries is how often each is measured: the least counts.
	linearTries = 3
)

// Linear fails the test if what prepare(n) returns takes far more than four times the processor time
// of what prepare(n/4) returns. What prepare returns is run once. Tests that call it do not run in
// parallel with others of their package.
func Linear(tb testing.TB, n int, prepare func(n int) (do func())) {
	tb.Helper()
	least := time.Duration(-1)
	for range linearTries {
		if took := Took(prepare(n / 4)); least < 0 || took < least {
			least = took
		}
	}
	var took time.Duration
	for range linearTries {
		if took = Took(prepare(n)); took <= linearTimes*least+linearSlack {
			return
		}
	}
	tb.Errorf("a quarter of the input takes %v of processor time, the whole %v: that is not linear", least, took)
}

// Took is the processor time that the process spends while do runs.
func Took(do func()) time.Duration {
	before := Time()
	do()
	return Time() - before
}
