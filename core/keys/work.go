package keys

import (
	"context"
	"log/slog"
)

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
