package provider

var openrouter = Provider{
	Name: "openrouter", Title: "OpenRouter", KeyEnv: "OPENROUTER_API_KEY",
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "https://openrouter.ai/api/v1",
			Source: "openrouter.ai/docs/api-reference/overview", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "https://openrouter.ai/api", KeyHeader: "Authorization", NoCount: true, NoList: true,
			Source: "openrouter.ai/docs/api-reference/anthropic-messages", Read: "2026-11-22",
		},
	},
	Notes: []string{"Silent streams are kept open by comments (`: OPENROUTER PROCESSING`)."},
}
