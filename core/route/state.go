package route

import (
	"slices"
	"strings"
	"time"
)

// UpstreamState is how an upstream is at a moment.
type UpstreamState struct {
	// Target is one of those that have it; its model and its weight are of no meaning.
	Target Target
	// Breaker is 0 while the circuit breaker is closed, 1 while it is half-open, 2 while it is
	// open, and -1 without one.
	Breaker int
	// Unfit says that the upstream fails its checks.
	Unfit bool
	// InFlight calls are under way, Waiting calls wait for a place, and Most may be under way;
	// 0 is no bound.
	InFlight, Waiting, Most int
	// Routes are the patterns of those that have it.
	Routes []string
}

// Upstreams gives the upstreams of the routes, by name.
func (r *Router) Upstreams() []UpstreamState {
	states := map[string]*UpstreamState{}
	for _, route := range r.table.Load().routes {
		for _, t := range slices.Concat(route.Targets, route.Fallback) {
			s := states[t.Name]
			if s == nil {
				s = &UpstreamState{Target: t, Breaker: -1}
				t.Guard.state(s)
				states[t.Name] = s
			}
			if !slices.Contains(s.Routes, route.Model) {
				s.Routes = append(s.Routes, route.Model)
			}
		}
	}
	list := make([]UpstreamState, 0, len(states))
	for _, s := range states {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b UpstreamState) int { return strings.Compare(a.Target.Name, b.Target.Name) })
	return list
}

// Routes gives the routes, in the order in which they are tried. They are not to be changed.
func (r *Router) Routes() []Route { return r.table.Load().routes }

// state fills in the state of the upstream; a nil Guard sets nothing.
func (g *Guard) state(s *UpstreamState) {
	if g == nil {
		return
	}
	if g.breaker != nil {
		s.Breaker = g.breaker.state()
	}
	s.Unfit = g.unfit.Load()
	g.bound.mu.Lock()
	defer g.bound.mu.Unlock()
	s.InFlight, s.Waiting, s.Most = g.bound.underWay, g.bound.queue.size(), g.bound.most
	if lowered := g.bound.limit(time.Now()); g.bound.reached > 0 {
		s.Most = lowered
	}
}
