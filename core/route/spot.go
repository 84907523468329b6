package route

import (
	"context"
	"time"
)

// spot is the places of one call: at its upstream, and at the model there.
type spot struct {
	upstream place
	model    place // none where the limits are fixed
}

// enter takes the places for a call. Where one is missing the call waits if it may; without
// both there is none, or the caller left.
func (g *Guard) enter(ctx context.Context, t *turn) (s spot, ok bool) {
	if !g.limits.Fixed {
		if s.model, ok = g.models.of(t.model).enter(ctx, t.priority, t.last); !ok {
			return spot{}, false
		}
	}
	if s.upstream, ok = g.bound.enter(ctx, t.priority, t.last); !ok {
		if s.model.bound != nil {
			s.model.leave()
		}
		return spot{}, false
	}
	return s, true
}

// leave gives the places up.
func (s spot) leave() {
	s.upstream.leave()
	if s.model.bound != nil {
		s.model.leave()
	}
}

// judged books whether the call was refused for an overload. It reports whether it was, so
// that it is no failure: a 503 that says nothing else may be a refusal while others are
// answered, and is a failure where fewer calls do not help.
func (s spot) judged(err error) (refused bool) {
	kind := refusalOf(err)
	if s.model.bound == nil {
		return kind == overloadedNow
	}
	if kind == noRefusal {
		s.model.worked()
		return false
	}
	hopeless := s.model.refused(time.Now())
	return kind == overloadedNow || !hopeless
}
