package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The settings of requests and answers that pass through, read without reflection where
// they are common: into the structs that the decoder fills, as it fills them. Members
// in another spelling are left to it.

// requestHead reads a request but for its contents and tools.
func requestHead(o *member.Outline) (*codec.Request, bool) {
	var w request
	if !o.Settings(heavyRequest, w.take) {
		return nil, false
	}
	req := &genwayv1.GenerateTextRequest{ServiceTier: w.ServiceTier, Store: w.Store}
	if w.GenerationConfig != nil && w.GenerationConfig.decode(req, "generationConfig") != nil {
		return nil, false
	}
	return &codec.Request{GenerateTextRequest: req}, true
}

// take reads one member.
func (w *request) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "model":
		return v.Text(&w.Model)
	case "generationConfig":
		if v.IsNull() {
			return true
		}
		w.GenerationConfig = &generationConfig{}
		return v.Members(w.GenerationConfig.take)
	case "serviceTier":
		return v.Text(&w.ServiceTier)
	case "store":
		return v.Bools(&w.Store)
	}
	return false
}

// take reads one member.
func (w *generationConfig) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "temperature":
		return v.Floats(&w.Temperature)
	case "topP":
		return v.Floats(&w.TopP)
	case "topK":
		return takeInteger(v, &w.TopK)
	case "maxOutputTokens":
		return takeInteger(v, &w.MaxOutputTokens)
	case "candidateCount":
		return takeInteger(v, &w.CandidateCount)
	case "seed":
		return takeInteger(v, &w.Seed)
	case "presencePenalty":
		return v.Floats(&w.PresencePenalty)
	case "frequencyPenalty":
		return v.Floats(&w.FrequencyPenalty)
	}
	return false
}

func takeInteger(v member.Raw, to **integer) bool {
	n, ok := v.Int(64)
	i := integer(n)
	*to = &i
	return ok
}

// responseHead reads an answer but for its candidates.
func responseHead(o *member.Outline) (*genwayv1.GenerateTextResponse, bool) {
	var w response
	if !o.Settings(heavyResponse, w.take) {
		return nil, false
	}
	resp, err := w.canonical()
	return resp, err == nil
}

// take reads one member.
func (w *response) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "usageMetadata":
		if v.IsNull() {
			return true
		}
		w.UsageMetadata = &usage{}
		return v.Members(w.UsageMetadata.take)
	case "modelVersion":
		return v.Text(&w.ModelVersion)
	case "createTime":
		return v.Text(&w.CreateTime)
	case "responseId":
		return v.Text(&w.ResponseID)
	case "promptFeedback", "error":
		return v.IsNull()
	}
	return v.Extra(&w.Extra, name)
}

// take reads one member.
func (w *usage) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "promptTokenCount":
		return takeCount(v, &w.PromptTokenCount)
	case "candidatesTokenCount":
		return takeCount(v, &w.CandidatesTokenCount)
	case "totalTokenCount":
		return takeCount(v, &w.TotalTokenCount)
	case "cachedContentTokenCount":
		return takeInteger(v, &w.CachedContentTokenCount)
	case "thoughtsTokenCount":
		return takeInteger(v, &w.ThoughtsTokenCount)
	case "toolUsePromptTokenCount":
		return takeInteger(v, &w.ToolUsePromptTokenCount)
	case promptDetails:
		return v.Keep(&w.PromptTokensDetails)
	case candidateDetails:
		return v.Keep(&w.CandidatesTokensDetails)
	case "serviceTier":
		return v.Text(&w.ServiceTier)
	}
	return v.Extra(&w.Extra, name)
}

func takeCount(v member.Raw, to *integer) bool {
	n, ok := v.Int(64)
	*to = integer(n)
	return ok
}
