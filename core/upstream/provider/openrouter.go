package provider

import "github.com/genway/genway/codec/dialect"

var openrouter = Provider{
	Name: "openrouter", Title: "OpenRouter", KeyEnv: "OPENROUTER_API_KEY",
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "https://openrouter.ai/api/v1", Chat: openrouterChat,
			Documents: "@openrouter/sdk 1.3.19, models/chatrequest, read 2026-11-23",
			Source:    "openrouter.ai/docs/api-reference/overview", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "https://openrouter.ai/api", KeyHeader: "Authorization", NoCount: true, NoList: true,
			Source: "openrouter.ai/docs/api-reference/anthropic-messages", Read: "2026-11-22",
		},
	},
	Notes: []string{"Silent streams are kept open by comments (`: OPENROUTER PROCESSING`)."},
}

// openrouterChat is ChatRequest of the SDK for TypeScript. Its reasoning_effort is another word for
// reasoning.effort.
var openrouterChat = dialect.New(`
	max_tokens max_completion_tokens stop temperature top_p frequency_penalty presence_penalty seed
	logprobs top_logprobs logit_bias prediction
	tool_choice tool_choice.function parallel_tool_calls tools.function.strict tools.cache_control
	response_format.json_schema reasoning modalities service_tier metadata user prompt_cache_key stream_options
	messages.developer messages.name messages.refusal
	messages.content.array messages.content.image_url messages.content.image_url.detail messages.content.input_audio
	messages.content.file messages.content.video_url messages.content.cache_control messages.content.prompt_cache_breakpoint
	messages.reasoning messages.reasoning_details messages.images messages.audio`)
