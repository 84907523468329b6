package provider

import "github.com/genway/genway/codec/dialect"

var deepseek = Provider{
	Name: "deepseek", Title: "DeepSeek", KeyEnv: "DEEPSEEK_API_KEY",
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat"}, Base: "https://api.deepseek.com/v1", Chat: deepseekChat,
			Documents: "api-docs.deepseek.com/api/create-chat-completion, guides/thinking_mode, guides/vision, excerpts read 2026-11-23",
			Source:    "api-docs.deepseek.com", Read: "2026-11-22",
		},
		{
			Kinds: []string{"responses"}, Base: "https://api.deepseek.com", NoCount: true,
			Source: "api-docs.deepseek.com/guides/responses_api", Read: "2026-11-23",
		},
		{
			Kinds: []string{"messages"}, Base: "https://api.deepseek.com/anthropic", NoCount: true, NoList: true,
			Source: "api-docs.deepseek.com/guides/anthropic_api", Read: "2026-11-22",
		},
	},
	Notes: []string{
		"Of messages it ignores `anthropic-version`, `anthropic-beta`, `container` and `mcp_servers`.",
		"Responses are stateless: nothing is stored, and `previous_response_id` has no effect.",
		"Only its Flash models take images.",
	},
}

// deepseekChat is the body of Create Chat Completion: content is a string, but for a user's that
// shows images, and a structured output a JSON object without a schema.
var deepseekChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty logprobs top_logprobs
	tool_choice tool_choice.function tools.function.strict reasoning_effort stream_options
	messages.name messages.content.image_url messages.reasoning_content`)
