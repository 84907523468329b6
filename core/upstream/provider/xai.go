package provider

var xai = Provider{
	Name: "xai", Title: "xAI", KeyEnv: "XAI_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses", "images"}, Base: "https://api.x.ai/v1",
		Source: "docs.x.ai/developers/model-capabilities/text/comparison", Read: "2026-11-22",
	}},
	Notes: []string{
		"Reasoning models answer `presence_penalty`, `frequency_penalty` and `stop` with an error; `drop` them on such a target.",
		"Errors are `{\"code\": …, \"error\": \"text\"}`.",
	},
}
