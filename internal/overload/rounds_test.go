package overload

import (
	"sync/atomic"
	"testing"
	"time"
)

// A round ends when the goroutines that could run before it have run. The scheduler looks at the network
// every 10 ms as well, so this is tried more than once.
func TestRoundsWaitForWork(t *testing.T) {
	r, err := newRounds()
	if err != nil {
		t.Fatal(err)
	}
	const goroutines = 200
	for tries := 0; ; tries++ {
		var ran atomic.Int64
		done := make(chan struct{}, goroutines)
		for range goroutines {
			go func() {
				for begin := time.Now(); time.Since(begin) < 20*time.Microsecond; {
				}
				ran.Add(1)
				done <- struct{}{}
			}()
		}
		_, ok := r.round()
		n := ran.Load()
		for range goroutines {
			<-done
		}
		if ok && n >= goroutines*9/10 {
			break
		}
		if !ok || tries == 100 {
			t.Fatalf("a round ended when %d of %d goroutines had run", n, goroutines)
		}
	}
	r.close()
	if _, ok := r.round(); ok {
		t.Error("a round after the end")
	}
}

// A round takes long while goroutines use the processors without waiting. At first all of them may be in the queue
// of one processor, so that rounds on another are short until the scheduler has moved some.
func TestBusyProcessorsAreSeen(t *testing.T) {
	r, err := newRounds()
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var ended atomic.Bool
	defer ended.Store(true)
	for range 64 {
		go func() {
			for !ended.Load() {
			}
		}()
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if took, _ := r.round(); took > 20*time.Millisecond {
			return
		}
	}
	t.Fatal("64 goroutines that do not wait are not seen")
}
