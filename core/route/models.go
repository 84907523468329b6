package route

import (
	"cmp"
	"slices"

	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/glob"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/protobuf/proto"
)

// Models lists what the upstreams of the routes list, and the names of routes that
// are no globs, with what the catalogue and the prices of their targets know of them.
func (r *Router) Models() []*genwayv1.Model {
	seen := map[string]bool{}
	var list []*genwayv1.Model
	add := func(m *genwayv1.Model) {
		if !seen[m.GetName()] {
			seen[m.GetName()] = true
			list = append(list, m)
		}
	}
	t := r.table.Load()
	leading := map[string][]int{}
	for i := range t.routes {
		if route := &t.routes[i]; !glob.Is(route.Model) {
			if !seen[route.Model] {
				add(t.described(route.named(), t.leading(route.Model)))
			}
		}
	}
	for i := range t.routes {
		route := &t.routes[i]
		if !glob.Is(route.Model) {
			continue // of its targets' lists, it leads only to its own name
		}
		for _, target := range slices.Concat(route.Targets, route.Fallback) {
			for _, m := range target.listed() {
				if seen[m.GetName()] {
					continue
				}
				to, ok := leading[m.GetName()]
				if !ok {
					to = t.leading(m.GetName())
					leading[m.GetName()] = to
				}
				if _, leads := slices.BinarySearch(to, i); leads {
					add(t.described(proto.CloneOf(m), to))
				}
			}
		}
	}
	return list
}

// described adds to a model what is known of all models that requests for it come to first: those of the
// targets of the routes that lead to it.
func (t *table) described(m *genwayv1.Model, routes []int) *genwayv1.Model {
	var known *catalog.Row
	var price *genwayv1.ModelPrice
	for _, i := range routes {
		for j := range t.routes[i].Targets {
			target := &t.routes[i].Targets[j]
			asked := cmp.Or(target.Model, m.GetName())
			row, costs := target.Catalog.Find(asked), target.price(asked)
			m.GeneratesImages = m.GeneratesImages || target.draws(asked)
			if known == nil {
				known, price = &row, costs
				continue
			}
			row = known.Both(row)
			known = &row
			if !proto.Equal(price, costs) {
				price = nil
			}
		}
	}
	if known != nil {
		known.Describe(m)
	}
	if m.Price == nil {
		m.Price = price
	}
	return m
}

// price is what the upstream's model costs; nil where it is not known.
func (t *Target) price(model string) *genwayv1.ModelPrice {
	if t.Price == nil {
		return nil
	}
	return t.Price(model)
}

// listed are the models that a target is listed with.
func (t *Target) listed() []*genwayv1.Model {
	if t.Models != nil {
		return t.Models()
	}
	return t.Upstream.Models()
}

// named describes the model of a route that is no glob: as the first of its targets
// does that lists it under the name it is asked for there, else by what its targets
// speak.
func (r *Route) named() *genwayv1.Model {
	m := &genwayv1.Model{OwnedBy: r.Targets[0].Name}
	for _, t := range r.Targets {
		asked := cmp.Or(t.Model, r.Model)
		listed := t.listed()
		if at := slices.IndexFunc(listed, func(l *genwayv1.Model) bool { return l.GetName() == asked }); at >= 0 {
			m = proto.CloneOf(listed[at])
			break
		}
		images := protocol.Of(t.Protocol).Images
		m.GeneratesImages = m.GeneratesImages || images
		m.GeneratesText = m.GeneratesText || !images
	}
	m.Name, m.DisplayName = r.Model, r.Model
	return m
}

// draws reports whether the catalogue knows that a model draws in answers of text, where the target's protocol can.
func (t *Target) draws(model string) bool {
	return !isCanonical(t) && t.serves(true) && slices.Contains(t.Catalog.Find(model).Output, "image")
}

// leading returns the routes, in their order, that some caller's requests for the model come
// to: they match, and the routes before each that do leave a protocol over.
func (t *table) leading(model string) (routes []int) {
	left := allProtocols()
	for _, i := range t.models.All(model) {
		own := t.routes[i].Protocols
		if len(own) == 0 {
			return append(routes, i)
		}
		rest := slices.DeleteFunc(slices.Clone(left), func(p genwayv1.Protocol) bool { return slices.Contains(own, p) })
		if len(rest) < len(left) {
			routes = append(routes, i)
		}
		if left = rest; len(left) == 0 {
			break
		}
	}
	return routes
}

// allProtocols are the protocols of callers, direct callers among them.
func allProtocols() []genwayv1.Protocol {
	all := []genwayv1.Protocol{protocol.Direct.ID}
	for _, p := range protocol.All() {
		all = append(all, p.ID)
	}
	return all
}
