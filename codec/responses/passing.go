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

var look = &member.Look{Sign: sign, Kind: "type", ID: "call_id"}

// sign knows seals, identifiers of ours, and results, which are refused without an
// identifier, whoever they are for (case T19).
func sign(value []byte) member.Signs {
	switch {
	case bytes.HasSuffix(value, []byte("_output")):
		return member.Result
	case mayBeSealed(value), mayBeSynthetic(value):
		return member.Foreign
	}
	return 0
}

// SurveyRequest implements codec.HeadDecoder.
func (Codec) SurveyRequest(body []byte) *genwayv1.WireSurvey { return member.SurveyOf(body, look) }

// DecodeRequestHead implements codec.HeadDecoder.
func (c Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) {
	var o member.Outline
	if !o.Read(body, look) || o.Signs&member.Result != 0 {
		return nil, false
	}
	req, ok := requestHead(&o)
	if !ok {
		head, ok := o.Head(heavyRequest)
		if !ok {
			return nil, false
		}
		var err error
		if req, err = c.DecodeRequest(head); err != nil {
			return nil, false
		}
		req.Messages, req.Tools = nil, nil
	}
	req.Survey = o.Wire()
	return req, true
}

// DecodeResponseHead implements codec.HeadDecoder.
func (c Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	var o member.Outline
	if !o.Read(body, nil) {
		return nil, false
	}
	if resp, ok := responseHead(&o); ok {
		return resp, true
	}
	head, ok := o.Head(heavyResponse)
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
