package chat

import "github.com/go-json-experiment/json/jsontext"

// request is the body of a chat completion: ChatCompletionNewParams of the SDK.
type request struct {
	Model               string            `json:"model"`
	Tools               []tool            `json:"tools,omitzero"`
	Functions           []function        `json:"functions,omitzero"`
	ResponseFormat      *responseFormat   `json:"response_format,omitzero"`
	Messages            messageList       `json:"messages"`
	ToolChoice          jsontext.Value    `json:"tool_choice,omitzero"`
	ParallelToolCalls   *bool             `json:"parallel_tool_calls,omitzero"`
	FunctionCall        jsontext.Value    `json:"function_call,omitzero"`
	Temperature         *float64          `json:"temperature,omitzero"`
	TopP                *float64          `json:"top_p,omitzero"`
	Seed                *int64            `json:"seed,omitzero"`
	FrequencyPenalty    *float64          `json:"frequency_penalty,omitzero"`
	PresencePenalty     *float64          `json:"presence_penalty,omitzero"`
	N                   *int32            `json:"n,omitzero"`
	Logprobs            *bool             `json:"logprobs,omitzero"`
	TopLogprobs         *int32            `json:"top_logprobs,omitzero"`
	MaxTokens           *int64            `json:"max_tokens,omitzero"`
	MaxCompletionTokens *int64            `json:"max_completion_tokens,omitzero"`
	Stop                stopList          `json:"stop,omitempty"`
	ReasoningEffort     string            `json:"reasoning_effort,omitzero"`
	Verbosity           string            `json:"verbosity,omitzero"`
	Modalities          []string          `json:"modalities,omitempty"`
	Audio               *audioOutput      `json:"audio,omitzero"`
	ServiceTier         string            `json:"service_tier,omitzero"`
	Store               *bool             `json:"store,omitzero"`
	Metadata            map[string]string `json:"metadata,omitempty"`
	User                string            `json:"user,omitzero"`
	SafetyIdentifier    string            `json:"safety_identifier,omitzero"`
	PromptCacheKey      string            `json:"prompt_cache_key,omitzero"`
	Stream              *bool             `json:"stream,omitzero"`
	StreamOptions       *streamOptions    `json:"stream_options,omitzero"`
	Extra               jsontext.Value    `json:",embed"`
}

type tool struct {
	Type         string         `json:"type"`
	Function     *function      `json:"function,omitzero"`
	Custom       *customTool    `json:"custom,omitzero"`
	CacheControl *cacheControl  `json:"cache_control,omitzero"`
	Extra        jsontext.Value `json:",embed"`
	verbatim     verbatim
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

type customTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Format      jsontext.Value `json:"format,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// named is a function or custom tool that is only named, in a tool choice.
type named struct {
	Type     string         `json:"type,omitzero"`
	Function *callee        `json:"function,omitzero"`
	Custom   *callee        `json:"custom,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

type callee struct {
	Name string `json:"name"`
}

// toolChoice is the object form of tool_choice.
type toolChoice struct {
	Type         string         `json:"type"`
	Function     *callee        `json:"function,omitzero"`
	Custom       *callee        `json:"custom,omitzero"`
	AllowedTools *allowedTools  `json:"allowed_tools,omitzero"`
	Extra        jsontext.Value `json:",embed"`
}

type allowedTools struct {
	Mode  string  `json:"mode"`
	Tools []named `json:"tools"`
}

type responseFormat struct {
	Type       string         `json:"type"`
	JSONSchema *jsonSchema    `json:"json_schema,omitzero"`
	Extra      jsontext.Value `json:",embed"`
	verbatim   verbatim
}

type jsonSchema struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// audioOutput is the audio member of a request. A custom voice is an object.
type audioOutput struct {
	Voice  text           `json:"voice,omitzero"`
	Format string         `json:"format,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

type streamOptions struct {
	IncludeUsage bool           `json:"include_usage,omitzero"`
	Extra        jsontext.Value `json:",embed"`
}

func (t *tool) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain tool
	return t.verbatim.scan(d, (*plain)(t))
}

func (f *responseFormat) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain responseFormat
	return f.verbatim.scan(d, (*plain)(f))
}
