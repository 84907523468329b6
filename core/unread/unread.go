// Package unread decodes requests that an edge has passed on unread. An edge checks a
// caller's body to be JSON and reads the settings at its top; the conversation and the
// tools stay in the body, for an upstream of the caller's protocol to read. Whoever
// needs them reads them here.
//
// It must not import upstreams or routes.
package unread

import (
	"fmt"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Codec gives the codec of a text protocol; nil for all others.
func Codec(protocol genwayv1.Protocol) codec.Codec {
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return chat.Codec{}
	case genwayv1.Protocol_PROTOCOL_RESPONSES:
		return responses.Codec{}
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return messages.Codec{}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		return generatecontent.Codec{}
	case genwayv1.Protocol_PROTOCOL_UNSPECIFIED, genwayv1.Protocol_PROTOCOL_IMAGES:
	}
	return nil
}

// Is reports whether the conversation of a request is in its body alone.
func Is(req *genwayv1.GenerateTextRequest) bool {
	return len(req.GetMessages()) == 0 && len(req.GetWire().GetJson()) > 0
}

// Read gives the whole of a request; the request itself if it was read already. The
// error is a *fault.Error that names the member at fault in the caller's protocol.
func Read(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, error) {
	if !Is(req) {
		return req, nil
	}
	c := Codec(req.GetWire().GetProtocol())
	if c == nil {
		return nil, fault.Wrap(fmt.Errorf("unread: no codec for %v", req.GetWire().GetProtocol()), fault.Internal, "DECODE", "%s", fault.InternalMessage)
	}
	whole, err := c.DecodeRequest(req.GetWire().GetJson())
	if err != nil {
		return nil, err
	}
	whole.Model, whole.Wire = req.GetModel(), req.GetWire()
	return whole.GenerateTextRequest, nil
}

// Survey gives what the edge saw in the body of a request; where it did not say, what
// there is to be seen.
func Survey(wire *genwayv1.WireMessage) *genwayv1.WireSurvey {
	if survey := wire.GetSurvey(); survey != nil {
		return survey
	}
	if heads, ok := Codec(wire.GetProtocol()).(codec.HeadDecoder); ok {
		return heads.SurveyRequest(wire.GetJson())
	}
	return &genwayv1.WireSurvey{TextBytes: int64(len(wire.GetJson())), Foreign: true}
}
