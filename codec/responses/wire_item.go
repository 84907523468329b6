package responses

import "github.com/go-json-experiment/json/jsontext"

// The types of items that have canonical parts; all others are opaque.
const (
	typeMessage        = "message"
	typeReasoning      = "reasoning"
	typeFunctionCall   = "function_call"
	typeFunctionOutput = "function_call_output"
	typeCustomCall     = "custom_tool_call"
	typeCustomOutput   = "custom_tool_call_output"
	typeImageCall      = "image_generation_call"
	typeReference      = "item_reference"
)

// wireMessage is EasyInputMessageParam, ResponseInputItemMessageParam or
// ResponseOutputMessage.
//
//wire:read
type wireMessage struct {
	Type    string         `json:"type"`
	ID      string         `json:"id"`
	Role    string         `json:"role"`
	Status  string         `json:"status"`
	Content textOrList     `json:"content"`
	Extra   jsontext.Value `json:",embed"`
}

// wireReasoningItem is ResponseReasoningItem.
//
//wire:read
type wireReasoningItem struct {
	Type             string           `json:"type"`
	ID               string           `json:"id"`
	Status           string           `json:"status"`
	Summary          []wireLine       `json:"summary"`
	Content          []jsontext.Value `json:"content"`
	EncryptedContent string           `json:"encrypted_content"`
	Extra            jsontext.Value   `json:",embed"`
}

// wireLine is a part with nothing but text (summary_text, reasoning_text).
type wireLine struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// wireCall is ResponseFunctionToolCall or ResponseCustomToolCall.
//
//wire:read
type wireCall struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Status    string         `json:"status"`
	CallID    string         `json:"call_id"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"`
	Input     string         `json:"input"`
	Extra     jsontext.Value `json:",embed"`
}

// wireOutput is ResponseInputItemFunctionCallOutputParam or
// ResponseCustomToolCallOutputParam.
//
//wire:read
type wireOutput struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Status    string         `json:"status"`
	CallID    string         `json:"call_id"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Output    textOrList     `json:"output"`
	Extra     jsontext.Value `json:",embed"`
}

// wireImageCall is ResponseOutputItemImageGenerationCall.
//
//wire:read
type wireImageCall struct {
	Type         string         `json:"type"`
	ID           string         `json:"id"`
	Status       string         `json:"status"`
	Result       string         `json:"result"`
	OutputFormat string         `json:"output_format"`
	Extra        jsontext.Value `json:",embed"`
}

// wirePart is any content part of a message or of a tool's output:
// ResponseInputTextParam, ResponseInputImageParam, ResponseInputFileParam,
// ResponseInputAudioParam, ResponseOutputText, ResponseOutputRefusal.
//
//wire:read
type wirePart struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Annotations []jsontext.Value `json:"annotations"`
	Logprobs    []wireLogprob    `json:"logprobs"`
	Refusal     string           `json:"refusal"`
	ImageURL    string           `json:"image_url"`
	FileID      string           `json:"file_id"`
	FileData    string           `json:"file_data"`
	FileURL     string           `json:"file_url"`
	Filename    string           `json:"filename"`
	Detail      string           `json:"detail"`
	InputAudio  *wireAudio       `json:"input_audio"`
	Breakpoint  *wireBreakpoint  `json:"prompt_cache_breakpoint"`
	Extra       jsontext.Value   `json:",embed"`
}

type wireAudio struct {
	Data   string         `json:"data"`
	Format string         `json:"format"`
	Extra  jsontext.Value `json:",embed"`
}

// wireBreakpoint is ResponseInputTextPromptCacheBreakpointParam.
type wireBreakpoint struct {
	TTL   string         `json:"ttl"`
	Extra jsontext.Value `json:",embed"`
}

// wireAnnotation is any ResponseOutputTextAnnotation.
//
//wire:read
type wireAnnotation struct {
	Type       string         `json:"type"`
	StartIndex *int32         `json:"start_index"`
	EndIndex   *int32         `json:"end_index"`
	Title      string         `json:"title"`
	URL        string         `json:"url"`
	FileID     string         `json:"file_id"`
	Filename   string         `json:"filename"`
	Index      *int32         `json:"index"`
	Extra      jsontext.Value `json:",embed"`
}

// wireLogprob is ResponseOutputTextLogprob.
type wireLogprob struct {
	Token       string        `json:"token"`
	Logprob     float64       `json:"logprob"`
	Bytes       []octet       `json:"bytes"`
	TopLogprobs []wireLogprob `json:"top_logprobs"`
}

// octet is a byte spelled as a number; a slice of byte itself would be base64.
type octet uint8
