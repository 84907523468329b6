package provider

import "github.com/genway/genway/codec/dialect"

var deepseek = Provider{
	Name: "deepseek", Title: "DeepSeek", KeyEnv: "DEEPSEEK_API_KEY",
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat"}, Base: "https://api.deepseek.com/v1", Chat: deepseekChat,
			Documents: "api-docs.deepseek.com/api/create-chat-completion; api-docs.deepseek.com/guides/thinking_mode, excerpts read 2026-11-23",
			Source:    "api-docs.deepseek.com", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "https://api.deepseek.com/anthropic", NoCount: true, NoList: true,
			Source: "api-docs.deepseek.com/guides/anthropic_api", Read: "2026-11-22",
		},
	},
	Notes: []string{"Of messages it ignores `anthropic-version`, `anthropic-beta`, `container` and `mcp_servers`."},
}

// deepseekChat is the body of Create Chat Completion: content is a string, and a structured
// output a JSON object without a schema.
var deepseekChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty logprobs top_logprobs
	tool_choice tool_choice.function tools.function.strict reasoning_effort stream_options
	messages.name messages.reasoning_content`)
