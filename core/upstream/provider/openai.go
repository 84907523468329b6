package provider

import "github.com/genway/genway/codec/dialect"

var openai = Provider{
	Name: "openai", Title: "OpenAI", KeyEnv: "OPENAI_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses", "images"}, Base: "https://api.openai.com/v1", Chat: openaiChat,
		Source: "github.com/openai/openai-go/v3 v3.95.0, option.WithEnvironmentProduction", Read: "2026-11-22",
	}},
}

// openaiChat is ChatCompletionNewParams of the SDK: what the vendor documents, without the
// members that others add to messages.
var openaiChat = dialect.New(`
	max_tokens max_completion_tokens stop temperature top_p frequency_penalty presence_penalty seed n
	logprobs top_logprobs logit_bias prediction web_search_options
	tool_choice tool_choice.function tool_choice.allowed_tools parallel_tool_calls tools.function.strict tools.custom
	response_format.json_schema reasoning_effort verbosity modalities audio service_tier store metadata user
	safety_identifier prompt_cache_key prompt_cache_retention stream_options
	messages.developer messages.name messages.content.array messages.content.image_url messages.content.image_url.detail
	messages.content.input_audio messages.content.file messages.content.refusal messages.content.prompt_cache_breakpoint
	messages.refusal messages.audio`)
