package spell

// Messages are the names of the messages protocol.
var Messages = Names{
	spelled: plain,
	list:    "messages",
	system:  "system",
	tools:   "tools",
	marked:  []string{"system[]", "messages[]", "messages[].content[]", "messages[].content[].content[]", "tools[]"},
	settings: map[string]string{
		"model": "model", "messages": "messages", "tools": "tools",
		"tool_choice": "tool_choice", "tool_choice.mode": "tool_choice.type", "tool_choice.names": "tool_choice.name",
		"tool_choice.parallel": "tool_choice.disable_parallel_tool_use",
		"response_format":      "output_config.format|output_format", "response_format.kind": "output_config.format.type|output_format.type",
		"response_format.schema_json": "output_config.format.schema|output_format.schema",
		"sampling.temperature":        "temperature", "sampling.top_p": "top_p", "sampling.top_k": "top_k", "sampling.seed": none,
		"sampling.frequency_penalty": none, "sampling.presence_penalty": none, "sampling.candidate_count": none,
		"sampling.logprobs": none, "sampling.top_logprobs": none,
		"thinking": "thinking", "thinking.mode": "thinking.type", "thinking.effort": "output_config.effort",
		"thinking.budget_tokens": "thinking.budget_tokens", "thinking.include_thoughts": "thinking.display", "thinking.summary": "thinking.display",
		"max_output_tokens": "max_tokens", "stop_sequences": "stop_sequences", "service_tier": "service_tier", "user": "metadata.user_id",
		"metadata": none, "native_fields": none, "extra_json": none, "compact": none, "verbosity": none, "modalities": none, "audio_output": none,
		"store": none, "prompt_cache_key": none, "safety_identifier": none, "cache_control": "cache_control",
		"cache_control.ttl_seconds": "cache_control.ttl", "page_size": "limit", "page_token": "after_id",
	},
	message: map[string]string{"role": "role", "native_role": "role", "name": none, "native_fields": none},
	holder:  map[string]string{"text": "content"},
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
