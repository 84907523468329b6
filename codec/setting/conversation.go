package setting

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// Member is a field of the conversation or of an answer, and the path of the member that each protocol has
// for it, from the object that its message of the contract was made of. Of several with | between them the
// first is written. Where a protocol has none, the field is part of what it is within, or of the object
// itself; Itself says that it is part of the latter only.
type Member struct{ Field, Chat, Responses, Messages, GenerateContent, Interactions string }

// Itself is the object that a message of the contract was made of.
const Itself = "."

// Of is what a protocol calls a field; empty for no name of its own.
func (m *Member) Of(protocol genwayv1.Protocol) string {
	switch protocol { //nolint:exhaustive // no other protocol has conversations
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return m.Chat
	case genwayv1.Protocol_PROTOCOL_RESPONSES:
		return m.Responses
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return m.Messages
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		return m.GenerateContent
	case genwayv1.Protocol_PROTOCOL_INTERACTIONS:
		return m.Interactions
	}
	return ""
}

// Messages are the fields of Message but for its parts. These tables must not be changed.
var Messages = []Member{
	{"role", "role", "role", "role", "role", "type"},
	{"native_role", "role", "role", "role", "role", "type"},
	{"name", "name", "", "", "", ""},
	{"native_fields", "", "", "", "", ""},
}

// Holders are the members of a message's object that have parts without an object of their own, by the
// parts' kinds, or a field of such a part in a member of its own.
var Holders = []Member{
	{"text", "content", "content", "content", "", ""},
	{"text.citations", "annotations", "", "", "", ""},
	{"refusal", "refusal", "", "", "", ""},
	{"thinking", "reasoning_content|reasoning|reasoning_details", "", "", "", ""},
	{"image", "images", "", "", "", ""},
	{"audio", "audio", "", "", "", ""},
	{"opaque", "reasoning_details", "", "", "", ""},
	{"tool_call", "function_call", "", "", "", ""},
	{"tool_result", Itself, "", "", "", Itself},
}

// Parts are the fields of Part.
var Parts = []Member{
	{"id", "id", "id", "", "", ""},
	{"text", "text", "text", "text", "text", "text"},
	{"text.citations", Itself, "annotations", "citations", Itself, "annotations"},
	{"text.logprobs", Itself, "logprobs", Itself, Itself, Itself},
	{"refusal", "refusal", "refusal", "", "", ""},
	{"refusal.logprobs", Itself, "logprobs", "", "", Itself},
	{"image", "image_url", "image_url|file_id|result", "source", "inlineData|fileData", "uri|data"},
	{"image.url", "image_url.url", "", "source.url", "", "uri"},
	{"image.detail", "image_url.detail", "detail", "", "", "resolution"},
	{"image.mime_type", "", "output_format", "source.media_type", "inlineData.mimeType|fileData.mimeType", "mime_type"},
	{"image.data", "", "", "source.data", "", "data"},
	{"image.file_id", "", "", "source.file_id", "", "uri"},
	{"audio", "input_audio|audio_url", "input_audio", "", "inlineData|fileData", "uri|data"},
	{"audio.mime_type", "input_audio.format", "input_audio.format", "", "inlineData.mimeType|fileData.mimeType", "mime_type"},
	{"audio.data", "input_audio.data", "input_audio.data", "", "", "data"},
	{"file", "file", "file_data|file_url|file_id", "source", "inlineData|fileData", "uri|data"},
	{"file.data", "file.file_data", "", "source.data", "", "data"},
	{"file.file_id", "file.file_id", "", "source.file_id", "", "uri"},
	{"file.filename", "file.filename", "filename", "title", "inlineData.displayName|fileData.displayName", ""},
	{"file.detail", "", "detail", "", "", ""},
	{"file.mime_type", "file.file_data", "file_data|file_url", "source.media_type", "inlineData.mimeType|fileData.mimeType", "mime_type"},
	{"file.url", "", "", "source.url", "", "uri"},
	{"video", "video_url", "", "", "inlineData|fileData", "uri|data"},
	{"thinking", "", "", "", "", ""},
	{"thinking.text", "", "content", "thinking", "text", "summary"},
	{"thinking.summary", "", "summary", "", "", "summary"},
	{"thinking.encrypted_content", "", "encrypted_content", "data|signature", "thoughtSignature", "signature"},
	{"thinking.signature", "", "encrypted_content", "signature", "thoughtSignature", "signature"},
	{"tool_call", "", "", "", "functionCall", ""},
	{"tool_call.id", "id", "call_id", "id", "functionCall.id", "id"},
	{"tool_call.name", "function.name|custom.name", "name", "name", "functionCall.name", "name"},
	{"tool_call.arguments_json", "function.arguments", "arguments", "input", "functionCall.args", "arguments"},
	{"tool_call.input", "custom.input", "input", "", "", ""},
	{"tool_result", "", "", "", "functionResponse", ""},
	{"tool_result.tool_call_id", "tool_call_id", "call_id", "tool_use_id", "functionResponse.id", "call_id"},
	{"tool_result.name", "name", "name", "", "functionResponse.name", "name"},
	{"tool_result.parts", "content", "output", "content", "functionResponse.parts|functionResponse.response", "result"},
	{"tool_result.is_error", "", "", "is_error", "functionResponse.response", "is_error"},
	{"tool_result.result_json", "", "", "", "functionResponse.response", "result"},
	{"opaque", "", "", "", "", ""},
	{"cache_control", "cache_control|prompt_cache_breakpoint", "prompt_cache_breakpoint", "cache_control", "", ""},
	{"cache_control.ttl", "cache_control.ttl|prompt_cache_breakpoint.ttl", "prompt_cache_breakpoint.ttl", "cache_control.ttl", "", ""},
	{"thought_signature", "extra_content", "", "", "thoughtSignature", ""},
	{"native_fields", "", "", "", "", ""},
}

// Tools are the fields of Tool.
var Tools = []Member{
	{"function", "function", "", "", "", ""},
	{"function.name", "function.name|name", "name", "name", "name", "name"},
	{"function.description", "function.description|description", "description", "description", "description", "description"},
	{"function.parameters_json", "function.parameters|parameters", "parameters", "input_schema", "parameters|parametersJsonSchema", "parameters"},
	{"function.strict", "function.strict", "strict", "strict", "", ""},
	{"hosted", "", "", "", "", ""},
	{"hosted.type", "type", "type", "type", "", "type"},
	{"type", "type", "type", "type", "", "type"},
	{"custom", "custom", "", "", "", ""},
	{"custom.name", "custom.name", "name", "", "", ""},
	{"custom.description", "custom.description", "description", "", "", ""},
	{"custom.format_json", "custom.format", "format", "", "", ""},
	{"cache_control", "cache_control", "", "cache_control", "", ""},
	{"cache_control.ttl", "cache_control.ttl", "", "cache_control.ttl", "", ""},
	{"native_fields", "", "", "", "", ""},
}

// Lists are the fields of ListModelsRequest.
var Lists = []Member{
	{"page_size", "limit", "limit", "limit", "pageSize", "pageSize"},
	{"page_token", "after", "after", "after_id", "pageToken", "pageToken"},
}

// Answers are the fields of answers, with the paths that lead to where a protocol would have them.
var Answers = []Member{
	{"candidates", "choices", "output", "content", "candidates", "steps"},
	{"candidates[]", "choices[]", "", "", "candidates[]", ""},
	{"candidates[].parts", "message", "output", "content", "content", "steps"},
	{"usage", "usage", "usage", "usage", "usageMetadata", "usage"},
}

// openaiServed are OpenAI's words for the tiers of answers.
var openaiServed = map[string]string{"": "default", "standard": "default"}

// tiers are the words of a protocol for the tier that served an answer, where they are not the upstream's own
// (ChatCompletionServiceTier and ResponseServiceTier of openai-go, UsageServiceTier of @anthropic-ai/sdk,
// ServiceTier of genai). The empty word is that of an upstream which names none.
var tiers = map[genwayv1.Protocol]map[string]string{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: openaiServed,
	genwayv1.Protocol_PROTOCOL_RESPONSES:        openaiServed,
	genwayv1.Protocol_PROTOCOL_MESSAGES:         {"": "standard", "default": "standard", "auto": "standard"},
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: {"default": "standard"},
	genwayv1.Protocol_PROTOCOL_INTERACTIONS:     {"default": "standard"},
}

// Tier returns the word of a protocol for the tier that served an answer.
func Tier(protocol genwayv1.Protocol, word string) string {
	if own, ok := tiers[protocol][word]; ok {
		return own
	}
	return word
}
