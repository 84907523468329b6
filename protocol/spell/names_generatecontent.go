package spell

import "github.com/genway/genway/codec/generatecontent"

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
	settings: map[string]string{
		"model": "model", "messages": "contents", "tools": "tools",
		"tool_choice": "toolConfig.functionCallingConfig", "tool_choice.mode": "toolConfig.functionCallingConfig.mode",
		"tool_choice.native_mode": "toolConfig.functionCallingConfig.mode", "tool_choice.names": "toolConfig.functionCallingConfig.allowedFunctionNames",
		"tool_choice.parallel": none,
		"response_format":      "generationConfig.responseSchema|generationConfig.responseJsonSchema|generationConfig.responseMimeType",
		"response_format.kind": "generationConfig.responseSchema|generationConfig.responseJsonSchema|generationConfig.responseMimeType", "response_format.name": none, "response_format.description": none,
		"response_format.schema_json": "generationConfig.responseSchema|generationConfig.responseJsonSchema", "response_format.strict": none,
		"sampling.temperature": "generationConfig.temperature", "sampling.top_p": "generationConfig.topP", "sampling.top_k": "generationConfig.topK",
		"sampling.seed": "generationConfig.seed", "sampling.frequency_penalty": "generationConfig.frequencyPenalty",
		"sampling.presence_penalty": "generationConfig.presencePenalty", "sampling.candidate_count": "generationConfig.candidateCount",
		"sampling.logprobs": "generationConfig.responseLogprobs", "sampling.top_logprobs": "generationConfig.logprobs",
		"thinking": "generationConfig.thinkingConfig", "thinking.effort": "generationConfig.thinkingConfig.thinkingLevel",
		"thinking.budget_tokens":    "generationConfig.thinkingConfig.thinkingBudget",
		"thinking.include_thoughts": "generationConfig.thinkingConfig.includeThoughts", "thinking.summary": "generationConfig.thinkingConfig.includeThoughts",
		"thinking.mode":     "generationConfig.thinkingConfig",
		"max_output_tokens": "generationConfig.maxOutputTokens", "stop_sequences": "generationConfig.stopSequences",
		"service_tier": "serviceTier", "user": none, "metadata": none, "native_fields": none, "extra_json": none, "compact": none, "verbosity": none,
		"modalities": "generationConfig.responseModalities", "audio_output": "generationConfig.speechConfig",
		"audio_output.voice": "generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName", "audio_output.format": none,
		"store": "store", "prompt_cache_key": none, "safety_identifier": none, "cache_control": none,
		"page_size": "pageSize", "page_token": "pageToken",
	},
	message: map[string]string{"role": "role", "native_role": "role", "name": none, "native_fields": none},
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
