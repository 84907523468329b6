package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

var heads = passthrough.Text{
	Look:     member.Look{Sign: sign, Kind: "role", ID: "tool_call_id"},
	Request:  requestHead,
	Response: responseHead,
}

// sign recognises seals, and results, which are refused without an identifier for every
// upstream (case T19).
func sign(value []byte) member.Signs {
	switch {
	case string(value) == roleTool:
		return member.Result
	case codec.MaySeal(value):
		return member.Foreign
	}
	return 0
}

// BodyStatistics implements codec.HeadDecoder.
func (Codec) BodyStatistics(body []byte) *transportv1.BodyStatistics {
	return heads.BodyStatistics(body)
}

// DecodeRequestHead implements codec.HeadDecoder.
func (Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) { return heads.DecodeRequest(body) }

// DecodeResponseHead implements codec.HeadDecoder.
func (Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	return heads.DecodeResponse(body)
}

// requestHead decodes the light members of a request.
func requestHead(index *member.TopIndex) (*codec.Request, bool) {
	var r request
	body, ok := r.readHead(index)
	if r.Messages = anyMessages; !ok || r.check() != nil {
		return nil, false
	}
	open, err := r.open()
	if err != nil {
		return nil, false
	}
	req, err := r.finish(decoder{body: body}, open)
	if err != nil {
		return nil, false
	}
	return req, true
}

// anyMessages stand for those of a body that has some.
var anyMessages = make([]message, 1)

// responseHead decodes the light members of an answer.
func responseHead(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool) {
	var a answer
	if _, ok := a.readHead(index); !ok || given(a.Error) {
		return nil, false
	}
	return a.settings(), true
}
