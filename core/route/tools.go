package route

import (
	"fmt"
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// withoutTools leaves out the hosted tools that the operator said may be, for a
// target that cannot have them, and tells of each. A choice that demands such a tool
// stays, and is refused by the target's codec.
func (a attempt) withoutTools(tools []*genwayv1.Tool) (kept []*genwayv1.Tool, losses []*genwayv1.Loss) {
	if len(a.route.DropTools) == 0 || a.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		return tools, nil
	}
	for i, t := range tools {
		hosted := t.GetHosted()
		if hosted == nil || hosted.GetProtocol() == a.Protocol || !slices.Contains(a.route.DropTools, hosted.GetType()) {
			kept = append(kept, t)
			continue
		}
		losses = append(losses, &genwayv1.Loss{Member: fmt.Sprintf("tools[%d]", i), Reason: "the route leaves this tool out for upstreams that lack it"})
	}
	return kept, losses
}
