package coreproc

import (
	"strings"

	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Models gives a model to try for callers of each protocol: the first that is listed by
// name, that a route leads to and that has a target which can serve it. A protocol for
// which none is known, as where all routes are globs, has no entry.
func (c *Core) Models() map[genwayv1.Protocol]string { return models(c.routing.Router) }

func models(router *route.Router) map[genwayv1.Protocol]string {
	found := map[genwayv1.Protocol]string{}
	for _, protocol := range Protocols {
		images := protocol == genwayv1.Protocol_PROTOCOL_IMAGES
		for _, m := range router.Models() {
			does := m.GetGeneratesText()
			if images {
				does = m.GetGeneratesImages()
			}
			if e := router.Explain(protocol, m.GetName()); does && pasteable(m.GetName()) && len(e.Targets)+len(e.Fallback) > 0 {
				found[protocol] = m.GetName()
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
