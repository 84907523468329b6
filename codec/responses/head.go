package responses

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// head is a response object but for its output and its end.
type head struct {
	id, model string
	created   int64
	tier      string
	echo      []byte
	natives   []*genwayv1.NativeField
	// failed is the value of error; empty is null.
	failed []byte
}

// encode writes the response object. items are the output's items, with commas.
func (h *head) encode(w *writer, end ending, items []byte, usage *genwayv1.Usage, losses *codec.Losses) {
	w.begin('{')
	w.str("id", h.id)
	w.str("object", "response")
	w.int("created_at", h.created)
	w.str("status", end.status)
	if h.failed == nil {
		w.raw("error", "null")
	} else {
		w.rawBytes("error", h.failed)
	}
	w.key("incomplete_details")
	if end.reason == "" {
		w.buf = append(w.buf, "null"...)
	} else {
		w.begin('{')
		w.str("reason", end.reason)
		w.end('}')
	}
	w.str("model", h.model)
	w.key("output")
	w.begin('[')
	w.buf = append(w.buf, items...)
	w.end(']')
	tier := h.tier
	if tier == "" {
		tier = "default"
	}
	w.str("service_tier", tier)
	encodeUsage(w, usage, losses)
	w.value(h.echo)
	w.members(extras(h.natives, "", losses))
	w.end('}')
}

// echo gives the members of an answer that repeat the request, the vendor's
// defaults where it is silent, and null for what the vendor's types call
// nullable (SDK: Response).
func echo(req *codec.Request) []byte {
	r := &genwayv1.GenerateTextRequest{}
	if req != nil && req.GenerateTextRequest != nil {
		r = req.GenerateTextRequest
	}
	var w writer
	echoKnobs(&w, r)
	echoTools(&w, r)
	natives, ofText := split(r.NativeFields, "text.")
	echoText(&w, r, ofText)
	w.key("reasoning")
	w.begin('{')
	w.strNull("effort", r.GetThinking().GetEffort())
	w.strNull("summary", r.GetThinking().GetSummary())
	w.members(extras(r.GetThinking().GetNativeFields(), "", nil))
	w.end('}')
	for _, m := range []struct{ name, fallback string }{
		{"access_programs", `{"cyber":"standard"}`},
		{"background", "false"},
		{"max_tool_calls", "null"},
		{"previous_response_id", "null"},
		{"prompt", "null"},
		{"truncation", `"disabled"`},
	} {
		value := member.Native(protocol, natives, m.name)
		if value == nil {
			value = jsontext.Value(m.fallback)
		}
		w.rawBytes(m.name, value)
	}
	if value := member.Native(protocol, natives, "conversation"); value.Kind() == '"' {
		w.key("conversation")
		w.begin('{')
		w.rawBytes("id", value)
		w.end('}')
	} else if value != nil {
		w.rawBytes("conversation", value)
	}
	return w.buf
}

func echoKnobs(w *writer, r *genwayv1.GenerateTextRequest) {
	w.raw("completed_at", "null")
	text := ""
	if len(r.Messages) > 0 {
		text, _ = instructions(r.Messages[0])
	}
	w.strNull("instructions", text)
	if r.MaxOutputTokens == nil {
		w.raw("max_output_tokens", "null")
	} else {
		w.int("max_output_tokens", r.GetMaxOutputTokens())
	}
	if len(r.Metadata) == 0 {
		w.raw("metadata", "{}")
	} else {
		encodeMetadata(w, r.Metadata)
	}
	s := r.GetSampling()
	temperature, topP := 1.0, 1.0
	if s != nil && s.Temperature != nil {
		temperature = s.GetTemperature()
	}
	if s != nil && s.TopP != nil {
		topP = s.GetTopP()
	}
	w.float("temperature", temperature)
	w.float("top_p", topP)
	w.int("top_logprobs", int64(s.GetTopLogprobs()))
	w.boolOpt("store", r.Store)
	w.strNull("prompt_cache_key", r.PromptCacheKey)
	w.strNull("safety_identifier", r.SafetyIdentifier)
	w.strNull("user", r.User)
}

// echoTools repeats the tools and the choice; a request of another protocol may
// have some this one cannot spell, and is then answered as if it had none.
func echoTools(w *writer, r *genwayv1.GenerateTextRequest) {
	var own writer
	own.begin('{')
	if parallel(r.ToolChoice) == nil {
		own.bool("parallel_tool_calls", true)
	}
	err := encodeToolChoice(&own, r)
	if err == nil && modeWord(r.ToolChoice) == "" && r.GetToolChoice().GetNative() == nil {
		own.str("tool_choice", "auto")
	}
	if err == nil {
		err = encodeTools(&own, r, nil)
	}
	if err != nil {
		own.buf = append(own.buf[:0], `{"parallel_tool_calls":true,"tool_choice":"auto"`...)
	}
	if err != nil || !slices.ContainsFunc(r.Tools, offered(r)) {
		own.raw("tools", "[]")
	}
	own.end('}')
	w.members(own.buf)
}

func echoText(w *writer, r *genwayv1.GenerateTextRequest, natives []*genwayv1.NativeField) {
	shown := &genwayv1.GenerateTextRequest{ResponseFormat: r.ResponseFormat, Verbosity: r.Verbosity}
	if shown.ResponseFormat == nil {
		shown.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_TEXT}
	}
	var own writer
	own.begin('{')
	if encodeText(&own, shown, natives, nil) != nil {
		own.buf = append(own.buf[:0], `{"text":{"format":{"type":"text"}}`...)
	}
	own.end('}')
	w.members(own.buf)
}
