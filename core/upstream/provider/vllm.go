package provider

import "github.com/genway/genway/codec/dialect"

var vllm = Provider{
	Name: "vllm", Title: "vLLM", Engine: true,
	Endpoints: []Endpoint{{
		Kinds: []string{"chat", "responses", "messages"}, Chat: vllmChat,
		Documents: "github.com/vllm-project/vllm, vllm/entrypoints/openai/chat_completion/protocol.py, generate/base/protocol.py, read 2026-11-23",
		Source:    "docs.vllm.ai/en/latest/serving/openai_compatible_server.html", Read: "2026-11-22",
	}},
	Notes: []string{"`base_url` is `http://HOST:8000/v1` for chat and responses, `http://HOST:8000` for messages."},
}

// vllmChat is ChatCompletionRequest. It has max_completion_tokens, but versions before 0.6.3
// have max_tokens alone. Templates of models mostly have no role developer.
var vllmChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty seed n logprobs top_logprobs logit_bias
	tool_choice tool_choice.function parallel_tool_calls tools.function.strict
	response_format.json_schema reasoning_effort user stream_options
	messages.name messages.content.array messages.content.image_url messages.content.image_url.detail
	messages.content.input_audio messages.content.video_url messages.content.audio_url messages.reasoning`)
