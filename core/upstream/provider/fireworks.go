package provider

var fireworks = Provider{
	Name: "fireworks", Title: "Fireworks AI", KeyEnv: "FIREWORKS_API_KEY",
	Endpoints: []Endpoint{
		{
			Kinds: []string{"chat", "responses"}, Base: "https://api.fireworks.ai/inference/v1",
			Source: "docs.fireworks.ai/tools-sdks/openai-compatibility", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Base: "https://api.fireworks.ai/inference", KeyHeader: "Authorization", NoCount: true, NoList: true,
			Source: "docs.fireworks.ai/tools-sdks/anthropic-compatibility", Read: "2026-11-22",
		},
	},
	Notes: []string{"A prompt and `max_tokens` above the context lower `max_tokens` instead of failing, unless the body has `context_length_exceeded_behavior: error`."},
}
