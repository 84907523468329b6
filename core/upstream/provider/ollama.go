package provider

import "github.com/genway/genway/codec/dialect"

var ollama = Provider{
	Name: "ollama", Title: "Ollama", Engine: true,
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "http://127.0.0.1:11434/v1", Chat: ollamaChat,
			Documents: "github.com/ollama/ollama, openai/openai.go, read 2026-11-23",
			Source:    "docs.ollama.com/api/openai-compatibility", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "http://127.0.0.1:11434", KeyHeader: "Authorization", NoCount: true, NoList: true,
			Source: "docs.ollama.com/api/anthropic-compatibility", Read: "2026-11-22",
		},
	},
	Notes: []string{"Responses are stateless: `previous_response_id` and `conversation` have no effect."},
}

// ollamaChat is ChatCompletionRequest. It has no tool_choice. An array of texts becomes
// messages of their own, and an image is data alone.
var ollamaChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty seed
	response_format.json_schema reasoning_effort stream_options
	messages.name messages.content.image_url messages.reasoning`)
