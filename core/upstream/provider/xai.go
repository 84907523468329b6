package provider

import "github.com/genway/genway/codec/dialect"

var xai = Provider{
	Name: "xai", Title: "xAI", KeyEnv: "XAI_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses", "images"}, Base: "https://api.x.ai/v1", Chat: xaiChat,
		Documents: "xAI's OpenAPI document (api.x.ai/api-docs/openapi.json), ChatRequest, by way of github.com/api-evangelist/xai, read 2026-11-23",
		Source:    "docs.x.ai/developers/model-capabilities/text/comparison", Read: "2026-11-22",
	}},
	Notes: []string{
		"Reasoning models answer `presence_penalty`, `frequency_penalty` and `stop` with an error; `drop` them on such a target.",
		"Errors are `{\"code\": …, \"error\": \"text\"}`.",
	},
}

// xaiChat is ChatRequest of the OpenAPI document. logit_bias and a function's strict are in it as
// not supported, and a file is taken by its identifier or address alone.
var xaiChat = dialect.New(`
	max_tokens max_completion_tokens stop temperature top_p frequency_penalty presence_penalty seed n
	logprobs top_logprobs
	tool_choice tool_choice.function parallel_tool_calls
	response_format.json_schema reasoning_effort user stream_options
	messages.name messages.content.array messages.content.image_url messages.reasoning_content`).WithEfforts("low", "high")
