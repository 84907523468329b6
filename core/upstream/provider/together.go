package provider

var together = Provider{
	Name: "together", Title: "Together AI", KeyEnv: "TOGETHER_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "images"}, Base: "https://api.together.ai/v1", MaxTokens: true,
		Source: "docs.together.ai/docs/inference/openai-compatibility", Read: "2026-11-22",
	}},
}
