package provider

import "github.com/genway/genway/codec/dialect"

var together = Provider{
	Name: "together", Title: "Together AI", KeyEnv: "TOGETHER_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "images"}, Base: "https://api.together.ai/v1", Chat: togetherChat,
		Documents: "together-ai 0.52.0, resources/chat/completions, read 2026-11-23",
		Source:    "docs.together.ai/docs/inference/openai-compatibility", Read: "2026-11-22",
	}},
	Notes: []string{"Streams end with usage unasked, so that `stream_usage` is `leave`."},
}

// togetherChat is CompletionCreateParams of the SDK for TypeScript, which is generated from the
// vendor's OpenAPI document. logprobs is a number there, and the content of all but the user a
// string. Streams end with usage unasked.
var togetherChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty seed n logit_bias
	tool_choice tool_choice.function response_format.json_schema reasoning_effort
	messages.name messages.reasoning_content messages.content.image_url messages.content.input_audio
	messages.content.video_url messages.content.audio_url`).WithEfforts("low", "medium", "high")
