package messages

import "github.com/go-json-experiment/json/jsontext"

// wireResponse is Message and BetaMessage: the body of an answer, and of
// message_start.
//
//wire:read,head
type wireResponse struct {
	Type         string           `json:"type"`
	ID           string           `json:"id"`
	Role         string           `json:"role"`
	Model        string           `json:"model"`
	Content      []jsontext.Value `json:"content" wire:"main"`
	StopReason   string           `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	StopDetails  jsontext.Value   `json:"stop_details"`
	Usage        *wireUsage       `json:"usage"`
	// ContextManagement is written only when it is not empty.
	ContextManagement jsontext.Value `json:"context_management"`
	Error             jsontext.Value `json:"error"`
	Extra             jsontext.Value `json:",embed"`
}

// wireUsage is Usage, BetaUsage and their cumulative forms in message_delta.
type wireUsage struct {
	InputTokens              *int64         `json:"input_tokens"`
	OutputTokens             *int64         `json:"output_tokens"`
	CacheCreationInputTokens *int64         `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     *int64         `json:"cache_read_input_tokens"`
	CacheCreation            *cacheCreation `json:"cache_creation"`
	OutputTokensDetails      *outputDetails `json:"output_tokens_details"`
	ServiceTier              string         `json:"service_tier"`
	InferenceGeo             string         `json:"inference_geo"`
	Extra                    jsontext.Value `json:",embed"`
}

type cacheCreation struct {
	Ephemeral5m *int64         `json:"ephemeral_5m_input_tokens"`
	Ephemeral1h *int64         `json:"ephemeral_1h_input_tokens"`
	Extra       jsontext.Value `json:",embed"`
}

type outputDetails struct {
	ThinkingTokens *int64         `json:"thinking_tokens"`
	Extra          jsontext.Value `json:",embed"`
}

// streamEvent is any event of a stream.
//
//wire:read
type streamEvent struct {
	Type              string         `json:"type"`
	Index             int            `json:"index"`
	Message           jsontext.Value `json:"message"`
	ContentBlock      jsontext.Value `json:"content_block"`
	Delta             streamDelta    `json:"delta"`
	Usage             *wireUsage     `json:"usage"`
	ContextManagement jsontext.Value `json:"context_management"`
	Extra             jsontext.Value `json:",embed"`
}

// streamDelta is the delta of content_block_delta and of message_delta.
type streamDelta struct {
	Type         string         `json:"type"`
	Text         string         `json:"text"`
	Thinking     string         `json:"thinking"`
	Signature    string         `json:"signature"`
	PartialJSON  string         `json:"partial_json"`
	Citation     jsontext.Value `json:"citation"`
	StopReason   string         `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	StopDetails  jsontext.Value `json:"stop_details"`
	Extra        jsontext.Value `json:",embed"`
}
