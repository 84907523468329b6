package chat

import "github.com/go-json-experiment/json/jsontext"

// answer is a completion: ChatCompletion of the SDK, and ChatCompletionChunk when
// it streams.
type answer struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	Created           seconds        `json:"created"`
	Model             string         `json:"model"`
	Choices           []choice       `json:"choices"`
	Usage             *usage         `json:"usage"`
	ServiceTier       string         `json:"service_tier"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Error             jsontext.Value `json:"error"`
	// Random padding of streamed chunks; says nothing.
	Obfuscation jsontext.Value `json:"obfuscation"`
	Extra       jsontext.Value `json:",embed"`
}

// choice has a message in an answer and a delta in a chunk.
type choice struct {
	Index        *int32    `json:"index"`
	Message      *message  `json:"message"`
	Delta        *message  `json:"delta"`
	Logprobs     *logprobs `json:"logprobs"`
	FinishReason text      `json:"finish_reason"`
	// OpenRouter's member for the vendor's own word.
	NativeFinishReason text `json:"native_finish_reason"`
	// vLLM's member for the stop sequence, a string, or the stop token, a number.
	StopReason text           `json:"stop_reason"`
	Extra      jsontext.Value `json:",embed"`
}

type logprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal []tokenLogprob `json:"refusal"`
	Extra   jsontext.Value `json:",embed"`
}

type tokenLogprob struct {
	Token       string          `json:"token"`
	Logprob     float64         `json:"logprob"`
	Bytes       octets          `json:"bytes"`
	TopLogprobs *[]tokenLogprob `json:"top_logprobs"`
}

// usage is CompletionUsage of the SDK.
type usage struct {
	PromptTokens            int64              `json:"prompt_tokens"`
	CompletionTokens        int64              `json:"completion_tokens"`
	TotalTokens             int64              `json:"total_tokens"`
	PromptTokensDetails     *promptDetails     `json:"prompt_tokens_details"`
	CompletionTokensDetails *completionDetails `json:"completion_tokens_details"`
	Extra                   jsontext.Value     `json:",embed"`
}

type promptDetails struct {
	CachedTokens     *int64         `json:"cached_tokens"`
	CacheWriteTokens *int64         `json:"cache_write_tokens"`
	TextTokens       *int64         `json:"text_tokens"`
	ImageTokens      *int64         `json:"image_tokens"`
	AudioTokens      *int64         `json:"audio_tokens"`
	Extra            jsontext.Value `json:",embed"`
}

type completionDetails struct {
	ReasoningTokens          *int64         `json:"reasoning_tokens"`
	TextTokens               *int64         `json:"text_tokens"`
	ImageTokens              *int64         `json:"image_tokens"`
	AudioTokens              *int64         `json:"audio_tokens"`
	AcceptedPredictionTokens *int64         `json:"accepted_prediction_tokens"`
	RejectedPredictionTokens *int64         `json:"rejected_prediction_tokens"`
	Extra                    jsontext.Value `json:",embed"`
}
