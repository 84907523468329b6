package programs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/hostile"
	"github.com/genway/genway/test/conformance/server"
)

const (
	// floodMemory is how much a process may grow by a flood, in MiB.
	floodMemory = 64
	// floodPeers is how many hostile connections there are at once.
	floodPeers = 8
	// floodLimit bounds the wait for what a flood must come to, on a loaded machine.
	floodLimit = time.Minute
)

// floodTime is how long a flood lasts: until a few of its connections have ended, or as many
// seconds as GENWAY_HOSTILE_SECONDS says.
func floodTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("GENWAY_HOSTILE_SECONDS")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 { // net/http takes a second to end some connections
		t.Fatalf("GENWAY_HOSTILE_SECONDS: %q is no number from 2 on", text)
	}
	return time.Duration(n) * time.Second
}

// floodedEdge floods the JSON side of one process, and of two.
func floodedEdge(t *testing.T, _ stores) {
	for name, options := range map[string]server.Options{"one process": {}, "two processes": {TwoProcess: true}} {
		t.Run(name, func(t *testing.T) {
			s := server.Start(t, options)
			flood(t, s, hostile.Port{Address: s.HTTP}, s.Edge, "chat")
		})
	}
}

// floodedPort floods the gRPC port.
func floodedPort(t *testing.T, _ stores) {
	s := server.Start(t, server.Options{})
	flood(t, s, hostile.Port{Address: s.GRPC, GRPC: true}, s.Core, "grpc")
}

// flood makes every attack on the port, beside a caller with a key, and watches the process.
func flood(t *testing.T, s *server.Server, port hostile.Port, p *server.Process, protocol string) {
	t.Helper()
	client, err := caller.New(s.URL(), s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	call := caller.Call{Protocol: protocol, Model: "sandbox-text", Key: s.Keys[caller.Group(protocol)]}
	for range 50 {
		healthy(t, client, call)
	}
	for _, f := range hostile.Floods() {
		before, _ := resident(t, p)
		w := watch(t, client, call, p)
		outcome, err := run(t, f, port)
		took, most := w.end()
		after, _ := resident(t, p)
		t.Logf("| %s | %d of %d | %.1f ms | %d of %d | %+d MiB | %+d MiB |", f.Name, outcome.Ended, outcome.Opened,
			float64(took[len(took)*99/100].Microseconds())/1000, w.shed, w.shed+len(took), most-before, after-before)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if f.Ends(port) && outcome.Ended == 0 {
			t.Errorf("%s: of %d connections, on which it was made %d times, none was ended", f.Name, outcome.Opened, outcome.Steps)
		}
		if most-before > floodMemory {
			t.Errorf("%s: the process has grown by %d MiB", f.Name, most-before)
		}
	}
}

// run makes the attack for its time, and if it is one that ends connections until a few have
// ended; one that is borne lasts a tenth of a second if no time is set.
func run(t *testing.T, f hostile.Flood, port hostile.Port) (hostile.Outcome, error) {
	t.Helper()
	least, ends := floodTime(t), int64(0)
	switch {
	case f.Ends(port):
		ends = floodPeers / 2
	case least == 0:
		least = 100 * time.Millisecond
	}
	ctx, stop := context.WithTimeout(t.Context(), max(floodLimit, least))
	defer stop()
	var ended atomic.Int64
	begun := time.Now()
	timer := time.AfterFunc(least, func() {
		if ended.Load() >= ends {
			stop()
		}
	})
	defer timer.Stop()
	return f.Run(ctx, port, floodPeers, func(n int64) bool {
		ended.Store(n)
		return n >= ends && time.Since(begun) >= least
	})
}

// healthy makes a call that must be answered, and returns how often it was shed before: by the
// admission gate, for the load of the whole process.
func healthy(t *testing.T, client *caller.Client, call caller.Call) (shed int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), floodLimit)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		seen, err := client.Do(ctx, call)
		overloaded := strings.Contains(fmt.Sprint(seen.Body, seen.Status, err), "more requests than it can serve")
		if !overloaded {
			if err != nil || !seen.Whole {
				t.Errorf("a healthy call: %+v, %v", seen, err)
			}
			return shed
		}
		shed++
		<-retry.C
	}
}

// watcher makes healthy calls, and looks at a process's memory.
type watcher struct {
	stop chan struct{}
	done sync.WaitGroup
	took []time.Duration
	most int
	shed int
}

func watch(t *testing.T, client *caller.Client, call caller.Call, p *server.Process) *watcher {
	t.Helper()
	w := &watcher{stop: make(chan struct{})}
	w.done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			begun := time.Now()
			w.shed += healthy(t, client, call)
			w.took = append(w.took, time.Since(begun))
			now, err := residentNow(p)
			if err != nil {
				t.Error(err)
				return
			}
			w.most = max(w.most, now)
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	})
	return w
}

// end returns how long the calls took, sorted, and the most memory, in MiB.
func (w *watcher) end() ([]time.Duration, int) {
	close(w.stop)
	w.done.Wait()
	slices.Sort(w.took)
	return w.took, w.most
}

// residentNow is what a process has in memory, in MiB.
func residentNow(p *server.Process) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID()))
	if err != nil {
		return 0, err
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0, err
	}
	return pages * os.Getpagesize() >> 20, nil
}
