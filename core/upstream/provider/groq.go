package provider

var groq = Provider{
	Name: "groq", Title: "Groq", KeyEnv: "GROQ_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses"}, Base: "https://api.groq.com/openai/v1",
		Refuses: []string{"logprobs", "logit_bias", "top_logprobs"},
		Source:  "console.groq.com/docs/openai", Read: "2026-11-22",
	}},
	Notes: []string{"`messages[].name` and `n` above 1 are answered with 400."},
}
