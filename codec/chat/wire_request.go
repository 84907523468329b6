package chat

import "github.com/go-json-experiment/json/jsontext"

// request is the body of a chat completion: ChatCompletionNewParams of the SDK.
//
//wire:read,write,head
//settings:dialects
type request struct {
	Model               string          `json:"model" wire:"always"`
	Tools               []tool          `json:"tools" wire:"empty,heavy"`
	Functions           []function      `json:"functions" wire:"empty,heavy"`
	ResponseFormat      *responseFormat `json:"response_format"`
	Messages            messageList     `json:"messages" wire:"always,main"`
	ToolChoice          jsontext.Value  `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	FunctionCall        jsontext.Value  `json:"function_call"`
	MaxTokens           *int64          `json:"max_tokens"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	Audio               *audioOutput    `json:"audio"`
	Stream              *bool           `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	settings
	Extra jsontext.Value `json:",embed"`
}

type tool struct {
	Type         string         `json:"type" wire:"always"`
	Function     *function      `json:"function"`
	Custom       *customTool    `json:"custom"`
	CacheControl *cacheControl  `json:"cache_control"`
	Extra        jsontext.Value `json:",embed"`
	verbatim     verbatim       `wire:"span,raw"`
}

type function struct {
	Name        string         `json:"name" wire:"always"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters" wire:"raw"`
	Strict      *bool          `json:"strict"`
	Extra       jsontext.Value `json:",embed"`
}

type customTool struct {
	Name        string         `json:"name" wire:"always"`
	Description string         `json:"description"`
	Format      jsontext.Value `json:"format" wire:"raw"`
	Extra       jsontext.Value `json:",embed"`
}

// named is a function or custom tool that is only named, in a tool choice.
type named struct {
	Type     string         `json:"type"`
	Function *callee        `json:"function"`
	Custom   *callee        `json:"custom"`
	Extra    jsontext.Value `json:",embed"`
}

type callee struct {
	Name string `json:"name" wire:"always"`
}

// toolChoice is the object form of tool_choice.
//
//wire:read,write
type toolChoice struct {
	Type         string         `json:"type" wire:"always"`
	Function     *callee        `json:"function"`
	Custom       *callee        `json:"custom"`
	AllowedTools *allowedTools  `json:"allowed_tools"`
	Extra        jsontext.Value `json:",embed"`
}

type allowedTools struct {
	Mode  string  `json:"mode" wire:"always"`
	Tools []named `json:"tools" wire:"always"`
}

type responseFormat struct {
	Type       string         `json:"type" wire:"always"`
	JSONSchema *jsonSchema    `json:"json_schema"`
	Extra      jsontext.Value `json:",embed"`
	verbatim   verbatim       `wire:"span,raw"`
}

type jsonSchema struct {
	Name        string         `json:"name" wire:"always"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema" wire:"raw"`
	Strict      *bool          `json:"strict"`
	Extra       jsontext.Value `json:",embed"`
}

// audioOutput is the audio member of a request. A custom voice is an object.
type audioOutput struct {
	Voice  text           `json:"voice"`
	Format string         `json:"format"`
	Extra  jsontext.Value `json:",embed"`
}

type streamOptions struct {
	IncludeUsage bool           `json:"include_usage"`
	Extra        jsontext.Value `json:",embed"`
}
