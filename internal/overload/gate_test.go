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
	used      atomic.Int64
	free      atomic.Int64 // of used, what a collection frees
	collected atomic.Int64
	takes     atomic.Int64 // a collection, in ns
}

func (s *signal) memory() int64       { return s.used.Load() }
func (s *signal) collections() uint64 { return uint64(s.collected.Load()) }

func (s *signal) collect() {
	time.Sleep(time.Duration(s.takes.Load())) //nolint:forbidigo // of the bubble's clock
	s.used.Add(-s.free.Swap(0))
	s.collected.Add(1)
}

// running returns a gate that runs, in the time of a synctest bubble, its signals, and its processor.
func running(t *testing.T, config Config) (*Gate, *signal, *processor) {
	t.Helper()
	s := &signal{}
	config.probe = s
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Memory == 0 {
		config.Memory = 1000
	}
	cpu := newProcessor()
	config.rounds = cpu
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
	synctest.Wait()
	return g, s, cpu
}

// offer asks for requests at a rate for a while, each in a goroutine of its own, and returns how many
// were admitted when all are.
func offer(g *Gate, p Priority, perSecond int, lasts time.Duration) int {
	var admitted atomic.Int64
	var asking sync.WaitGroup
	pause := time.Second / time.Duration(perSecond)
	for range int(lasts / pause) {
		time.Sleep(pause) //nolint:forbidigo // of the bubble's clock
		asking.Go(func() {
			if g.Admit(context.Background(), p) == nil {
				admitted.Add(1)
			}
		})
	}
	asking.Wait()
	return int(admitted.Load())
}

func TestNilGateAdmitsAll(t *testing.T) {
	var g *Gate
	if err := g.Admit(t.Context(), Batch); err != nil || g.Pressed() {
		t.Error(err)
	}
	g.Run(t.Context())
}

func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := running(t, Config{})
		for _, c := range []struct {
			used               int64
			interactive, batch bool
		}{{0, true, true}, {790, true, true}, {850, true, false}, {950, false, false}, {2000, false, false}, {100, true, true}} {
			s.used.Store(c.used)
			time.Sleep(2 * idleTick) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			if i, b := g.Admit(t.Context(), Interactive) == nil, g.Admit(t.Context(), Batch) == nil; i != c.interactive || b != c.batch {
				t.Errorf("%d of 1000 bytes: interactive %v, batch %v", c.used, i, b)
			}
		}
	})
}

// Memory that is free is known to be free only after a collection. A process that refuses all requests
// allocates next to nothing, so that the runtime would not collect for two minutes.
func TestFreeMemoryIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := running(t, Config{})
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
		_, s, _ := running(t, Config{})
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
		g, s, _ := running(t, Config{Delay: -1, Memory: -1})
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
		g, _, _ := running(t, Config{Delay: -1})
		begin := time.Now()
		g.Hold(t.Context(), time.Now())
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("the answer to a single refusal waits for %v", waited)
		}
		const callers, each = 400, 20
		var done sync.WaitGroup
		for range callers {
			done.Go(func() {
				for range each {
					g.Hold(t.Context(), time.Now())
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

// An answer waits for longestHold at most, however many refusals there are; the answer to a caller
// who leaves, and all while memory is short, do not.
func TestHeldRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := running(t, Config{Delay: -1})
		wait := func(ctx context.Context, n int) time.Duration {
			begin := time.Now()
			var done sync.WaitGroup
			for range n {
				done.Go(func() { g.Hold(ctx, time.Now()) })
			}
			done.Wait()
			return time.Since(begin)
		}
		perHold := refusalsPerProcessor * runtime.GOMAXPROCS(0)
		if waited := wait(t.Context(), min(maxHeld, 4*perHold)); waited < longestHold*9/10 || waited > longestHold {
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
		g, _, _ := running(t, Config{Delay: -1})
		const callers = 1000
		for range 2 * refusalsPerProcessor * runtime.GOMAXPROCS(0) {
			g.holdFor(int64(time.Since(g.start)))
		}
		var answered atomic.Int64
		for range callers {
			go func() {
				g.Hold(t.Context(), time.Now())
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

// Answers do not wait for a processor that has nothing else to do. They come one by one, as fast as it returns
// them.
func TestIdleProcessorAnswersRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, p := running(t, Config{})
		for range 2 * refusalsPerProcessor * runtime.GOMAXPROCS(0) {
			g.holdFor(int64(time.Since(g.start)))
		}
		begin := time.Now()
		var done sync.WaitGroup
		for range 1000 {
			done.Go(func() {
				g.Hold(t.Context(), begin)
				p.work(50 * time.Microsecond)
			})
		}
		done.Wait()
		if took := time.Since(begin); took < 40*time.Millisecond || took > 100*time.Millisecond {
			t.Errorf("1000 answers of 50 µs took %v", took)
		}
		for range 1000 {
			done.Go(func() { g.Hold(t.Context(), time.Now()) })
		}
		p.work(300 * time.Millisecond)
		begin = time.Now()
		done.Wait()
		if took := time.Since(begin); took < 200*time.Millisecond {
			t.Errorf("a busy processor answered after %v", took)
		}
	})
}

// TestOneLineASecond: any number of refusals is one line a second.
func TestOneLineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		refused := map[string]int64{}
		g, s, _ := running(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnRefused: func(signal Signal, p Priority, n int64) {
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

// BenchmarkAdmit is what a request costs that does not have to wait: in a gate that does not run, and in one
// that does, with its share of the dispatcher.
func BenchmarkAdmit(b *testing.B) {
	b.Run("open", func(b *testing.B) {
		g := New(Config{})
		b.ReportAllocs()
		for b.Loop() {
			_ = g.Admit(b.Context(), Interactive)
		}
	})
	b.Run("running", func(b *testing.B) {
		g := New(Config{})
		ctx, stop := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { g.Run(ctx) })
		b.ReportAllocs()
		for b.Loop() {
			_ = g.Admit(ctx, Interactive)
		}
		stop()
		running.Wait()
	})
}
