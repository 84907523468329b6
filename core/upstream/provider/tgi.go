package provider

import "github.com/genway/genway/codec/dialect"

var tgi = Provider{
	Name: "tgi", Title: "Text Generation Inference", Engine: true,
	Endpoints: []Endpoint{{
		Kinds: []string{"chat"}, Chat: tgiChat,
		Documents: "@huggingface/tasks 0.21.54, chat-completion/spec/input.json, generated from TGI's OpenAPI document; its docs/openapi.json for GrammarType, read 2026-11-23",
		Source:    "huggingface.co/docs/text-generation-inference/messages_api", Read: "2026-11-22",
	}},
	Notes: []string{"`base_url` is `http://HOST:PORT/v1`. The model may be `tgi` whatever it is."},
}

// tgiChat is ChatRequest of its OpenAPI document, where logit_bias and n are unused. A schema is the
// value of the type json.
var tgiChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty seed logprobs top_logprobs
	tool_choice tool_choice.function response_format.value stream_options
	messages.name messages.content.array messages.content.image_url`)
