package messages

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

var heads = passthrough.Text{
	Look:     member.Look{Sign: sign, Kind: "type", ID: "tool_use_id"},
	Request:  requestHead,
	Response: responseHead,
}

// sign knows seals, blocks of thinking, which come without a signature from other
// upstreams, and results, which every upstream refuses without an identifier (case T19).
func sign(value []byte) member.Signs {
	switch {
	case bytes.HasSuffix(value, []byte("tool_result")):
		return member.Result
	case string(value) == "thinking", codec.MaySeal(value):
		return member.Foreign
	}
	return 0
}

// BodyStatistics implements codec.HeadDecoder.
func (Codec) BodyStatistics(body []byte) *edgev1.BodyStatistics {
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
	var w wireRequest
	_, ok := w.readHead(index)
	if w.Messages = anyMessages; !ok || w.check() != nil {
		return nil, false
	}
	req, err := w.open()
	if err != nil || w.tools(req) != nil || w.thinking(req) != nil {
		return nil, false
	}
	out, err := w.close(req)
	if err != nil {
		return nil, false
	}
	return out, true
}

// anyMessages stand for the messages of a body that has some.
var anyMessages = make([]wireMessage, 1)

// responseHead decodes the light members of an answer.
func responseHead(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool) {
	var w wireResponse
	if _, ok := w.readHead(index); !ok || w.failed() || w.StopReason == "" {
		return nil, false
	}
	return w.canonical(), true
}
