package spell

import (
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Responses are the names of the responses protocol.
var Responses = Names{
	spelled:  plain,
	list:     "input",
	system:   "instructions",
	tools:    "tools",
	marked:   []string{"input[]", "input[].content[]", "input[].output[]", "input[].tools[]", "input[].tools[].tools[]", "tools[]", "tools[].tools[]"},
	settings: settings(genwayv1.Protocol_PROTOCOL_RESPONSES, setting.Texts(), map[string]string{"page_size": "limit", "page_token": "after"}),
	message:  map[string]string{"role": "role", "native_role": "role", "name": none, "native_fields": none},
	holder:   map[string]string{"text": "content"},
	part: map[string]string{
		"id": "id", "text": "text", "text.citations": "annotations", "text.logprobs": "logprobs", "refusal": "refusal", "refusal.logprobs": "logprobs",
		"image": "image_url|file_id|result", "image.detail": "detail", "image.media_type": "output_format",
		"audio": "input_audio", "audio.media_type": "input_audio.format", "audio.data": "input_audio.data",
		"file": "file_data|file_url|file_id", "file.filename": "filename", "file.detail": "detail", "video": none,
		"thinking": none, "thinking.text": "content", "thinking.summary": "summary", "thinking.encrypted_content": "encrypted_content",
		"thinking.signature": "encrypted_content", "tool_call": none, "tool_call.id": "call_id", "tool_call.name": "name",
		"tool_call.arguments_json": "arguments", "tool_call.input": "input",
		"tool_result": none, "tool_result.tool_call_id": "call_id", "tool_result.name": "name", "tool_result.parts": "output",
		"opaque": none, "cache_control": "prompt_cache_breakpoint", "cache_control.ttl_seconds": "prompt_cache_breakpoint.ttl",
		"thought_signature": none, "native_fields": none,
	},
	tool: map[string]string{
		"function": none, "function.name": "name", "function.description": "description", "function.parameters_json": "parameters",
		"function.strict": "strict", "hosted": none, "hosted.type": "type", "type": "type", "custom": none, "custom.name": "name",
		"custom.description": "description", "custom.format_json": "format", "cache_control": none, "native_fields": none,
	},
	answer: map[string]string{"candidates": "output", "candidates[]": none, "parts": "output", "usage": "usage"},
}
