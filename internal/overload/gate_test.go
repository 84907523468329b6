package overload

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
)

// signal is a probe of a test's figures.
type signal struct {
	late, used atomic.Int64
	idle       atomic.Bool
	free       atomic.Int64 // of used, what a collection frees
	collected  atomic.Int64
	takes      atomic.Int64 // a collection, in ns
}

func (s *signal) delay() (time.Duration, bool) { return time.Duration(s.late.Load()), !s.idle.Load() }
func (s *signal) memory() int64                { return s.used.Load() }
func (s *signal) collections() uint64          { return uint64(s.collected.Load()) }

func (s *signal) collect() {
	time.Sleep(time.Duration(s.takes.Load())) //nolint:forbidigo // of the bubble's clock
	s.used.Add(-s.free.Swap(0))
	s.collected.Add(1)
}

// running gives a gate that runs, in the time of a synctest bubble, and its signals.
func running(t *testing.T, config Config) (*Gate, *signal) {
	t.Helper()
	s := &signal{}
	config.probe = s
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Memory == 0 {
		config.Memory = 1000
	}
	if config.least == 0 {
		config.least = 1
	}
	g := New(config)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return g, s
}

// offer asks for requests at a rate for a while, and gives how many were admitted.
func offer(g *Gate, p Priority, perSecond int, lasts time.Duration) (admitted int) {
	pause := time.Second / time.Duration(perSecond)
	for range int(lasts / pause) {
		time.Sleep(pause) //nolint:forbidigo // of the bubble's clock
		if g.Admit(p) == nil {
			admitted++
		}
	}
	return admitted
}

func TestNilGateAdmitsAll(t *testing.T) {
	var g *Gate
	if err := g.Admit(Batch); err != nil || g.Pressed() {
		t.Error(err)
	}
	g.Run(t.Context())
}

func TestBurstsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{})
		s.late.Store(int64(time.Second))
		offer(g, Interactive, 1000, 180*time.Millisecond) // less than the interval
		s.late.Store(0)
		if n := offer(g, Interactive, 1000, time.Second); n != 1000 {
			t.Errorf("%d of 1000 were admitted after a burst", n)
		}
	})
}

func TestOverloadIsShed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{})
		s.late.Store(int64(30 * time.Millisecond))
		offer(g, Interactive, 1000, 400*time.Millisecond)
		if !g.Pressed() {
			t.Fatal("no pressure after 400 ms of delay")
		}
		// The rate falls while the delay stays, to a floor, and serves somebody always.
		first := offer(g, Interactive, 1000, time.Second)
		if first > 800 || first < 200 {
			t.Errorf("%d of 1000 were admitted while the delay was too long", first)
		}
		last := offer(g, Interactive, 1000, time.Second)
		if last > first || last < 300 {
			t.Errorf("then %d", last)
		}
		// What the requests of a collection of garbage wait for is no overload.
		s.late.Store(0)
		offer(g, Interactive, 1000, 2*time.Second)
		before := offer(g, Interactive, 2000, time.Second)
		s.late.Store(int64(30 * time.Millisecond))
		offer(g, Interactive, 2000, 40*time.Millisecond)
		s.late.Store(0)
		if after := offer(g, Interactive, 2000, time.Second); after < before {
			t.Errorf("%d were admitted in the second after 40 ms of delay, %d in that before", after, before)
		}
		// It rises as soon as the delay is short, and the gate opens when nothing is refused.
		s.late.Store(0)
		offer(g, Interactive, 100, 1500*time.Millisecond)
		if g.Pressed() {
			t.Error("the gate did not open in 1.5 s of light load")
		}
	})
}

// Few requests are never refused for other work of the process.
func TestFewRequestsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{least: 100})
		s.late.Store(int64(time.Second))
		offer(g, Interactive, 10, 500*time.Millisecond)
		if !g.Pressed() {
			t.Fatal("no pressure after 500 ms of delay")
		}
		if n := offer(g, Interactive, 90, 5*time.Second); n != 450 {
			t.Errorf("%d of 450 were admitted", n)
		}
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
		at := 0
		for range 2 * leastBurst {
			if g.Admit(Interactive) == nil {
				at++
			}
		}
		if at < leastBurst || at > leastBurst+3 {
			t.Errorf("%d at once were admitted", at)
		}
	})
}

func TestBatchIsRefusedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{})
		s.late.Store(int64(30 * time.Millisecond))
		offer(g, Interactive, 1000, 500*time.Millisecond)
		s.late.Store(int64(10 * time.Millisecond))
		interactive, batch := 0, 0
		for range 1000 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // of the bubble's clock
			if g.Admit(Interactive) == nil {
				interactive++
			}
			if g.Admit(Batch) == nil {
				batch++
			}
		}
		if batch > interactive/50 || interactive < 300 {
			t.Errorf("%d interactive and %d batch requests were admitted", interactive, batch)
		}
		// Batch requests get the capacity that is left.
		if n := offer(g, Batch, 100, time.Second); n < 90 {
			t.Errorf("%d of 100 batch requests were admitted with nobody else there", n)
		}
	})
}

func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{})
		for _, c := range []struct {
			used               int64
			interactive, batch bool
		}{{0, true, true}, {790, true, true}, {850, true, false}, {950, false, false}, {2000, false, false}, {100, true, true}} {
			s.used.Store(c.used)
			time.Sleep(2 * idleTick) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			if i, b := g.Admit(Interactive) == nil, g.Admit(Batch) == nil; i != c.interactive || b != c.batch {
				t.Errorf("%d of 1000 bytes: interactive %v, batch %v", c.used, i, b)
			}
		}
	})
}

// Memory that is free is known to be free only after a collection. A process that refuses all requests
// allocates next to nothing, so that the runtime would not collect for two minutes.
func TestFreeMemoryIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{})
		s.takes.Store(int64(50 * time.Millisecond))
		s.used.Store(950)
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if n := s.collected.Load(); !g.Pressed() || n > 60 {
			t.Errorf("pressed: %v, %d collections in a minute", g.Pressed(), n)
		}
		s.free.Store(900)
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if g.Pressed() {
			t.Error("requests are refused two seconds after the memory became free")
		}
	})
}

// A collection that the runtime has made itself is not made again, and a long one is made seldom: it takes
// the processor from requests.
func TestCollectionsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := running(t, Config{})
		s.used.Store(950)
		for range 100 {
			s.collected.Add(1)
			time.Sleep(collectAfter / 2) //nolint:forbidigo // of the bubble's clock
		}
		if n := s.collected.Load(); n != 100 {
			t.Errorf("%d collections beside the runtime's", n-100)
		}
		s.takes.Store(int64(time.Second))
		time.Sleep(5 * time.Minute) //nolint:forbidigo // of the bubble's clock
		if n := s.collected.Load() - 100; n < 10 || n > 16 {
			t.Errorf("%d collections of a second each in five minutes", n)
		}
	})
}

func TestSignalsCanBeTurnedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{Delay: -1, Memory: -1})
		s.late.Store(int64(time.Hour))
		s.used.Store(1 << 60)
		if n := offer(g, Batch, 1000, time.Second); n != 1000 {
			t.Errorf("%d of 1000", n)
		}
	})
}

func TestRefusals(t *testing.T) {
	g := New(Config{Memory: -1})
	seen := map[time.Duration]bool{}
	for range 100 {
		f, ok := errors.AsType[*fault.Error](g.Refuse(Processor, Interactive))
		if !ok || f.Kind != fault.Overloaded || f.Reason != fault.ReasonOverloaded || f.RetryAfter < time.Second || f.RetryAfter > 2*time.Second {
			t.Fatalf("%+v", f)
		}
		seen[f.RetryAfter] = true
	}
	if len(seen) < 4 {
		t.Errorf("all come back at once: %v", seen)
	}
}

// Refusals are answered at once up to a rate. Beyond it their answers wait, so that callers
// who come again as soon as they are answered get no more answers than that.
func TestManyRefusalsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := running(t, Config{})
		begin := time.Now()
		g.Hold(t.Context())
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("the answer to a single refusal waits for %v", waited)
		}
		const callers, each = 400, 20
		var done sync.WaitGroup
		for range callers {
			done.Go(func() {
				for range each {
					g.Hold(t.Context())
				}
			})
		}
		done.Wait()
		fair := time.Duration(callers*each) * time.Second / refusalsPerProcessor / time.Duration(runtime.GOMAXPROCS(0))
		if took := time.Since(begin); took < fair-2*holdBurst || took > fair+longestHold {
			t.Errorf("%d refusals were answered in %v, want %v", callers*each, took, fair)
		}
	})
}

// An answer waits for longestHold at most, however many refusals there are; that of a caller
// who leaves, and all while memory is short, do not.
func TestHeldRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{})
		wait := func(ctx context.Context, n int) time.Duration {
			begin := time.Now()
			var done sync.WaitGroup
			for range n {
				done.Go(func() { g.Hold(ctx) })
			}
			done.Wait()
			return time.Since(begin)
		}
		perHold := refusalsPerProcessor * runtime.GOMAXPROCS(0)
		if waited := wait(t.Context(), min(mostHeld, 4*perHold)); waited < longestHold*9/10 || waited > longestHold {
			t.Errorf("the answers waited for %v", waited)
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if waited := wait(ctx, perHold); waited != time.Millisecond {
			t.Errorf("the answers to callers who left waited for %v", waited)
		}
		s.used.Store(990)
		time.Sleep(2 * idleTick) //nolint:forbidigo // of the bubble's clock
		if waited := wait(t.Context(), perHold); waited != 0 {
			t.Errorf("while memory is short the answers waited for %v", waited)
		}
		if n := g.held.Load(); n != 0 {
			t.Errorf("%d are held", n)
		}
	})
}

// Callers who came at once are not answered at once, since they would come again at once.
func TestHeldRefusalsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := running(t, Config{})
		const callers = 1000
		for range 2 * refusalsPerProcessor * runtime.GOMAXPROCS(0) {
			g.holdFor(int64(time.Since(g.start)))
		}
		var answered atomic.Int64
		for range callers {
			go func() {
				g.Hold(t.Context())
				answered.Add(1)
			}()
		}
		most, before := int64(0), int64(0)
		for range longestHold / (10 * time.Millisecond) {
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			most, before = max(most, answered.Load()-before), answered.Load()
		}
		if before != callers || most > callers/10 {
			t.Errorf("%d of %d were answered, %d of them within 10 ms", before, callers, most)
		}
	})
}

// TestOneLineASecond is that of any number of refusals.
func TestOneLineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		refused := map[string]int64{}
		g, s := running(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnRefused: func(signal Signal, p Priority, n int64) {
			refused[signal.String()+" "+p.String()] += n
		}})
		s.used.Store(990)
		time.Sleep(2 * idleTick) //nolint:forbidigo // of the bubble's clock
		offer(g, Interactive, 1000, 3*time.Second)
		offer(g, Batch, 1000, time.Second)
		s.used.Store(0)
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if n := strings.Count(log.String(), "\n"); n < 3 || n > 6 {
			t.Errorf("%d lines in 4 s:\n%s", n, log.String())
		}
		if refused["memory interactive"] != 3000 || refused["memory batch"] != 1000 {
			t.Errorf("%v", refused)
		}
	})
}

func TestGroupLimit(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"a/b/memory.max": "max\n", "a/memory.max": "2000\n", "c/memory.max": "500\n", "memory/d/memory.limit_in_bytes": "700\n",
		"memory/memory.limit_in_bytes": "9223372036854771712\n", "e/memory.max": "nonsense\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for own, want := range map[string]int64{
		"0::/a/b\n": 2000, "0::/c\n": 500, "0::/\n": 0, "5:memory:/d\n4:cpu:/c\n": 700, "0::/e\n": 0, "": 0, "nonsense\n": 0, "0::/../../c\n": 500,
	} {
		if got := groupLimit(root, own); got != want {
			t.Errorf("%q: %d, want %d", own, got, want)
		}
	}
}

// TestSchedulerLatencyIsSeen has many goroutines wait for few processors. The runtime looks at
// some of them only, so it tries more than once.
func TestSchedulerLatencyIsSeen(t *testing.T) {
	p := newRuntimeProbe()
	p.latency()
	d := time.Duration(0)
	for tries := 0; d < 20*time.Millisecond; tries++ {
		if tries == 50 {
			t.Fatalf("64 goroutines of 20 ms on few processors waited %v", d)
		}
		burn(64)
		d = p.latency()
	}
	if p.memory() <= 0 {
		t.Error("no memory is in use")
	}
}

// burn has goroutines use the processors for 20 ms each.
func burn(goroutines int) {
	done := make(chan struct{})
	for range goroutines {
		go func() {
			for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
			}
			done <- struct{}{}
		}()
	}
	for range goroutines {
		<-done
	}
}

// A process that leaves its processors to others is not overloaded, however long its
// goroutines wait for them.
func TestOthersWorkIsNoOverload(t *testing.T) {
	if _, known := processorTime(); !known {
		t.Skip("the system does not say how much of its processors a process uses")
	}
	var s share
	begin := time.Now()
	s.large(begin)
	burn(runtime.GOMAXPROCS(0))
	if s.large(begin.Add(time.Hour)) {
		t.Error("20 ms of an hour are a large share")
	}
	if burn(1); !s.large(begin.Add(time.Hour + time.Nanosecond)) {
		t.Error("20 ms of a nanosecond are none")
	}
}

func BenchmarkAdmit(b *testing.B) {
	g := New(Config{})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = g.Admit(Interactive)
		}
	})
	b.Run("rated", func(b *testing.B) {
		g.pressed.Store(rated)
		g.every.Store(int64(time.Millisecond))
		b.ReportAllocs()
		for b.Loop() {
			_ = g.Admit(Interactive)
		}
	})
}
