package provider

import "github.com/genway/genway/codec/dialect"

var groq = Provider{
	Name: "groq", Title: "Groq", KeyEnv: "GROQ_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses"}, Base: "https://api.groq.com/openai/v1",
		Chat: groqChat, Documents: "groq-sdk 1.6.0, resources/chat/completions; console.groq.com/docs/api-reference for stream_options, read 2026-11-23",
		Source: "console.groq.com/docs/openai", Read: "2026-11-22",
	}},
	Notes: []string{"`messages[].name` and `n` above 1 are answered with 400."},
}

// groqChat is ChatCompletionCreateParams of the SDK for TypeScript. metadata, store and the two
// penalties are in it as not supported; logprobs, top_logprobs, logit_bias, messages[].name and an
// n above 1 are answered with 400 (console.groq.com/docs/openai). Its service_tier has words of
// its own.
var groqChat = dialect.New(`
	max_tokens max_completion_tokens stop temperature top_p seed
	tool_choice tool_choice.function parallel_tool_calls tools.function.strict
	response_format.json_schema reasoning_effort user stream_options messages.developer
	messages.content.array messages.content.image_url messages.content.image_url.detail messages.reasoning`).WithEfforts("none", "low", "medium", "high")
