package responses

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

var heads = passthrough.Text{
	Look:     member.Look{Sign: sign, Kind: "type", ID: "call_id"},
	Request:  requestHead,
	Response: responseHead,
}

// sign knows seals, identifiers of ours, and results, which are refused without an
// identifier by every upstream (case T19).
func sign(value []byte) member.Signs {
	switch {
	case bytes.HasSuffix(value, []byte("_output")):
		return member.Result
	case mayBeSealed(value), mayBeSynthetic(value):
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
	resp, ok := heads.DecodeResponse(body)
	if ok {
		resp.Usage = withTools(resp.Usage, body)
	}
	return resp, ok
}

// requestHead decodes the light members of a request.
func requestHead(index *member.TopIndex) (*codec.Request, bool) {
	var w wireRequest
	if _, ok := w.readHead(index); !ok {
		return nil, false
	}
	w.Input = textOrList{kind: '"', text: "-"}
	req, err := w.open()
	if err != nil {
		return nil, false
	}
	out, err := w.close(req)
	if err != nil {
		return nil, false
	}
	return out, true
}

// responseHead decodes the light members of an answer.
func responseHead(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool) {
	var w wireResponse
	if _, ok := w.readHead(index); !ok || w.failed() {
		return nil, false
	}
	return w.head(nil), true
}
