package provider

var mistral = Provider{
	Name: "mistral", Title: "Mistral", KeyEnv: "MISTRAL_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat"}, Base: "https://api.mistral.ai/v1", MaxTokens: true,
		Refuses: []string{
			"stream_options", "store", "user", "seed", "logprobs", "top_logprobs", "logit_bias", "service_tier", "modalities", "audio",
			"safety_identifier", "prompt_cache_key", "verbosity", "web_search_options",
		},
		Headers: []string{"X-Ratelimitbysize-", "Ratelimitbysize-"},
		Source:  "docs.mistral.ai/api/endpoint/chat; github.com/editor-code-assistant/eca/issues/231", Read: "2026-11-22",
	}},
	Notes: []string{
		"It answers 422 to any member that it does not know, also to callers of its own protocol, whose bodies are not changed.",
		"Streams end with usage unasked, so that `stream_usage` is `leave`.",
	},
}
