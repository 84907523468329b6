package spell

import (
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Messages are the names of the messages protocol.
var Messages = Names{
	spelled:  plain,
	list:     "messages",
	system:   "system",
	tools:    "tools",
	marked:   []string{"system[]", "messages[]", "messages[].content[]", "messages[].content[].content[]", "tools[]"},
	settings: settings(genwayv1.Protocol_PROTOCOL_MESSAGES, setting.Texts(), map[string]string{"page_size": "limit", "page_token": "after_id"}),
	message:  map[string]string{"role": "role", "native_role": "role", "name": none, "native_fields": none},
	holder:   map[string]string{"text": "content"},
	part: map[string]string{
		"id": none, "text": "text", "text.citations": "citations", "text.logprobs": none, "refusal": none,
		"image": "source", "image.media_type": "source.media_type", "image.data": "source.data", "image.url": "source.url", "image.file_id": "source.file_id",
		"audio": none, "file": "source", "file.media_type": "source.media_type", "file.data": "source.data", "file.url": "source.url",
		"file.file_id": "source.file_id", "file.filename": "title", "video": none,
		"thinking": none, "thinking.text": "thinking", "thinking.signature": "signature", "thinking.encrypted_content": "data|signature",
		"tool_call": none, "tool_call.id": "id", "tool_call.name": "name", "tool_call.arguments_json": "input",
		"tool_result": none, "tool_result.tool_call_id": "tool_use_id", "tool_result.parts": "content", "tool_result.is_error": "is_error",
		"opaque": none, "cache_control": "cache_control", "cache_control.ttl_seconds": "cache_control.ttl", "thought_signature": none, "native_fields": none,
	},
	tool: map[string]string{
		"function": none, "function.name": "name", "function.description": "description", "function.parameters_json": "input_schema",
		"function.strict": "strict", "hosted": none, "hosted.type": "type", "type": "type", "custom": none, "cache_control": "cache_control",
		"cache_control.ttl_seconds": "cache_control.ttl", "native_fields": none,
	},
	answer: map[string]string{"candidates": "content", "candidates[]": none, "parts": "content", "usage": "usage"},
}
