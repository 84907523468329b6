package route

import (
	"fmt"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// withoutReferences leaves out the references to items of earlier answers that are still
// unresolved, for a target of another protocol than theirs, which stores no items; each is
// named in the losses. A request of which nothing is left to answer is refused.
func (a attempt) withoutReferences(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, []*genwayv1.Loss, error) {
	if protocol.Of(a.Protocol).Upstream.StoresItems || !slices.ContainsFunc(req.GetMessages(), refers) {
		return req, nil, nil
	}
	out := codec.Shared(req)
	out.Messages = nil
	var losses []*genwayv1.Loss
	answerable := false
	for i, m := range req.GetMessages() {
		if refers(m) {
			kept := codec.Shared(m)
			kept.Parts = nil
			for j, p := range m.GetParts() {
				if responses.IsReference(p) {
					losses = append(losses, &genwayv1.Loss{Member: fmt.Sprintf("messages[%d].parts[%d]", i, j), Reason: "the item that is referred to is not known to this server"})
					continue
				}
				kept.Parts = append(kept.Parts, p)
			}
			if m = kept; len(m.Parts) == 0 {
				continue
			}
		}
		answerable = answerable || m.GetRole() != genwayv1.Role_ROLE_SYSTEM && m.GetRole() != genwayv1.Role_ROLE_DEVELOPER
		out.Messages = append(out.Messages, m)
	}
	if !answerable {
		return nil, nil, fault.Invalid("input", "input: none of the items that it refers to is known to this server, which keeps the items of its answers for a limited time; send the items themselves")
	}
	return out, losses, nil
}

func refers(m *genwayv1.Message) bool {
	return slices.ContainsFunc(m.GetParts(), responses.IsReference)
}
