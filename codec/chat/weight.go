package chat

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// What carries the weight of a body.
var (
	heavyRequest  = []member.StandIn{{Name: "messages", Value: `[{"role":"user","content":"-"}]`}, {Name: "tools"}, {Name: "functions"}}
	heavyResponse = []member.StandIn{{Name: "choices", Value: "[]"}}
)

// DecodeRequestHead implements codec.HeadDecoder.
func (c Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) {
	head, ok := member.Head(body, heavyRequest)
	// Results without an identifier are refused, whoever they are for (case T19).
	if !ok || bytes.Contains(body, []byte(`"tool"`)) {
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
