package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The settings of requests and answers that pass through, read without reflection where
// they are common: into the structs that the decoder fills, as it fills them.

// requestHead reads a request but for its messages and tools.
func requestHead(o *member.Outline) (*codec.Request, bool) {
	var w wireRequest
	if !o.Settings(heavyRequest, w.take) {
		return nil, false
	}
	w.Messages = anyMessages
	if w.check() != nil {
		return nil, false
	}
	req := w.open()
	if w.tools(req) != nil || w.thinking(req) != nil {
		return nil, false
	}
	out, err := w.close(req)
	return out, err == nil
}

// anyMessages stand for those of a body that has some.
var anyMessages = make([]wireMessage, 1)

// take reads one member.
func (w *wireRequest) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "model":
		return v.Text(&w.Model)
	case "max_tokens":
		return v.Int64s(&w.MaxTokens)
	case "stream":
		return v.Bool(&w.Stream)
	case "temperature":
		return v.Floats(&w.Temperature)
	case "top_p":
		return v.Floats(&w.TopP)
	case "top_k":
		return v.Int32s(&w.TopK)
	case "service_tier":
		return v.Text(&w.ServiceTier)
	case "tool_choice":
		return v.Keep(&w.ToolChoice)
	case "stop_sequences":
		return member.Take(v, &w.StopSequences)
	case "thinking":
		return member.Take(v, &w.Thinking)
	case "output_config":
		return member.Take(v, &w.OutputConfig)
	case "output_format":
		return v.Keep(&w.OutputFormat)
	case "metadata":
		return member.Take(v, &w.Metadata)
	case "cache_control":
		return member.Take(v, &w.CacheControl)
	case "thread":
		return v.Keep(&w.Thread)
	}
	return v.Extra(&w.Extra, name)
}

// responseHead reads an answer but for its content and how it ended.
func responseHead(o *member.Outline) (*genwayv1.GenerateTextResponse, bool) {
	var w wireResponse
	if !o.Settings(heavyResponse, w.take) || w.Type != "message" {
		return nil, false
	}
	return w.canonical(), true
}

// take reads one member.
func (w *wireResponse) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "type":
		return v.Text(&w.Type)
	case "id":
		return v.Text(&w.ID)
	case "role":
		return v.Text(&w.Role)
	case "model":
		return v.Text(&w.Model)
	case "stop_reason":
		return v.Text(&w.StopReason)
	case "stop_sequence":
		var sequence string
		return v.Text(&sequence)
	case "stop_details":
		return true
	case "usage":
		if v.IsNull() {
			return true
		}
		w.Usage = &wireUsage{}
		return v.Members(w.Usage.take)
	case "context_management":
		return v.Keep(&w.ContextManagement)
	case "error":
		return v.IsNull()
	}
	return v.Extra(&w.Extra, name)
}

// take reads one member.
func (u *wireUsage) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "input_tokens":
		return v.Int64s(&u.InputTokens)
	case "output_tokens":
		return v.Int64s(&u.OutputTokens)
	case "cache_creation_input_tokens":
		return v.Int64s(&u.CacheCreationInputTokens)
	case "cache_read_input_tokens":
		return v.Int64s(&u.CacheReadInputTokens)
	case "cache_creation":
		if v.IsNull() {
			return true
		}
		u.CacheCreation = &cacheCreation{}
		return v.Members(u.CacheCreation.take)
	case "output_tokens_details":
		if v.IsNull() {
			return true
		}
		u.OutputTokensDetails = &outputDetails{}
		return v.Members(u.OutputTokensDetails.take)
	case "service_tier":
		return v.Text(&u.ServiceTier)
	case "inference_geo":
		return v.Text(&u.InferenceGeo)
	}
	return v.Extra(&u.Extra, name)
}

func (c *cacheCreation) take(name []byte, v member.Raw) bool {
	switch string(name) {
	case "ephemeral_5m_input_tokens":
		return v.Int64s(&c.Ephemeral5m)
	case "ephemeral_1h_input_tokens":
		return v.Int64s(&c.Ephemeral1h)
	}
	return v.Extra(&c.Extra, name)
}

func (d *outputDetails) take(name []byte, v member.Raw) bool {
	if string(name) == "thinking_tokens" {
		return v.Int64s(&d.ThinkingTokens)
	}
	return v.Extra(&d.Extra, name)
}
