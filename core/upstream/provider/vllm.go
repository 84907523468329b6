package provider

var vllm = Provider{
	Name: "vllm", Title: "vLLM", Engine: true,
	Endpoints: []Endpoint{{
		Kinds:  []string{"chat", "responses", "messages"},
		Source: "docs.vllm.ai/en/latest/serving/openai_compatible_server.html", Read: "2026-11-22",
	}},
	Notes: []string{"`base_url` is `http://HOST:8000/v1` for chat and responses, `http://HOST:8000` for messages."},
}
