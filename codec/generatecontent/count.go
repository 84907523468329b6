package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// countRequest is the body of countTokens: only the contents, or a whole
// request in a member of its own. Some endpoints of the vendor take the other
// members beside contents, which is read too.
//
//wire:read,write
type countRequest struct {
	GenerateContentRequest *request `json:"generateContentRequest"`
	request
}

// countResponse is SDK type CountTokensResponse with the details the API adds.
//
//wire:read,write
type countResponse struct {
	TotalTokens             integer        `json:"totalTokens" wire:"always"`
	CachedContentTokenCount *integer       `json:"cachedContentTokenCount"`
	PromptTokensDetails     jsontext.Value `json:"promptTokensDetails"`
	Extra                   jsontext.Value `json:",embed"`
}

// DecodeCountRequest reads a counting body. As in DecodeRequest, the model is in
// the path.
func (Codec) DecodeCountRequest(body []byte) (*genwayv1.CountTokensRequest, error) {
	var w countRequest
	if err := member.Decode(camelCase(body), &w); err != nil {
		return nil, err
	}
	inner, base := &w.request, ""
	if w.GenerateContentRequest != nil {
		if len(w.Contents) > 0 {
			return nil, fault.Invalid("generateContentRequest", "the body has both contents and generateContentRequest")
		}
		inner, base = w.GenerateContentRequest, "generateContentRequest"
	}
	req, err := inner.canonical(base)
	if err != nil {
		return nil, err
	}
	return &genwayv1.CountTokensRequest{Request: req}, nil
}

// EncodeCountRequest writes a counting body: only contents where that is all.
func (Codec) EncodeCountRequest(req *genwayv1.CountTokensRequest, losses *codec.Losses) ([]byte, error) {
	w, err := wireRequest(req.GetRequest(), losses)
	if err != nil {
		return nil, err
	}
	size := member.SizeOfRequest(req.GetRequest())
	if w.SystemInstruction == nil && len(w.Tools) == 0 && w.ToolConfig == nil && w.GenerationConfig == nil &&
		w.ServiceTier == "" && w.Store == nil && len(w.Extra) == 0 {
		return marshal(w, size, fault.InvalidRequest)
	}
	if name := req.GetRequest().GetModel(); name != "" {
		w.Model = modelPrefix + name
	}
	return marshal(&countRequest{GenerateContentRequest: w}, size, fault.InvalidRequest)
}

// DecodeCountResponse reads a count.
func (c Codec) DecodeCountResponse(body []byte) (*genwayv1.CountTokensResponse, error) {
	var w countResponse
	if err := member.DecodeAnswer(body, &w); err != nil {
		return nil, err
	}
	resp := &genwayv1.CountTokensResponse{InputTokens: int64(w.TotalTokens)}
	if w.CachedContentTokenCount == nil && !present(w.PromptTokensDetails) && len(w.Extra) == 0 {
		return resp, nil
	}
	u := &genwayv1.Usage{InputTokens: resp.InputTokens, CacheReadInputTokens: int64Of(w.CachedContentTokenCount)}
	var err error
	if u.NativeFields, err = natives(w.Extra, "", nil); err != nil {
		return nil, fault.MalformedAnswer(err)
	}
	if !shares(w.PromptTokensDetails, &u.InputTextTokens, &u.InputImageTokens, &u.InputAudioTokens) {
		u.NativeFields = append(u.NativeFields, native(promptDetails, w.PromptTokensDetails))
	}
	resp.Usage = u
	return resp, nil
}

// EncodeCountResponse writes a count. What other protocols say besides is not
// part of one.
func (Codec) EncodeCountResponse(resp *genwayv1.CountTokensResponse) ([]byte, error) {
	w := countResponse{TotalTokens: integer(resp.GetInputTokens())}
	u := resp.GetUsage()
	if u == nil {
		return marshal(&w, 128, fault.Internal)
	}
	w.CachedContentTokenCount = integerOf(u.CacheReadInputTokens)
	var err error
	if w.Extra, err = member.Extra(protocol, u.NativeFields, "usage", nil); err != nil {
		return nil, err
	}
	if member.Native(protocol, u.NativeFields, promptDetails) == nil {
		w.PromptTokensDetails = breakdown(u.InputTextTokens, u.InputImageTokens, u.InputAudioTokens)
	}
	return marshal(&w, 128, fault.Internal)
}
