package provider

var anthropic = Provider{
	Name: "anthropic", Title: "Anthropic", KeyEnv: "ANTHROPIC_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"messages"}, Base: "https://api.anthropic.com",
		Source: "github.com/anthropics/anthropic-sdk-go v1.84.0, option.WithEnvironmentProduction", Read: "2026-11-22",
	}},
}
