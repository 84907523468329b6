package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// wireRequest is the body of POST /v1/responses (SDK: ResponseNewParams). Its
// input is required unless another member brings the conversation.
//
//wire:read,head
//settings:pieces
type wireRequest struct {
	Model             string           `json:"model"`
	Input             textOrList       `json:"input" wire:"main"`
	Instructions      string           `json:"instructions" wire:"heavy"`
	ParallelToolCalls *bool            `json:"parallel_tool_calls"`
	Tools             []jsontext.Value `json:"tools" wire:"heavy"`
	ToolChoice        jsontext.Value   `json:"tool_choice"`
	Text              wireText         `json:"text"`
	Reasoning         wireReasoning    `json:"reasoning"`
	Include           []string         `json:"include"`
	Stream            bool             `json:"stream"`
	settings
	Extra jsontext.Value `json:",embed"`
}

// wireText is ResponseTextConfig.
type wireText struct {
	Format jsontext.Value `json:"format"`
	textSettings
	Extra jsontext.Value `json:",embed"`
}

// wireFormat is ResponseFormatTextConfigUnion.
//
//wire:read
type wireFormat struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
	Strict      *bool          `json:"strict"`
	Extra       jsontext.Value `json:",embed"`
}

// wireReasoning is shared.Reasoning.
type wireReasoning struct {
	Effort  string         `json:"effort"`
	Summary string         `json:"summary"`
	Extra   jsontext.Value `json:",embed"`
}

// wireTool is FunctionToolParam or CustomToolParam.
//
//wire:read
type wireTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      *bool          `json:"strict"`
	Format      jsontext.Value `json:"format"`
	Extra       jsontext.Value `json:",embed"`
}

// wireNamespace is NamespaceToolParam.
//
//wire:read
type wireNamespace struct {
	Type  string           `json:"type"`
	Name  string           `json:"name"`
	Tools []jsontext.Value `json:"tools"`
	Extra jsontext.Value   `json:",embed"`
}

// wireToolChoice is any object form of tool_choice.
//
//wire:read
type wireToolChoice struct {
	Type      string           `json:"type"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Mode      string           `json:"mode"`
	Tools     []jsontext.Value `json:"tools"`
	Extra     jsontext.Value   `json:",embed"`
}

// wireResponse is the body of an answer (SDK: Response).
//
//wire:read,head
type wireResponse struct {
	ID                string           `json:"id"`
	CreatedAt         float64          `json:"created_at"`
	Model             string           `json:"model"`
	Status            string           `json:"status"`
	Error             jsontext.Value   `json:"error"`
	IncompleteDetails *wireIncomplete  `json:"incomplete_details"`
	Output            []jsontext.Value `json:"output" wire:"main"`
	Usage             *wireUsage       `json:"usage"`
	ServiceTier       string           `json:"service_tier"`
	// The rest repeats the request, or follows from the members above.
	Object               ignored        `json:"object"`
	AccessPrograms       ignored        `json:"access_programs"`
	Instructions         ignored        `json:"instructions" wire:"heavy"`
	Metadata             ignored        `json:"metadata"`
	ParallelToolCalls    ignored        `json:"parallel_tool_calls"`
	Temperature          ignored        `json:"temperature"`
	ToolChoice           ignored        `json:"tool_choice"`
	Tools                ignored        `json:"tools" wire:"heavy"`
	TopP                 ignored        `json:"top_p"`
	Background           ignored        `json:"background"`
	CompletedAt          ignored        `json:"completed_at"`
	Conversation         ignored        `json:"conversation"`
	MaxOutputTokens      ignored        `json:"max_output_tokens"`
	MaxToolCalls         ignored        `json:"max_tool_calls"`
	PreviousResponseID   ignored        `json:"previous_response_id"`
	Prompt               ignored        `json:"prompt"`
	PromptCacheKey       ignored        `json:"prompt_cache_key"`
	PromptCacheOptions   ignored        `json:"prompt_cache_options"`
	PromptCacheRetention ignored        `json:"prompt_cache_retention"`
	Reasoning            ignored        `json:"reasoning"`
	SafetyIDentifier     ignored        `json:"safety_identifier"`
	Text                 ignored        `json:"text"`
	TopLogprobs          ignored        `json:"top_logprobs"`
	Truncation           ignored        `json:"truncation"`
	User                 ignored        `json:"user"`
	Store                ignored        `json:"store"`
	FrequencyPenalty     ignored        `json:"frequency_penalty"`
	PresencePenalty      ignored        `json:"presence_penalty"`
	OutputText           ignored        `json:"output_text"`
	Extra                jsontext.Value `json:",embed"`
}

// ignored is a member that says nothing, whatever its value is.
type ignored struct{}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (*ignored) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// ReadJSON implements member.ValueReader.
func (*ignored) ReadJSON(r *member.Reader) bool {
	_, ok := r.Value()
	return ok
}

type wireIncomplete struct {
	Reason string `json:"reason"`
}

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

// The events of a stream that have a canonical meaning (SDK:
// ResponseStreamEventUnion). All others report the progress of the vendor's own
// tools, whose items come whole with output_item.done.
const (
	eventCreated       = "response.created"
	eventQueued        = "response.queued"
	eventInProgress    = "response.in_progress"
	eventItemAdded     = "response.output_item.added"
	eventItemDone      = "response.output_item.done"
	eventPartAdded     = "response.content_part.added"
	eventPartDone      = "response.content_part.done"
	eventTextDelta     = "response.output_text.delta"
	eventTextDone      = "response.output_text.done"
	eventAnnotation    = "response.output_text.annotation.added"
	eventRefusalDelta  = "response.refusal.delta"
	eventRefusalDone   = "response.refusal.done"
	eventSummaryAdded  = "response.reasoning_summary_part.added"
	eventSummaryDelta  = "response.reasoning_summary_text.delta"
	eventSummaryText   = "response.reasoning_summary_text.done"
	eventSummaryDone   = "response.reasoning_summary_part.done"
	eventThinkingDelta = "response.reasoning_text.delta"
	eventThinkingDone  = "response.reasoning_text.done"
	eventArgsDelta     = "response.function_call_arguments.delta"
	eventArgsDone      = "response.function_call_arguments.done"
	eventInputDelta    = "response.custom_tool_call_input.delta"
	eventInputDone     = "response.custom_tool_call_input.done"
	eventPreview       = "response.image_generation_call.partial_image"
	eventCompleted     = "response.completed"
	eventIncomplete    = "response.incomplete"
	eventFailed        = "response.failed"
	eventError         = "error"
)

// wireEvent is any of these events. Obfuscation and what else has no meaning here
// is left out.
//
//wire:read
type wireEvent struct {
	Type         string         `json:"type"`
	ItemID       string         `json:"item_id"`
	OutputIndex  int            `json:"output_index"`
	ContentIndex int            `json:"content_index"`
	SummaryIndex int            `json:"summary_index"`
	Delta        jsontext.Value `json:"delta" wire:"borrow"`
	Text         jsontext.Value `json:"text" wire:"borrow"`
	Refusal      jsontext.Value `json:"refusal" wire:"borrow"`
	Arguments    jsontext.Value `json:"arguments" wire:"borrow"`
	Input        jsontext.Value `json:"input" wire:"borrow"`
	Logprobs     []wireLogprob  `json:"logprobs"`
	Annotation   jsontext.Value `json:"annotation"`
	Part         jsontext.Value `json:"part"`
	Item         jsontext.Value `json:"item"`
	Response     jsontext.Value `json:"response"`
	Error        jsontext.Value `json:"error"`
}

// textOrList is a member that is a string or an array.
type textOrList struct {
	kind jsontext.Kind // 0 when absent or null
	text string
	list []jsontext.Value
}

func (t *textOrList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*t = textOrList{}
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '"':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		t.kind, t.text = '"', token.String()
		return nil
	case '[':
		var err error
		t.kind = '['
		t.list, err = member.ReadRaws(d)
		return err
	}
	if err := d.SkipValue(); err != nil {
		return err
	}
	return fault.Invalid("", "expected a string or an array")
}

// ReadJSON implements member.ValueReader.
func (t *textOrList) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case '"':
		t.kind = '"'
		return r.Text(&t.text)
	case '[':
		t.kind = '['
		return r.Raws(&t.list)
	}
	return r.Null()
}

// typeOf reads the type member of an object that is JSON; "" when there is none.
func typeOf(raw jsontext.Value, place member.Place) (string, error) {
	if raw.Kind() != '{' {
		return "", fault.Invalid(place.String(), "%s: expected an object", place)
	}
	value := jsontext.Value(member.Value(raw, "type"))
	switch value.Kind() {
	case 0, 'n':
		return "", nil
	case '"':
		return member.Raw(value).Word(types), nil
	}
	path := place.Join("type")
	return "", fault.Invalid(path, "%s: expected a string", path)
}

// types are the types of most items, parts and tools.
var types = []string{
	typeMessage, typeInputText, typeOutputText, typeFunctionCall, typeFunctionOutput, typeReasoning, typeFunction, typeInputImage,
	typeCustomCall, typeCustomOutput, typeCustom, typeImageCall,
}

// encodeNullable spells what is empty as null.
func encodeNullable(w *member.Writer, name, s string) {
	if s == "" {
		w.Null(name)
		return
	}
	w.Str(name, s)
}

// text returns what a writer wrote that has no failures.
func text(w *member.Writer) []byte {
	out, _ := w.Finish()
	return out
}

// native is a member of this protocol that does not bind.
func native(name string, json []byte) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: json}
}

func nativeText(name, text string) *genwayv1.NativeField {
	return native(name, member.AppendQuote(nil, text))
}

// textIn reads a field whose value is a string.
func textIn(f *genwayv1.NativeField) string { return unquote(f.GetJson()) }

// split is the inverse of member.NativesUnder: it takes the fields of this protocol with
// the prefix out, and returns them without it.
func split(fields []*genwayv1.NativeField, prefix string) (rest, inner []*genwayv1.NativeField) {
	for i, f := range fields {
		name, ok := strings.CutPrefix(f.Name, prefix)
		if !ok || f.Protocol != protocol {
			if inner != nil {
				rest = append(rest, f)
			}
			continue
		}
		if inner == nil {
			rest = append(rest, fields[:i]...)
		}
		inner = append(inner, &genwayv1.NativeField{Protocol: f.Protocol, Name: name, Json: f.Json, Binding: f.Binding})
	}
	if inner == nil {
		return fields, nil
	}
	return rest, inner
}

// without takes the field of this protocol with the name out.
func without(fields []*genwayv1.NativeField, name string) (rest []*genwayv1.NativeField, found *genwayv1.NativeField) {
	for i, f := range fields {
		if f.Protocol == protocol && f.Name == name {
			return append(fields[:i:i], fields[i+1:]...), f
		}
	}
	return fields, nil
}

// extras returns the fields of this protocol to splice into an object of an
// answer, where another protocol's are always but a loss.
func extras(fields []*genwayv1.NativeField, path string, losses *codec.Losses) jsontext.Value {
	var own []*genwayv1.NativeField
	for _, f := range fields {
		if f.Protocol == protocol {
			own = append(own, f)
			continue
		}
		losses.Add(member.Join(path, f.Name), "the target protocol has no place for it")
	}
	out, err := member.Extra(protocol, own, path, losses)
	if err != nil {
		return nil
	}
	return out
}
