package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The settings of requests and answers that pass through, read without reflection: into
// the structs that the decoder fills, as it fills them. What is uncommon is left to it.

// requestHead reads a request but for its messages and tools.
func requestHead(o *member.Outline) (*codec.Request, bool) {
	var r request
	if !o.Settings(heavyRequest, r.take) {
		return nil, false
	}
	r.Messages = anyMessages
	if r.check() != nil {
		return nil, false
	}
	req := r.open()
	out, err := r.finish(decoder{}, req)
	return out, err == nil
}

// anyMessages stand for those of a body that has some.
var anyMessages = make([]message, 1)

// take reads one member.
func (r *request) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "model":
		return v.Text(&r.Model)
	case "stream":
		return v.Bools(&r.Stream)
	case maxTokensName:
		return v.Int64s(&r.MaxTokens)
	case maxCompletionTokensName:
		return v.Int64s(&r.MaxCompletionTokens)
	case "temperature":
		return v.Floats(&r.Temperature)
	case "top_p":
		return v.Floats(&r.TopP)
	case "seed":
		return v.Int64s(&r.Seed)
	case "frequency_penalty":
		return v.Floats(&r.FrequencyPenalty)
	case "presence_penalty":
		return v.Floats(&r.PresencePenalty)
	case "n":
		return v.Int32s(&r.N)
	case "logprobs":
		return v.Bools(&r.Logprobs)
	case "top_logprobs":
		return v.Int32s(&r.TopLogprobs)
	case "parallel_tool_calls":
		return v.Bools(&r.ParallelToolCalls)
	case "reasoning_effort":
		return v.Text(&r.ReasoningEffort)
	case "verbosity":
		return v.Text(&r.Verbosity)
	case "service_tier":
		return v.Text(&r.ServiceTier)
	case "store":
		return v.Bools(&r.Store)
	case "user":
		return v.Text(&r.User)
	case "safety_identifier":
		return v.Text(&r.SafetyIdentifier)
	case "prompt_cache_key":
		return v.Text(&r.PromptCacheKey)
	case "tool_choice":
		return v.Keep(&r.ToolChoice)
	case "stream_options":
		r.StreamOptions = &streamOptions{}
		return v.Members(r.StreamOptions.take)
	case "stop":
		return member.Take(v, &r.Stop)
	case "metadata":
		return member.Take(v, &r.Metadata)
	case "modalities":
		return member.Take(v, &r.Modalities)
	case "response_format", "function_call", "audio":
		return false
	}
	return v.Extra(&r.Extra, name)
}

func (o *streamOptions) take(name []byte, v member.Raw) bool {
	return string(name) == "include_usage" && v.Bool(&o.IncludeUsage)
}

// responseHead reads an answer but for its choices.
func responseHead(o *member.Outline) (*genwayv1.GenerateTextResponse, bool) {
	var a answer
	if !o.Settings(heavyResponse, a.take) {
		return nil, false
	}
	return a.settings(), true
}

// take reads one member.
func (a *answer) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "id":
		return v.Text(&a.ID)
	case "object":
		return v.Text(&a.Object)
	case "created":
		return a.Created.take(v)
	case "model":
		return v.Text(&a.Model)
	case "usage":
		if v.IsNull() {
			return true
		}
		a.Usage = &usage{}
		return v.Members(a.Usage.take)
	case "service_tier":
		return v.Text(&a.ServiceTier)
	case "system_fingerprint":
		return v.Text(&a.SystemFingerprint)
	case "error":
		return v.IsNull()
	case "obfuscation":
		return true
	}
	return v.Extra(&a.Extra, name)
}

func (s *seconds) take(v member.Raw) bool {
	n, ok := v.Int(64)
	*s = seconds(n)
	return ok || v.IsNull()
}

// take reads one member.
func (u *usage) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "prompt_tokens":
		return v.Count(&u.PromptTokens)
	case "completion_tokens":
		return v.Count(&u.CompletionTokens)
	case "total_tokens":
		return v.Count(&u.TotalTokens)
	case "prompt_tokens_details":
		if v.IsNull() {
			return true
		}
		u.PromptTokensDetails = &promptDetails{}
		return v.Members(u.PromptTokensDetails.take)
	case "completion_tokens_details":
		if v.IsNull() {
			return true
		}
		u.CompletionTokensDetails = &completionDetails{}
		return v.Members(u.CompletionTokensDetails.take)
	}
	return v.Extra(&u.Extra, name)
}

func (d *promptDetails) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "cached_tokens":
		return v.Int64s(&d.CachedTokens)
	case "cache_write_tokens":
		return v.Int64s(&d.CacheWriteTokens)
	case "text_tokens":
		return v.Int64s(&d.TextTokens)
	case "image_tokens":
		return v.Int64s(&d.ImageTokens)
	case "audio_tokens":
		return v.Int64s(&d.AudioTokens)
	}
	return v.Extra(&d.Extra, name)
}

func (d *completionDetails) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "reasoning_tokens":
		return v.Int64s(&d.ReasoningTokens)
	case "text_tokens":
		return v.Int64s(&d.TextTokens)
	case "image_tokens":
		return v.Int64s(&d.ImageTokens)
	case "audio_tokens":
		return v.Int64s(&d.AudioTokens)
	case "accepted_prediction_tokens":
		return v.Int64s(&d.AcceptedPredictionTokens)
	case "rejected_prediction_tokens":
		return v.Int64s(&d.RejectedPredictionTokens)
	}
	return v.Extra(&d.Extra, name)
}
