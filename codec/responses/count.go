package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// counted are the native members the counting body has too (SDK:
// InputTokenCountParams).
var counted = map[string]bool{
	"previous_response_id": true, "conversation": true, "personality": true, "truncation": true,
}

// DecodeCountRequest reads the body of POST /v1/responses/input_tokens, which is
// the count of a request without what only the answer needs.
func (c Codec) DecodeCountRequest(body []byte) (*genwayv1.CountTokensRequest, error) {
	req, err := c.DecodeRequest(body)
	if err == nil {
		err = refuseBackground(req.NativeFields)
	}
	if err != nil {
		return nil, err
	}
	return &genwayv1.CountTokensRequest{Request: req.GenerateTextRequest}, nil
}

// EncodeCountRequest writes the counting body. Members that put nothing in are
// left out without a word.
func (Codec) EncodeCountRequest(req *genwayv1.CountTokensRequest, losses *codec.Losses) ([]byte, error) {
	r := req.GetRequest()
	if r == nil {
		r = &genwayv1.GenerateTextRequest{}
	}
	if err := reserves(r); err != nil {
		return nil, err
	}
	r, err := fit.Request(r, protocol, losses)
	if err != nil {
		return nil, err
	}
	w := member.NewWriter(member.SizeOfRequest(r))
	w.Strict()
	w.Begin()
	w.Str("model", r.Model)
	if err := encodeConversation(w, r, losses); err != nil {
		return nil, err
	}
	natives, err := encodeSettings(w, r, losses)
	if err != nil {
		return nil, err
	}
	var kept []*genwayv1.NativeField
	for _, f := range natives {
		if f.Protocol == protocol && counted[f.Name] || f.Protocol != protocol && f.Binding {
			kept = append(kept, f)
		}
	}
	extra, err := member.Extra(protocol, kept, "", losses)
	if err != nil {
		return nil, err
	}
	w.Spliced(extra)
	w.End()
	return written(w)
}

// wireCount is InputTokenCountResponse.
//
//wire:read
type wireCount struct {
	InputTokens int64          `json:"input_tokens"`
	Extra       jsontext.Value `json:",embed"`
}

// DecodeCountResponse reads a count.
func (Codec) DecodeCountResponse(body []byte) (*genwayv1.CountTokensResponse, error) {
	var w wireCount
	if err := member.DecodeAnswer(body, &w); err != nil {
		return nil, err
	}
	return &genwayv1.CountTokensResponse{InputTokens: w.InputTokens}, nil
}

// EncodeCountResponse writes a count.
func (Codec) EncodeCountResponse(resp *genwayv1.CountTokensResponse) ([]byte, error) {
	w := member.NewWriter(64)
	w.Begin()
	w.Str("object", "response.input_tokens")
	w.Int("input_tokens", resp.InputTokens)
	w.End()
	return w.Finish()
}
