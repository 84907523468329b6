package provider

var tgi = Provider{
	Name: "tgi", Title: "Text Generation Inference", Engine: true,
	Endpoints: []Endpoint{{
		Kinds: []string{"chat"}, MaxTokens: true,
		Source: "huggingface.co/docs/text-generation-inference/messages_api", Read: "2026-11-22",
	}},
	Notes: []string{"`base_url` is `http://HOST:PORT/v1`. The model may be `tgi` whatever it is."},
}
