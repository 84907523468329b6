package messages

import "github.com/go-json-experiment/json/jsontext"

// wireRequest is the body of /v1/messages, and of count_tokens without what only
// generation needs (MessageNewParams, BetaMessageNewParams).
//
//wire:read,head
//settings:pieces
type wireRequest struct {
	Model        string           `json:"model"`
	MaxTokens    *int64           `json:"max_tokens"`
	System       content          `json:"system" wire:"heavy"`
	Messages     []wireMessage    `json:"messages" wire:"main"`
	Stream       bool             `json:"stream"`
	Tools        []jsontext.Value `json:"tools" wire:"heavy"`
	ToolChoice   jsontext.Value   `json:"tool_choice"`
	Thinking     *wireThinking    `json:"thinking"`
	OutputConfig *outputConfig    `json:"output_config"`
	// OutputFormat is the name output_config.format had before.
	OutputFormat jsontext.Value `json:"output_format"`
	Metadata     *wireMetadata  `json:"metadata"`
	CacheControl *cacheControl  `json:"cache_control"`
	Thread       jsontext.Value `json:"thread"`
	settings
	Extra jsontext.Value `json:",embed"`
}

type wireMessage struct {
	Role    string         `json:"role"`
	Content content        `json:"content"`
	Extra   jsontext.Value `json:",embed"`
}

type wireThinking struct {
	Type         string         `json:"type"`
	BudgetTokens *int32         `json:"budget_tokens"`
	Display      string         `json:"display"`
	Extra        jsontext.Value `json:",embed"`
}

type outputConfig struct {
	Effort string         `json:"effort"`
	Format jsontext.Value `json:"format"`
	Extra  jsontext.Value `json:",embed"`
}

//wire:read
type outputFormat struct {
	Type   string         `json:"type"`
	Schema jsontext.Value `json:"schema"`
	Extra  jsontext.Value `json:",embed"`
}

type wireMetadata struct {
	UserID string         `json:"user_id"`
	Extra  jsontext.Value `json:",embed"`
}

type cacheControl struct {
	Type  string         `json:"type"`
	TTL   string         `json:"ttl"`
	Extra jsontext.Value `json:",embed"`
}

// wireTool is a tool the caller runs (ToolParam); all others stay as written.
//
//wire:read
type wireTool struct {
	Type         string         `json:"type"`
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	InputSchema  jsontext.Value `json:"input_schema"`
	Strict       *bool          `json:"strict"`
	CacheControl *cacheControl  `json:"cache_control"`
	Extra        jsontext.Value `json:",embed"`
}

//wire:read
type toolChoice struct {
	Type                   string         `json:"type"`
	Name                   string         `json:"name"`
	DisableParallelToolUse *bool          `json:"disable_parallel_tool_use"`
	Extra                  jsontext.Value `json:",embed"`
}
