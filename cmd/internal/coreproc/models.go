package coreproc

import (
	"slices"
	"strings"

	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Models returns a model to try for callers of each protocol: the first that is listed by
// name, that a route leads to and that has a target which can serve it. A protocol for
// which none is known, as where all routes are globs, has no entry.
func (c *Core) Models() map[genwayv1.Protocol]string { return models(c.routing.Router) }

func models(router *route.Router) map[genwayv1.Protocol]string {
	found := map[genwayv1.Protocol]string{}
	for _, p := range append(slices.Clip(protocol.All()), protocol.Direct) {
		for _, m := range router.Models() {
			does := m.GetGeneratesText()
			if p.Images {
				does = m.GetGeneratesImages()
			}
			if e := router.Explain(p.ID, m.GetName()); does && pasteable(m.GetName()) && len(e.Targets)+len(e.Fallback) > 0 {
				found[p.ID] = m.GetName()
				break
			}
		}
	}
	return found
}

// pasteable reports whether a name stands in a line for a shell, in JSON and in a path as
// it is.
func pasteable(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/@+") == ""
}
