package provider

import "github.com/genway/genway/codec/dialect"

var llamacpp = Provider{
	Name: "llamacpp", Title: "llama.cpp (llama-server)", Engine: true,
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "http://127.0.0.1:8080/v1", Chat: llamacppChat,
			Source: "github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; make engine", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "http://127.0.0.1:8080",
			Source: "github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; make engine", Read: "2026-11-22",
		},
	},
	Notes: []string{"It closes each connection after a stream."},
}

// llamacppChat is what the server's manual names. Others it passes over. A tool_choice is one of
// its words.
var llamacppChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty seed logprobs top_logprobs
	tool_choice parallel_tool_calls response_format.json_schema reasoning_effort stream_options
	messages.name messages.content.array messages.content.image_url messages.content.input_audio
	messages.reasoning_content`)
