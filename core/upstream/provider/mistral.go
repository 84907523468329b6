package provider

import "github.com/genway/genway/codec/dialect"

var mistral = Provider{
	Name: "mistral", Title: "Mistral", KeyEnv: "MISTRAL_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"chat"}, Base: "https://api.mistral.ai/v1", Chat: mistralChat,
		Documents: "@mistralai/mistralai 2.7.0, models/components/chatcompletionrequest, read 2026-11-23",
		Source:    "docs.mistral.ai/api/endpoint/chat; github.com/editor-code-assistant/eca/issues/231", Read: "2026-11-22",
	}},
	Notes: []string{
		"It answers 422 to any member that it does not know, also to callers of its own protocol, whose bodies are not changed.",
		"Streams end with usage unasked, so that `stream_usage` is `leave`.",
	},
}

// mistralChat is ChatCompletionRequest of the SDK for TypeScript, with the messages, content chunks
// and tools that it names. Its service_tier has words of its own, and its audio and files a form
// of their own. Identifiers of tool calls are refused unless they are nine letters and digits.
var mistralChat = func() *dialect.Chat {
	d := dialect.New(`
		max_tokens stop temperature top_p frequency_penalty presence_penalty random_seed n
		tool_choice tool_choice.function parallel_tool_calls tools.function.strict
		response_format.json_schema reasoning_effort metadata prompt_cache_key prediction
		messages.content.array messages.content.image_url messages.content.image_url.detail`).WithEfforts("none", "minimal", "low", "medium", "high", "xhigh")
	d.CallIDs = 9
	return d
}()
