package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeCountRequest reads a body of /v1/messages/count_tokens
// (MessageCountTokensParams): a request without what only generation needs. Members
// of a whole request are taken too.
func (Codec) DecodeCountRequest(body []byte) (*genwayv1.CountTokensRequest, error) {
	var w wireRequest
	if err := member.Decode(body, &w); err != nil {
		return nil, err
	}
	req, err := w.canonical()
	if err != nil {
		return nil, err
	}
	return &genwayv1.CountTokensRequest{Request: req}, nil
}

// EncodeCountRequest writes a count_tokens body: of the request, the members that
// are counted. The others change no count and are no loss.
func (Codec) EncodeCountRequest(req *genwayv1.CountTokensRequest, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GetRequest()); err != nil {
		return nil, err
	}
	r, err := fit.Request(req.GetRequest(), protocol, losses)
	if err != nil {
		return nil, err
	}
	limit := MaxTokens(r.GetModel())
	if r.GetMaxOutputTokens() > 0 {
		limit = r.GetMaxOutputTokens()
	}
	w := requestWriter(member.SizeOfRequest(r))
	w.Begin()
	w.Str("model", r.GetModel())
	w.conversation(r, losses)
	w.tools(r, losses)
	w.thinking(r.GetThinking(), limit, losses)
	w.outputConfig(r, losses)
	w.cacheControl(r.GetCacheControl(), "", losses)
	w.natives(r.GetNativeFields(), "", losses, "metadata", "output_config")
	w.End()
	return patched(w, r.GetExtraJson())
}

// wireCount is MessageTokensCount and BetaMessageTokensCount.
//
//wire:read
type wireCount struct {
	InputTokens *int64         `json:"input_tokens"`
	Extra       jsontext.Value `json:",embed"`
}

// DecodeCountResponse reads a count. What the vendor says beside it is kept in the
// native fields of usage.
func (Codec) DecodeCountResponse(body []byte) (*genwayv1.CountTokensResponse, error) {
	var w wireCount
	if err := member.DecodeAnswer(body, &w); err != nil {
		return nil, err
	}
	if w.InputTokens == nil {
		return nil, fault.MalformedAnswer(nil)
	}
	out := &genwayv1.CountTokensResponse{InputTokens: *w.InputTokens}
	if fields := natives(w.Extra); fields != nil {
		out.Usage = &genwayv1.Usage{InputTokens: *w.InputTokens, TotalTokens: *w.InputTokens, NativeFields: fields}
	}
	return out, nil
}

// EncodeCountResponse writes a count.
func (Codec) EncodeCountResponse(resp *genwayv1.CountTokensResponse) ([]byte, error) {
	w := answerWriter(64)
	w.Begin()
	w.Int("input_tokens", resp.GetInputTokens())
	w.natives(resp.GetUsage().GetNativeFields(), "usage", nil)
	w.End()
	return w.Finish()
}
