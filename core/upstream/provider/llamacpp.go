package provider

var llamacpp = Provider{
	Name: "llamacpp", Title: "llama.cpp (llama-server)", Engine: true,
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "http://127.0.0.1:8080/v1", MaxTokens: true,
			Source: "github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; make engine", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "http://127.0.0.1:8080",
			Source: "github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; make engine", Read: "2026-11-22",
		},
	},
	Notes: []string{"It closes each connection behind a stream."},
}
