package route

import "github.com/genway/genway/codec/fault"

// pinned returns a route to one upstream alone, by whatever name it has for a model: the first target
// with that model, or else the first that takes any, or else the first of the upstream. The route
// has no guard: what an administrator tries is sent whatever the checks and the breaker say, and
// changes neither.
func (t *table) pinned(upstream, model string) (*Route, error) {
	var found *Target
	rank := 0
	for i := range t.routes {
		for _, list := range [][]Target{t.routes[i].Targets, t.routes[i].Fallback} {
			for j := range list {
				target := &list[j]
				if target.Name != upstream {
					continue
				}
				fits := 1
				switch target.Model {
				case model:
					fits = 3
				case "":
					fits = 2
				}
				if fits > rank {
					found, rank = target, fits
				}
			}
		}
	}
	if found == nil {
		return nil, fault.UpstreamNotFound()
	}
	alone := *found
	alone.Model, alone.Guard = model, nil
	if rank == 1 {
		alone.Overrides = nil // they are of another model
	}
	return &Route{Targets: []Target{alone}}, nil
}
