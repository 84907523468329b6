package cluster

import (
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/genway/genway/test/conformance/network"
)

// phase is one part of the storm.
type phase struct {
	name string
	// what is done, and mended again. It may call w.over as soon as nothing may fail any more.
	do func(s *site, w *window) error
	// may are the kinds of failure that the documentation names for it.
	may []string
	// forgets says that the shared limits are away for all cores, and lose their last moments.
	forgets bool
	// kills says that a core is killed, which may not have reported yet what it spent.
	kills bool
	// slows says that the phase needs a disk that can be slow.
	slows bool
	// long says that the phase takes more than a minute however short the others are.
	long bool
}

// window is the time in which a phase may have failures.
type window struct {
	hold       time.Duration // how long a state is held
	begun, end time.Time
	// from is when failures may begin; zero is with the phase.
	from time.Time
}

// lag is how long failures may last after their cause has ended.
const lag = 3 * time.Second

// over records that the cause of failures has ended.
func (w *window) over() { w.end = time.Now().Add(lag) }

// wait holds a state.
func (w *window) wait(d time.Duration) { <-time.After(d) }

// phases are the storm, with its long ones or without.
func phases(long bool) []phase {
	in := []string{"503", "529", event}
	all := []phase{
		{name: "calm", do: func(_ *site, w *window) error { w.wait(w.hold); return nil }},
		{name: "cores restarted one by one", do: func(s *site, _ *window) error { return roll(s, s.cores, nil) }},
		{name: "edges restarted one by one", do: func(s *site, _ *window) error { return roll(s, nil, s.edges) }},
		{name: "cores and edges restarted", do: func(s *site, _ *window) error { return roll(s, s.cores, s.edges) }},
		{name: "kill −9 of a core", do: killCore, may: in, kills: true},
		{name: "kill −9 of an edge", do: killEdge, may: []string{broken}},
		{name: "kill −9 of the primary database", do: killStore},
		{name: "the database does not answer", do: stallStore},
		{name: "the database does not answer for longer than keys are served without it", do: outlastGrace, may: []string{"503", broken}, long: true},
		{name: "the disk of the database is slow", do: slowStore, slows: true},
		{name: "kill −9 of the primary of limits", do: killLimits, forgets: true},
		{name: "a core cut off from the database", do: func(s *site, w *window) error { return cut(s, w, w.hold, "core1", "db1", "db2") }},
		{name: "an edge cut off from a core", do: cutEdge, may: in},
		{name: "a core cut off from the limits", do: func(s *site, w *window) error { return cut(s, w, w.hold, "core2", "limits1", "limits2", "limits3") }},
		{name: "10 ms and 1 % loss from edges to cores", do: lossy},
		{name: "the clocks of a core and an edge jump ahead by a day", do: jumpClocks(24 * time.Hour), may: in},
		{name: "the clocks of a core and an edge jump back by a day", do: jumpClocks(-24 * time.Hour), may: in},
		{name: "calm again", do: func(_ *site, w *window) error { w.wait(w.hold); return nil }},
	}
	return slices.DeleteFunc(all, func(p phase) bool { return p.long && !long || p.slows && noDisk() != nil })
}

// roll restarts programs one by one, and those of both kinds in pairs.
func roll(s *site, cores, edges []*program) error {
	for i := range 3 {
		var all []*program
		if cores != nil {
			all = append(all, cores[i])
		}
		if edges != nil {
			all = append(all, edges[i])
		}
		errs := make([]error, len(all))
		var restarts sync.WaitGroup
		for j, p := range all {
			restarts.Go(func() { errs[j] = s.restart(p) })
		}
		restarts.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func killCore(s *site, w *window) error {
	s.cores[0].kill()
	w.over()
	w.wait(w.hold)
	return s.begin(s.cores[0])
}

func killEdge(s *site, w *window) error {
	s.edges[1].kill()
	w.over()
	w.wait(w.hold)
	return s.begin(s.edges[1])
}

// promoteAfter is the failover delay: the time between the kill of the primary and the promotion of
// its standby.
const promoteAfter = 2 * time.Second

// killStore kills the primary database, promotes its standby, and makes the one that was killed a
// new standby.
func killStore(s *site, w *window) error {
	s.store.servers[s.store.primary].kill()
	w.wait(promoteAfter)
	if err := s.store.promote(); err != nil {
		return err
	}
	w.wait(w.hold)
	return s.store.join()
}

// grace is how long known keys are served while the database does not answer. It counts from the
// last look at the keys that the database answered, which began freshness ago or less.
const (
	grace     = time.Minute
	freshness = 2 * time.Second
)

// stallStore stops all processes of the primary database where they are, as a disk does that does
// not answer, for less than the grace: no request fails.
func stallStore(s *site, w *window) error {
	primary := s.store.servers[s.store.primary]
	primary.signal(syscall.SIGSTOP)
	w.wait(min(w.hold, grace-5*freshness))
	primary.signal(syscall.SIGCONT)
	w.wait(w.hold / 2)
	return nil
}

// outlastGrace stops the primary database for longer than the grace. After the grace requests are
// refused, and since no edge is ready then the balancer ends connections. The standby has given the
// primary up by then (wal_receiver_timeout is a minute), so that no commit ends before it has come back.
func outlastGrace(s *site, w *window) error {
	primary := s.store.servers[s.store.primary]
	primary.signal(syscall.SIGSTOP)
	w.from = time.Now().Add(grace - freshness)
	w.wait(grace + 15*time.Second)
	resumed := time.Now()
	primary.signal(syscall.SIGCONT)
	if err := s.store.synchronous(resumed); err != nil {
		return err
	}
	w.over()
	w.wait(w.hold / 2)
	return nil
}

// slowBy is how much longer each write and each sync of a slow disk takes.
const slowBy = 100 * time.Millisecond

// slowStore makes the disk slow that the primary database has its write-ahead log on, so that each
// commit waits: no request fails.
func slowStore(s *site, w *window) error {
	disk := s.store.disks[s.store.primary]
	disk.slow(slowBy)
	w.wait(w.hold)
	late := disk.late.Load()
	disk.slow(0)
	if late == 0 {
		return errors.New("the primary database wrote nothing to its slow disk")
	}
	s.tb.Logf("%d writes and syncs of the primary database were late by %s", late, slowBy)
	w.wait(w.hold / 2)
	return nil
}

// killLimits kills the primary of the limits, of which the sentinels make another, and starts it
// again as a replica.
func killLimits(s *site, w *window) error {
	old := s.limits.primary()
	if old == nil {
		return errors.New("the sentinels name no primary")
	}
	old.kill()
	err := within("the sentinels name no other primary", func() bool { now := s.limits.primary(); return now != nil && now != old })
	if err != nil {
		return err
	}
	w.wait(w.hold)
	return errors.Join(old.start(), within("the limits have no replica again", s.limits.redundant))
}

// cut cuts a host off from others, for a time.
func cut(s *site, w *window, long time.Duration, one string, others ...string) error {
	for _, other := range others {
		s.net.Set(s.hosts[one], s.hosts[other], network.Link{Cut: true})
	}
	w.wait(long)
	for _, other := range others {
		s.net.Set(s.hosts[one], s.hosts[other], network.Link{})
	}
	w.over()
	w.wait(w.hold / 2)
	return nil
}

// silence is after how much of it an edge gives a core up, with time to spare.
const silence = 25 * time.Second

// cutEdge cuts an edge off from a core for as long as the edge needs to notice it.
func cutEdge(s *site, w *window) error {
	since := s.places()
	if err := cut(s, w, max(w.hold, silence), "edge3", "core3"); err != nil {
		return err
	}
	return s.found(s.cores[2], map[*program]int64{s.edges[0]: 0, s.edges[1]: 0, s.edges[2]: since[s.edges[2]]})
}

// givenUp is within what time gRPC gives its connections up when the clock has gone back, since it compares
// the times of reads: an edge asks after 15 s and waits for 5 s, a core asks after a minute and waits for 20 s.
const givenUp = 80 * time.Second

// jumpClocks has the clocks of a core and of an edge jump, and corrects them. Requests may fail from
// when the clocks go back: calls in flight on the connections that are given up.
func jumpClocks(by time.Duration) func(*site, *window) error {
	return func(s *site, w *window) error {
		back := time.Now()
		jumping := []*program{s.cores[1], s.edges[1]}
		for _, p := range jumping {
			from := p.place()
			if err := errors.Join(p.step(by), within("the clock of "+p.name+" does not jump", func() bool { return p.stamped(by, from) })); err != nil {
				return err
			}
		}
		w.wait(w.hold)
		if by > 0 {
			back = time.Now()
		}
		w.from, w.end = back, back.Add(givenUp+lag)
		for _, p := range jumping {
			from := p.place()
			if err := errors.Join(p.step(0), within("the clock of "+p.name+" is not corrected", func() bool { return p.stamped(0, from) })); err != nil {
				return err
			}
		}
		w.wait(w.hold / 2)
		return nil
	}
}

// lossy has frames between edges and cores be late, and some be lost.
func lossy(s *site, w *window) error {
	set := func(link network.Link) {
		for _, edge := range s.edges {
			for _, core := range s.cores {
				s.net.Set(edge.host, core.host, link)
			}
		}
	}
	set(network.Link{Delay: 10 * time.Millisecond, Loss: 0.01})
	w.wait(w.hold)
	set(network.Link{})
	return nil
}

// allows says that a failure may be: that the time of a request overlaps the window of a phase
// that may have failures of its kind.
func allows(all []phase, windows []window, a asked) bool {
	for i, p := range all {
		if a.begun.Before(windows[i].end) && a.ended.After(windows[i].begun) && a.ended.After(windows[i].from) && slices.Contains(p.may, a.kind) {
			return true
		}
	}
	return a.kind == overBudget && a.budget > 0
}
