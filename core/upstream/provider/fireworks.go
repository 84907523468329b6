package provider

import "github.com/genway/genway/codec/dialect"

var fireworks = Provider{
	Name: "fireworks", Title: "Fireworks AI", KeyEnv: "FIREWORKS_API_KEY",
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "https://api.fireworks.ai/inference/v1", Chat: fireworksChat,
			Documents: "github.com/fw-ai-external/python-sdk, types/chat/completion_create_params.py, types/shared_params/chat_message.py, read 2026-11-23",
			Source:    "docs.fireworks.ai/tools-sdks/openai-compatibility", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "https://api.fireworks.ai/inference", KeyHeader: "Authorization", NoCount: true, NoList: true,
			Source: "docs.fireworks.ai/tools-sdks/anthropic-compatibility", Read: "2026-11-22",
		},
	},
	Notes: []string{
		"Streams end with usage unasked, so that `stream_usage` is `leave`.",
		"A prompt and `max_tokens` above the context lower `max_tokens` instead of failing, unless the body has `context_length_exceeded_behavior: error`.",
	},
}

// fireworksChat is CompletionCreateParams of the SDK for Python, with ChatMessage. Streams end
// with usage unasked.
var fireworksChat = dialect.New(`
	max_tokens max_completion_tokens stop temperature top_p frequency_penalty presence_penalty seed n
	logprobs top_logprobs logit_bias prediction
	tool_choice tool_choice.function parallel_tool_calls tools.function.strict
	response_format.json_schema reasoning_effort metadata user
	messages.content.array messages.content.image_url messages.content.image_url.detail messages.reasoning_content`)
