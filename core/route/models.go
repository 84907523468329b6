package route

import (
	"cmp"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Models lists what the upstreams of the routes list, and the names of routes that
// are no globs.
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
	for _, route := range t.routes {
		if !strings.Contains(route.Model, "*") {
			add(route.named())
		}
	}
	for i, route := range t.routes {
		for _, target := range slices.Concat(route.Targets, route.Fallback) {
			for _, m := range target.listed() {
				if t.leads(i, m.GetName()) {
					add(m)
				}
			}
		}
	}
	return list
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
		m.GeneratesImages = m.GeneratesImages || t.Protocol == genwayv1.Protocol_PROTOCOL_IMAGES
		m.GeneratesText = m.GeneratesText || t.Protocol != genwayv1.Protocol_PROTOCOL_IMAGES
	}
	m.Name, m.DisplayName = r.Model, r.Model
	return m
}

// leads reports whether some caller's requests for the model come to the route: it
// matches, and the routes ahead of it that do leave a protocol over.
func (t *table) leads(route int, model string) bool {
	if !t.patterns[route].matches(model) {
		return false
	}
	left := t.routes[route].Protocols
	if len(left) == 0 {
		left = allProtocols
	}
	for i := range route {
		if !t.patterns[i].matches(model) {
			continue
		}
		taken := t.routes[i].Protocols
		if len(taken) == 0 {
			return false
		}
		left = slices.DeleteFunc(slices.Clone(left), func(p genwayv1.Protocol) bool { return slices.Contains(taken, p) })
	}
	return len(left) > 0
}

// allProtocols are those of callers; unspecified is that of direct ones.
var allProtocols = []genwayv1.Protocol{
	genwayv1.Protocol_PROTOCOL_UNSPECIFIED, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_RESPONSES,
	genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, genwayv1.Protocol_PROTOCOL_IMAGES,
}
