package chat

import "github.com/go-json-experiment/json/jsontext"

// answer is a completion: ChatCompletion of the SDK, and ChatCompletionChunk when
// it streams.
//
//wire:read,write,members,head
type answer struct {
	ID                string         `json:"id" wire:"always"`
	Object            string         `json:"object" wire:"always"`
	Created           seconds        `json:"created" wire:"always"`
	Model             string         `json:"model" wire:"always"`
	Choices           []choice       `json:"choices" wire:"empty,main"`
	Usage             *usage         `json:"usage"`
	ServiceTier       string         `json:"service_tier"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Error             jsontext.Value `json:"error" wire:"read"`
	// Random padding of streamed chunks; says nothing.
	Obfuscation jsontext.Value `json:"obfuscation" wire:"read"`
	Extra       jsontext.Value `json:",embed"`
}

// choice has a message in an answer and a delta in a chunk.
type choice struct {
	Index        *int32    `json:"index" wire:"always"`
	Message      *message  `json:"message"`
	Delta        *message  `json:"delta"`
	Logprobs     *logprobs `json:"logprobs" wire:"null"`
	FinishReason text      `json:"finish_reason" wire:"null"`
	// OpenRouter's member for the vendor's own word.
	NativeFinishReason text `json:"native_finish_reason"`
	// vLLM's member for the stop sequence, a string, or the stop token, a number.
	StopReason text           `json:"stop_reason"`
	Extra      jsontext.Value `json:",embed"`
}

type logprobs struct {
	Content []tokenLogprob `json:"content" wire:"always"`
	Refusal []tokenLogprob `json:"refusal" wire:"always"`
	Extra   jsontext.Value `json:",embed"`
}

type tokenLogprob struct {
	Token       string          `json:"token" wire:"always"`
	Logprob     float64         `json:"logprob" wire:"always"`
	Bytes       octets          `json:"bytes" wire:"by=writeBytes"`
	TopLogprobs *[]tokenLogprob `json:"top_logprobs"`
}

// usage is CompletionUsage of the SDK.
type usage struct {
	PromptTokens            int64              `json:"prompt_tokens" wire:"always"`
	CompletionTokens        int64              `json:"completion_tokens" wire:"always"`
	TotalTokens             int64              `json:"total_tokens" wire:"always"`
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
