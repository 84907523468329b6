package responses

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// What carries the weight of a body.
var (
	heavyRequest  = []member.StandIn{{Name: "input", Value: `"-"`}, {Name: "tools"}, {Name: "instructions"}}
	heavyResponse = []member.StandIn{{Name: "output", Value: "[]"}, {Name: "tools"}, {Name: "instructions"}}
)

// DecodeRequestHead implements codec.HeadDecoder.
func (c Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) {
	head, ok := member.Head(body, heavyRequest)
	// Results without an identifier are refused, whoever they are for (case T19).
	if !ok || bytes.Contains(body, []byte(`_output"`)) {
		return nil, false
	}
	req, err := c.DecodeRequest(head)
	if err != nil {
		return nil, false
	}
	req.Messages, req.Tools = nil, nil
	return req, true
}

// DecodeResponseHead implements codec.HeadDecoder.
func (c Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	head, ok := member.Head(body, heavyResponse)
	if !ok {
		return nil, false
	}
	resp, err := c.DecodeResponse(head)
	if err != nil {
		return nil, false
	}
	resp.Candidates = nil
	return resp, true
}
