package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The settings of requests and answers that pass through, read without reflection where
// they are common: into the structs that the decoder fills, as it fills them.

// requestHead reads a request but for its input and tools.
func requestHead(o *member.Outline) (*codec.Request, bool) {
	w := wireRequest{Input: textOrList{kind: '"', text: "-"}}
	if !o.Settings(heavyRequest, w.take) {
		return nil, false
	}
	req, err := w.open()
	if err != nil {
		return nil, false
	}
	out, err := w.close(req)
	return out, err == nil
}

// take reads one member.
func (w *wireRequest) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "model":
		return v.Text(&w.Model)
	case "stream":
		return v.Bool(&w.Stream)
	case "store":
		return v.Bools(&w.Store)
	case "max_output_tokens":
		return v.Int64s(&w.MaxOutputTokens)
	case "temperature":
		return v.Floats(&w.Temperature)
	case "top_p":
		return v.Floats(&w.TopP)
	case "top_logprobs":
		return v.Int32s(&w.TopLogprobs)
	case "parallel_tool_calls":
		return v.Bools(&w.ParallelToolCalls)
	case "tool_choice":
		return v.Keep(&w.ToolChoice)
	case "reasoning":
		return v.IsNull() || v.Members(w.Reasoning.take)
	case "text":
		return v.IsNull() || v.Members(w.Text.take)
	case "include":
		return member.Take(v, &w.Include)
	case "metadata":
		return member.Take(v, &w.Metadata)
	case "user":
		return v.Text(&w.User)
	case "safety_identifier":
		return v.Text(&w.SafetyIdentifier)
	case "prompt_cache_key":
		return v.Text(&w.PromptCacheKey)
	case "service_tier":
		return v.Text(&w.ServiceTier)
	}
	return v.Extra(&w.Extra, name)
}

func (r *wireReasoning) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "effort":
		return v.Text(&r.Effort)
	case "summary":
		return v.Text(&r.Summary)
	}
	return v.Extra(&r.Extra, name)
}

func (t *wireText) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "format":
		return v.Keep(&t.Format)
	case "verbosity":
		return v.Text(&t.Verbosity)
	}
	return v.Extra(&t.Extra, name)
}

// responseHead reads an answer but for its output and how it ended.
func responseHead(o *member.Outline) (*genwayv1.GenerateTextResponse, bool) {
	var w wireResponse
	if !o.Settings(heavyResponse, w.take) || w.failed() {
		return nil, false
	}
	return w.head(), true
}

// take reads one member.
func (w *wireResponse) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "id":
		return v.Text(&w.ID)
	case "created_at":
		if v.IsNull() {
			return true
		}
		var ok bool
		w.CreatedAt, ok = v.Float()
		return ok
	case "model":
		return v.Text(&w.Model)
	case "status":
		return v.Text(&w.Status)
	case "error":
		return v.Keep(&w.Error)
	case "incomplete_details":
		return v.IsNull()
	case "usage":
		if v.IsNull() {
			return true
		}
		w.Usage = &wireUsage{}
		return v.Members(w.Usage.take)
	case "service_tier":
		return v.Text(&w.ServiceTier)
	}
	return echoes[string(name)] || v.Extra(&w.Extra, name)
}

// take reads one member.
func (u *wireUsage) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "input_tokens":
		return v.Count(&u.InputTokens)
	case "input_tokens_details":
		return v.IsNull() || v.Members(u.InputTokensDetails.take)
	case "output_tokens":
		return v.Count(&u.OutputTokens)
	case "output_tokens_details":
		return v.IsNull() || v.Members(u.OutputTokensDetails.take)
	case "total_tokens":
		return v.Count(&u.TotalTokens)
	}
	return v.Extra(&u.Extra, name)
}

func (d *wireInputDetails) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "cached_tokens":
		return v.Int64s(&d.CachedTokens)
	case "cache_write_tokens":
		return v.Int64s(&d.CacheWriteTokens)
	}
	return v.Extra(&d.Extra, name)
}

func (d *wireOutputDetails) take(name []byte, v member.Raw) bool {
	if string(name) == "reasoning_tokens" {
		return v.Int64s(&d.ReasoningTokens)
	}
	return v.Extra(&d.Extra, name)
}
