package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// What carries the weight of a body.
var (
	heavyRequest = []member.StandIn{{Name: "contents", Value: `[{"parts":[{"text":"-"}]}]`}, {Name: "tools"},
		{Name: "systemInstruction"}, {Name: "system_instruction"}}
	heavyResponse = []member.StandIn{{Name: "candidates", Value: "[]"}}
)

var look = &member.Look{Sign: sign}

// sign knows seals.
func sign(value []byte) member.Signs {
	if codec.MaySeal(value) {
		return member.Foreign
	}
	return 0
}

// SurveyRequest implements codec.HeadDecoder.
func (Codec) SurveyRequest(body []byte) *genwayv1.WireSurvey { return member.SurveyOf(body, look) }

// DecodeRequestHead implements codec.HeadDecoder.
func (c Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) {
	var o member.Outline
	if !o.Read(body, look) {
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
