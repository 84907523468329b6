package provider

import "github.com/genway/genway/codec/dialect"

var groq = Provider{
	Name: "groq", Title: "Groq", KeyEnv: "GROQ_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses"}, Base: "https://api.groq.com/openai/v1",
		Chat: groqChat, Documents: "console.groq.com/docs/api-reference, Create chat completion; github.com/groq/groq-python, types/chat, excerpts read 2026-11-23",
		Source: "console.groq.com/docs/openai", Read: "2026-11-22",
	}},
	Notes: []string{"`messages[].name` and `n` above 1 are answered with 400."},
}

// groqChat is the body of Create chat completion. metadata and store are in it as "not
// supported"; logprobs, top_logprobs, logit_bias, messages[].name and an n above 1 are
// answered with 400 (console.groq.com/docs/openai).
var groqChat = dialect.New(`
	max_tokens max_completion_tokens stop temperature top_p frequency_penalty presence_penalty seed
	tool_choice tool_choice.function parallel_tool_calls tools.function.strict
	response_format.json_schema reasoning_effort user stream_options
	messages.content.array messages.content.image_url messages.content.image_url.detail messages.reasoning`)
