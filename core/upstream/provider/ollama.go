package provider

var ollama = Provider{
	Name: "ollama", Title: "Ollama", Engine: true,
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "http://127.0.0.1:11434/v1", MaxTokens: true,
			Source: "docs.ollama.com/api/openai-compatibility", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "http://127.0.0.1:11434", KeyHeader: "Authorization", NoCount: true, NoList: true,
			Source: "docs.ollama.com/api/anthropic-compatibility", Read: "2026-11-22",
		},
	},
	Notes: []string{"Responses are stateless: `previous_response_id` and `conversation` have no effect."},
}
