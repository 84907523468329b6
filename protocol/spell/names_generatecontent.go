package spell

import (
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// GenerateContent are the names of generateContent.
var GenerateContent = Names{
	spelled: generatecontent.Codec{}.Spelled,
	camel:   true,
	list:    "contents",
	system:  "systemInstruction",
	tools:   "tools",
	marked: []string{
		"contents[].parts[]", "contents[].parts[].functionResponse.parts[]", "systemInstruction.parts[]",
		"tools[].functionDeclarations[]", "tools[].*",
	},
	settings: settings(genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, setting.Texts(), map[string]string{"page_size": "pageSize", "page_token": "pageToken"}),
	message:  map[string]string{"role": "role", "native_role": "role", "name": none, "native_fields": none},
	part: map[string]string{
		"id": none, "text": "text", "text.citations": none, "text.logprobs": none, "refusal": none,
		"image": "inlineData|fileData", "audio": "inlineData|fileData", "file": "inlineData|fileData", "video": "inlineData|fileData",
		"thinking": none, "thinking.text": "text", "thinking.signature": "thoughtSignature", "thinking.encrypted_content": "thoughtSignature",
		"tool_call": "functionCall", "tool_call.id": "functionCall.id", "tool_call.name": "functionCall.name", "tool_call.arguments_json": "functionCall.args",
		"tool_result": "functionResponse", "tool_result.tool_call_id": "functionResponse.id", "tool_result.name": "functionResponse.name",
		"tool_result.parts": "functionResponse.parts|functionResponse.response", "tool_result.result_json": "functionResponse.response",
		"tool_result.is_error": "functionResponse.response", "opaque": none, "cache_control": none, "thought_signature": "thoughtSignature",
		"native_fields": none,
	},
	tool: map[string]string{
		"function": none, "function.name": "name", "function.description": "description",
		"function.parameters_json": "parameters|parametersJsonSchema", "function.strict": none, "hosted": none, "type": none, "custom": none,
		"cache_control": none, "native_fields": none,
	},
	answer: map[string]string{"candidates": "candidates", "candidates[]": "candidates[]", "parts": "content", "usage": "usageMetadata"},
}
