package provider

var openai = Provider{
	Name: "openai", Title: "OpenAI", KeyEnv: "OPENAI_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses", "images"}, Base: "https://api.openai.com/v1",
		Source: "github.com/openai/openai-go/v3 v3.95.0, option.WithEnvironmentProduction", Read: "2026-11-22",
	}},
}
