package core

import (
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/proto"
)

// capture begins the capture of an admitted request, with the caller's body, if its key or its
// route asks for it; else it gives nil. req is what inputOf takes.
func (s *Service) capture(caller call.Caller, model string, req any) *capture.Capture {
	var ofKey, ofRoute *capture.Rule
	if caller.Policy != nil {
		ofKey = caller.Policy.Capture
	}
	if s.captures != nil {
		ofRoute = s.captures(caller.Protocol, model)
	}
	if ofKey == nil && ofRoute == nil {
		return nil
	}
	c := s.config.Captures.Begin(ofKey, ofRoute)
	if c == nil {
		return nil
	}
	if text, ok := req.(*deferred.Request); ok {
		req = text.Head()
	}
	if sent, ok := req.(interface{ GetWire() *genwayv1.WireMessage }); ok && sent.GetWire() != nil {
		c.Add(capture.CallerRequest, protocolName(caller.Protocol), sent.GetWire().GetJson())
	} else if message, ok := req.(proto.Message); ok {
		c.Message(capture.ContractRequest, "", message)
	}
	return c
}
