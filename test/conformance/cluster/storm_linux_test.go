package cluster

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// size is how much a run does.
type size struct {
	rate, streams int
	// hold is how long each state is held.
	hold  time.Duration
	pause time.Duration // between the pieces of a stream
	delay time.Duration // of shutdowns
	// long says that phases are in it that take more than a minute each.
	long bool
}

// sized reads what a run does: GENWAY_CLUSTER is full or short, the rest has variables of its own.
func sized(t *testing.T) size {
	t.Helper()
	o, duration := size{rate: 300, streams: 300, pause: time.Second, delay: 4 * time.Second}, 15*time.Minute
	switch os.Getenv("GENWAY_CLUSTER") {
	case "full":
	case "short":
		o, duration = size{rate: 30, streams: 20, pause: 250 * time.Millisecond, delay: 2 * time.Second}, 2*time.Minute
	default:
		t.Skip("SKIPPED: a cluster under a storm takes minutes: make cluster, make cluster-short")
	}
	for name, into := range map[string]*int{"RATE": &o.rate, "STREAMS": &o.streams} {
		if text := os.Getenv("GENWAY_CLUSTER_" + name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				t.Fatalf("%s: %q is no number above 0", name, text)
			}
			*into = n
		}
	}
	if text := os.Getenv("GENWAY_CLUSTER_DURATION"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil || duration < time.Minute {
			t.Fatalf("DURATION: %q is no duration of a minute or more", text)
		}
	}
	// Restarts, starts after a kill and the budgets' preludes take a time that does not grow with the
	// duration: by measurement 20 shutdown delays and 150 s. Each phase but for the restarts holds about one state.
	fixed := 20*o.delay + 150*time.Second
	if o.long = duration >= 10*time.Minute; o.long {
		fixed += grace
	}
	o.hold = max(3*time.Second, (duration-fixed)/time.Duration(len(phases(o.long))-3))
	return o
}

// prelude is how long a phase's budget is asked for before the phase does something.
const prelude = 2 * time.Second

func TestStorm(t *testing.T) {
	o := sized(t)
	busy, commit := busyness(), revision()
	if err := noDisk(); err != nil {
		t.Log("NOT DONE: the slow disk, which this machine cannot have: ", err)
	}
	s := newSite(t, o.delay.String())
	s.vendors.Pause = o.pause
	client, err := caller.New("http://"+s.hosts["lb"].IP+":"+s.balancer.port, s.hosts["core1"].IP+":9090")
	s.must(err)
	t.Cleanup(func() { _ = client.Close() })
	// As docs/operation.md has it: shorter than the delay of shutdowns.
	client.KeepIdle(o.delay / 2)
	l := &load{client: client, keys: s.keys, rate: o.rate, streams: o.streams}
	what := phases(o.long)
	spending := max(2, o.rate/10)
	budgets := newBudgets(s, len(what), spending, prelude+o.hold)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	begun := time.Now()
	l.begin(ctx)
	windows := make([]window, len(what))
	for i, p := range what {
		w := &windows[i]
		during, stop := context.WithCancel(ctx)
		l.running.Go(func() { budgets[i].ask(during, l, i, spending) })
		w.wait(prelude)
		w.hold, w.begun = o.hold, time.Now()
		t.Logf("%6.1f s: %s", time.Since(begun).Seconds(), p.name)
		err := p.do(s, w)
		if w.end.IsZero() {
			w.end = time.Now()
		}
		w.wait(prelude)
		stop()
		if err != nil {
			end()
			l.running.Wait()
			t.Fatalf("%s: %v", p.name, err)
		}
	}
	took := time.Since(begun)
	end()
	l.running.Wait()
	s.must(spendAll(t.Context(), l, budgets))
	t.Logf("%6.1f s: all budgets are spent", time.Since(begun).Seconds())
	r := s.reckon(l, what, windows, budgets)
	r.size, r.begun, r.took, r.busy, r.commit = o, begun, took, busy, commit
	text, picture := r.page(), r.timeline()
	t.Log("\n" + text)
	if dir := os.Getenv("GENWAY_CLUSTER_REPORT"); dir != "" && !t.Failed() {
		for name, content := range map[string]string{"cluster.md": text, "cluster.svg": picture} {
			s.must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
	}
}

// reckon compares everything, and fails the test for what is wrong.
func (s *site) reckon(l *load, what []phase, windows []window, budgets []budget) *report {
	s.tb.Helper()
	r := &report{asked: l.all(), what: what, windows: windows}
	requests := map[int]asked{}
	for _, a := range r.asked {
		requests[a.n] = a
	}
	db := rows.Open(s.tb, s.store.url())
	s.must(within("rows are open in the end", func() bool { return len(db.InFlight(s.tb)) == 0 }))
	var ledger []rows.Row
	// An entry waits for 20 ms; the last ones are of the requests that spent the budgets.
	s.must(within("rows are missing in the end", func() bool {
		ledger = db.Ledger(s.tb)
		return len(ledger) >= accepted(requests)
	}))
	var wrong complaints
	r.books = check(requests, ledger, s.vendors, &wrong)
	s.proved(&wrong)
	for _, a := range r.asked {
		if a.kind != whole && !allows(what, windows, a) {
			wrong.addf("failures that the documentation does not name", "%s %s, %s to %s: %s: %s", a.protocol, during(windows, what, a.begun),
				a.begun.Format("05.000"), a.ended.Format("05.000"), cmp.Or(a.kind, "whole"), a.detail)
		}
	}
	var alone []episode
	for _, core := range s.cores {
		log, err := core.written(0)
		s.must(err)
		of, err := episodes(log)
		s.must(err)
		alone = append(alone, of...)
	}
	r.bills = settle(budgets, what, windows, requests, ledger, alone)
	for i, b := range r.bills {
		if !b.exact() {
			wrong.addf("budgets", "%s: %+v", what[i].name, b)
		}
	}
	for kind, all := range wrong.of {
		s.tb.Errorf("%s: %d\n  %s", kind, len(all), strings.Join(all[:min(len(all), 8)], "\n  "))
	}
	if s.tb.Failed() {
		for _, p := range slices.Concat(s.cores, s.edges, s.store.servers[:]) {
			s.tb.Logf("%s:\n%s", p.name, p.tail())
		}
	}
	return r
}

// accepted is how many requests have a row for sure: those that were answered whole.
func accepted(requests map[int]asked) int {
	n := 0
	for _, a := range requests {
		if a.kind == whole {
			n++
		}
	}
	return n
}

// during names the phase of a moment.
func during(windows []window, what []phase, at time.Time) string {
	for i, w := range slices.Backward(windows) {
		if !at.Before(w.begun.Add(-prelude)) {
			return what[i].name
		}
	}
	return ""
}
