package keys

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// page is how many changes, or keys, one question to the store is about: few enough that
// a caller that waits for the next one waits for milliseconds.
const page = 512

// follower is where reading the store has come to.
type follower struct {
	// begun says that there is a position, from which on changes are followed.
	begun    bool
	position Position
	// behind says that there were more changes than one query reads.
	behind bool
	// whole says that all keys were read, up to place until then.
	whole bool
	place Place
	// stopped is set once reading all keys has failed, until it goes on.
	stopped bool
}

// round is one look at the store, and who waits for it.
type round struct {
	hashes []Digest
	// done is closed as the round ends. ran is the holder of turn's, err is set before.
	done chan struct{}
	ran  bool
	err  error
}

func newRound() *round { return &round{done: make(chan struct{})} }

// ask waits for a round that begins after the call. The error is the context's; that the
// store failed is in the round.
func (s *Service) ask(ctx context.Context, hash Digest) (*round, error) {
	s.mu.Lock()
	r := s.next
	r.hashes = append(r.hashes, hash)
	s.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
	case <-r.done:
		return r, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the key store: %w", ctx.Err())
	}
	defer func() { <-s.turn }()
	if !r.ran {
		if v := s.view.Load(); v.err != nil && s.elapsed() < v.due {
			return &round{err: v.err}, nil // it has failed a moment ago
		}
		s.run(ctx)
	}
	if !s.follower.whole || s.follower.behind {
		s.kick()
	}
	return r, nil
}

// run asks the store for all who wait. The caller holds turn, and its context does not end
// the question: others wait for the answer.
func (s *Service) run(ctx context.Context) {
	s.mu.Lock()
	r := s.next
	s.next = newRound()
	s.mu.Unlock()
	r.ran = true
	defer close(r.done)

	last := s.view.Load()
	began := s.elapsed()
	if last.err != nil {
		// The store is failing and may well take all of Timeout again: meanwhile
		// the others go on with what is known.
		meanwhile := *last
		meanwhile.due = began + s.timeout
		s.view.Store(&meanwhile)
	}
	r.err = s.look(context.WithoutCancel(ctx), r.hashes, began)
	next := *last
	next.whole = s.follower.whole
	if r.err != nil {
		next.due, next.err = s.elapsed()+s.freshness, r.err
		if last.err == nil {
			s.logger.LogAttrs(ctx, slog.LevelError, "key store does not answer: serving the keys known so far",
				slog.Float64("for_seconds", s.staleness.Seconds()), slog.Any("error", r.err))
		}
	} else {
		next.due, next.err = began+s.freshness, nil
		if !s.follower.behind {
			next.asOf = began
		}
		if last.err != nil {
			s.logger.LogAttrs(ctx, slog.LevelInfo, "key store answers again")
		}
	}
	s.view.Store(&next)
}

// look brings the table up to what the store has at a time that is not before began, by what
// has changed. Where the table is not whole after that, it looks hashes up.
func (s *Service) look(ctx context.Context, hashes []Digest, began time.Duration) error {
	if err := s.within(ctx, func(ctx context.Context) error { return s.follow(ctx, began) }); err != nil {
		return err
	}
	if s.follower.whole && !s.follower.behind {
		return nil
	}
	for len(hashes) > 0 {
		n := min(len(hashes), page)
		if err := s.within(ctx, func(ctx context.Context) error { return s.compare(ctx, hashes[:n], began) }); err != nil {
			return err
		}
		hashes = hashes[n:]
	}
	return nil
}

// within bounds a question to the store.
func (s *Service) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return do(ctx)
}

// follow takes over a page of what has changed. The version is read before the changes: what
// changes in between is taken over now, and the next look begins before it.
func (s *Service) follow(ctx context.Context, began time.Duration) error {
	f := &s.follower
	version, err := s.store.Version(ctx)
	if err != nil {
		return fmt.Errorf("read the version of the keys: %w", err)
	}
	if !f.begun || version < f.position.Number {
		// At the start, or where the store was put back to an earlier state: all keys are read,
		// and followed from here on.
		*f = follower{begun: true, position: all(version)}
		s.table.Store(newTable())
	}
	if version == f.position.Number && f.position == all(version) {
		f.behind = false
		return nil
	}
	changes, err := s.store.Changed(ctx, f.position, page)
	if err != nil {
		return fmt.Errorf("read what has changed of the keys: %w", err)
	}
	hashes := make([]Digest, len(changes))
	for i, c := range changes {
		hashes[i] = c.Hash
	}
	if err := s.compare(ctx, hashes, began); err != nil {
		return err
	}
	if f.behind = len(changes) == page; f.behind {
		f.position = changes[page-1]
		return nil
	}
	for _, c := range changes {
		version = max(version, c.Number)
	}
	f.position = all(version)
	return nil
}

// all is the position after all secrets of the change with that number.
func all(number int64) Position {
	p := Position{Number: number}
	for i := range p.Hash {
		p.Hash[i] = math.MaxUint8
	}
	return p
}

// compare takes over what the store has of secrets.
func (s *Service) compare(ctx context.Context, hashes []Digest, began time.Duration) error {
	if len(hashes) == 0 {
		return nil
	}
	holders, err := s.store.Holders(ctx, hashes)
	if err != nil {
		return fmt.Errorf("look keys up: %w", err)
	}
	t := s.table.Load()
	held := make(map[[sha256.Size]byte]bool, len(holders))
	for i := range holders {
		held[holders[i].Hash] = true
		t.put(&holders[i], began)
	}
	for i := range hashes {
		if !held[hashes[i]] {
			t.remove(&hashes[i])
		}
	}
	return nil
}

// read takes over a page of all keys.
func (s *Service) read(ctx context.Context) error {
	f := &s.follower
	began := s.elapsed()
	holders, last, err := s.store.Holding(ctx, f.place, page)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	t := s.table.Load()
	for i := range holders {
		t.put(&holders[i], began)
	}
	f.whole = last == f.place
	f.place = last
	return nil
}

// elapsed is the time since the service was made, which the wall clock does not turn back.
func (s *Service) elapsed() time.Duration { return s.clock().Sub(s.base) }

// kick has the store read in the background, unless that is under way.
func (s *Service) kick() {
	if !s.working.CompareAndSwap(false, true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		s.working.Store(false)
		return
	}
	s.work.Go(s.catchUp)
}

// catchUp reads the store until the table is whole and has every change, or the store fails.
// Between two questions it lets those go first who wait for the turn.
func (s *Service) catchUp() {
	defer s.working.Store(false)
	for more := true; more; {
		select {
		case s.turn <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		more = s.step(s.ctx)
		<-s.turn
	}
}

// step asks the store for what has changed, if that is due, and reads a page of all keys, if
// not all are read. It reports whether there is more to read: never of a store that has failed
// a moment ago. The caller holds turn.
func (s *Service) step(ctx context.Context) (more bool) {
	f := &s.follower
	v := s.view.Load()
	due := s.elapsed() >= v.due
	if v.err != nil && !due {
		return false
	}
	if !f.begun || f.behind || due {
		s.run(ctx)
		if s.view.Load().err != nil {
			return false
		}
	}
	if f.whole {
		return f.behind
	}
	if err := s.within(ctx, s.read); err != nil {
		if !f.stopped && ctx.Err() == nil {
			s.logger.LogAttrs(ctx, slog.LevelWarn, "keys are looked up one by one: reading all of them fails, and is tried again", slog.Any("error", err))
		}
		f.stopped = true
		return false
	}
	f.stopped = false
	if f.whole {
		next := *s.view.Load()
		next.whole = true
		s.view.Store(&next)
	}
	return f.behind || !f.whole
}
