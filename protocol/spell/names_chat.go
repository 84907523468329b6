package spell

import (
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Chat are the names of chat completions.
var Chat = Names{
	spelled:  plain,
	list:     "messages",
	system:   "messages",
	tools:    "tools|functions",
	marked:   []string{"messages[]", "messages[].content[]", "messages[].images[]", "messages[].tool_calls[]", "tools[]", "functions[]"},
	settings: settings(genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, setting.Texts(), map[string]string{"page_size": "limit", "page_token": "after"}),
	message:  map[string]string{"role": "role", "native_role": "role", "name": "name", "native_fields": none},
	holder: map[string]string{
		"text": "content", "refusal": "refusal", "thinking": "reasoning_content|reasoning|reasoning_details", "audio": "audio",
		"tool_call": "function_call", "tool_result": itself, "image": "images",
	},
	part: map[string]string{
		"id": "id", "text": "text", "text.citations": none, "text.logprobs": none, "refusal": "refusal", "refusal.logprobs": none,
		"image": "image_url", "image.url": "image_url.url", "image.detail": "image_url.detail",
		"audio": "input_audio|audio_url", "audio.media_type": "input_audio.format", "audio.data": "input_audio.data",
		"file": "file", "file.data": "file.file_data", "file.file_id": "file.file_id", "file.filename": "file.filename",
		"video": "video_url", "thinking": none,
		"tool_call": none, "tool_call.id": "id", "tool_call.name": "function.name|custom.name",
		"tool_call.arguments_json": "function.arguments", "tool_call.input": "custom.input",
		"tool_result": none, "tool_result.tool_call_id": "tool_call_id", "tool_result.name": "name", "tool_result.parts": "content",
		"opaque": none, "cache_control": "cache_control|prompt_cache_breakpoint",
		"cache_control.ttl_seconds": "cache_control.ttl|prompt_cache_breakpoint.ttl", "thought_signature": "extra_content", "native_fields": none,
	},
	tool: map[string]string{
		"function": "function", "function.name": "function.name|name", "function.description": "function.description|description",
		"function.parameters_json": "function.parameters|parameters", "function.strict": "function.strict", "hosted": none, "hosted.type": "type", "type": "type",
		"custom": "custom", "custom.name": "custom.name", "custom.description": "custom.description", "custom.format_json": "custom.format",
		"cache_control": "cache_control", "cache_control.ttl_seconds": "cache_control.ttl", "native_fields": none,
	},
	answer: map[string]string{"candidates": "choices", "candidates[]": "choices[]", "parts": "message", "usage": "usage"},
}
