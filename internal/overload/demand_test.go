package overload

import (
	"runtime"
	"testing"
	"time"
)

// A process that computes demands its processors, and one that sleeps does not.
func TestDemand(t *testing.T) {
	if _, known := processorDemand(); !known {
		if runtime.GOOS == "linux" {
			t.Skip("the kernel does not count how long threads wait")
		}
		t.Skip("known on Linux alone")
	}
	var d demand
	now := time.Now()
	if got := d.share(now, 1); got != 1 {
		t.Errorf("before it can be known the demand is %v", got)
	}
	for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; { // computes, or waits for a processor
	}
	if got := d.share(now.Add(100*time.Millisecond), 1); got < 0.5 {
		t.Errorf("computing demands %v of a processor", got)
	}
	if got := d.share(now.Add(time.Hour), 1); got > 0.1 {
		t.Errorf("an hour of nothing demands %v", got)
	}
}

func BenchmarkDemand(b *testing.B) {
	for b.Loop() {
		processorDemand()
	}
}
