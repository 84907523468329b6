package fault

import (
	"slices"
	"strings"
)

// UpstreamNotFound is the name of an upstream that no route has.
func UpstreamNotFound() *Error {
	return &Error{Kind: NotFound, Reason: ReasonUpstreamNotFound, Param: "upstream", Message: "no route has an upstream of that name"}
}

// ModelNotFound is the name of a model that no route leads to. The text is OpenAI's.
func ModelNotFound(model string) *Error {
	e := New(NotFound, ReasonModelNotFound, "The model `%s` does not exist or you do not have access to it.", model)
	e.Param = "model"
	return e
}

// StreamCut is a stream that ended without its terminal event.
func StreamCut() *Error {
	return New(BadUpstream, ReasonStreamCut, "the upstream's stream ended before its end")
}

// MalformedAnswer is an answer of an upstream that cannot be read. Only the log has the cause,
// which may be nil.
func MalformedAnswer(cause error) *Error {
	return Wrap(cause, BadUpstream, ReasonMalformedAnswer, "the upstream's answer could not be read")
}

// Classify sets the reason of an upstream's error that refuses a prompt for its length or for its content, by the
// codes and texts of the vendors and engines. An error of another kind keeps its reason.
func (e *Error) Classify() {
	switch e.Kind {
	case InvalidRequest, TooLarge, Unprocessable, PermissionDenied, BadUpstream:
	default:
		return
	}
	text := strings.ToLower(e.Message)
	for _, r := range refusals {
		if slices.Contains(r.codes, strings.ToLower(e.NativeCode)) || slices.Contains(r.codes, strings.ToLower(e.NativeType)) ||
			slices.ContainsFunc(r.texts, func(words string) bool { return strings.Contains(text, words) }) {
			e.Reason = r.reason
			return
		}
	}
}

// refusals are the reasons of refused prompts, with the codes (or types) and the texts by which upstreams name them, in
// lower case.
var refusals = []struct {
	reason       string
	codes, texts []string
}{
	{
		ReasonContextLength,
		[]string{
			"context_length_exceeded",   // OpenAI, Azure, Groq, OpenRouter
			"exceed_context_size_error", // llama.cpp
		},
		[]string{
			"maximum context length",                       // OpenAI, vLLM, OpenRouter, Mistral
			"exceeds the context window",                   // OpenAI's responses
			"prompt is too long",                           // Anthropic
			"exceed context limit",                         // Anthropic: input length and `max_tokens` exceed context limit
			"exceeds the maximum number of tokens allowed", // Google: The input token count exceeds …
			"input is too long for requested model",        // Bedrock
			"maximum prompt length is",                     // xAI
			"longer than the model's context length",       // SGLang
			"exceeds the available context size",           // llama.cpp
			"`inputs` tokens + `max_new_tokens` must be",   // text-generation-inference
			"exceeded model token limit",                   // Moonshot
		},
	},
	{
		ReasonContentPolicy,
		[]string{
			"content_filter", "responsibleaipolicyviolation", // Azure
			"content_policy_violation", "image_content_policy_violation", "moderation_blocked", // OpenAI's images
			"bio_policy", "misalignment_policy_violation", // OpenAI's responses
			"data_inspection_failed", "datainspectionfailed", // DashScope
		},
		[]string{
			"content management policy",                 // Azure
			"violating our usage policy",                // OpenAI: invalid_prompt
			"rejected as a result of our safety system", // OpenAI's images
			"blocked by content filtering policy",       // Anthropic
			"requires moderation",                       // OpenRouter, with a 403
		},
	},
}
