package route

import (
	"context"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Capture gives the rule of a request's route for capturing bodies; nil for none.
func (r *Router) Capture(protocol genwayv1.Protocol, model string) *capture.Rule {
	t := r.table.Load()
	if !t.captures {
		return nil
	}
	if route, _ := t.find(protocol, model); route != nil {
		return route.Capture
	}
	return nil
}

// capture captures the message that a target is asked, if it takes the contract's messages. What
// others are sent, their adapters know.
func (a attempt) capture(ctx context.Context, message captured) {
	c := call.Of(ctx).Capture
	if c == nil || a.Protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		return
	}
	switch m := message.(type) {
	case *genwayv1.GenerateTextRequest:
		shown := codec.Shared(m)
		shown.Wire = nil
		c.Message(capture.UpstreamRequest, a.Name, shown)
	case *genwayv1.GenerateImageRequest:
		shown := codec.Shared(m)
		shown.Wire = nil
		c.Message(capture.UpstreamRequest, a.Name, shown)
	}
}

// captured is a request for text or for images.
type captured interface{ GetWire() *genwayv1.WireMessage }
