package fit

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Request is Unplaced, Tools, Validated and History.
func Request(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	Unplaced(req, protocol, losses)
	req, err := Tools(req, protocol, losses)
	if err != nil {
		return nil, err
	}
	return History(Validated(req, protocol, losses), protocol, losses)
}

// Hosted reports whether the vendor of another protocol runs the tool. Encoders of the
// protocol pass such tools over; Tools has named them.
func Hosted(t *genwayv1.Tool, protocol genwayv1.Protocol) bool {
	return t.GetHosted() != nil && t.GetHosted().GetProtocol() != protocol
}

// Tools names the hosted tools of other protocols in losses: clients offer them by
// themselves, and a model that may choose can do without. It refuses the request when the
// caller demands a tool that is such a one. The result has no tool choice when no tool is
// left to choose, since vendors refuse that; else it is the request itself.
func Tools(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	hosted, left := -1, false
	for i, t := range req.GetTools() {
		if !Hosted(t, protocol) {
			left = true
			continue
		}
		if hosted < 0 {
			hosted = i
		}
		losses.Add(member.Index("tools", i), "the upstream of this model has no such tool, so that it is not offered")
	}
	choice := req.GetToolChoice()
	switch {
	case hosted < 0:
		return req, nil
	case demanded(req, protocol):
		path := member.Index("tools", hosted) + ".type"
		return nil, fault.Unsupported(path, "%s: the upstream this model is routed to has no tool of the type %q, and tool_choice demands it",
			path, req.GetTools()[hosted].GetHosted().GetType())
	case left, choice == nil, choice.GetNative() != nil:
		return req, nil
	}
	out := codec.Shared(req)
	out.ToolChoice = nil
	return out, nil
}

// demanded reports whether the caller demands a call, and no tool that is left may be
// called.
func demanded(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) bool {
	names := req.GetToolChoice().GetNames()
	return req.GetToolChoice().GetMode() == genwayv1.ToolChoice_MODE_REQUIRED &&
		!slices.ContainsFunc(req.GetTools(), func(t *genwayv1.Tool) bool {
			name := t.GetFunction().GetName() + t.GetCustom().GetName()
			return !Hosted(t, protocol) && (len(names) == 0 || slices.Contains(names, name))
		})
}
