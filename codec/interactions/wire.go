package interactions

import (
	"reflect"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request is the body of a call (SDK: CreateModelInteraction).
//
//wire:read,head
//settings:pieces
type request struct {
	Model             string            `json:"model"`
	Input             input             `json:"input" wire:"main"`
	SystemInstruction string            `json:"system_instruction" wire:"heavy"`
	Tools             []jsontext.Value  `json:"tools" wire:"heavy"`
	GenerationConfig  *generationConfig `json:"generation_config"`
	ResponseFormat    jsontext.Value    `json:"response_format"`
	ResponseMIMEType  string            `json:"response_mime_type"`
	Stream            bool              `json:"stream"`
	Background        bool              `json:"background"`
	// Agent and AgentConfig are members of CreateAgentInteraction.
	Agent       jsontext.Value `json:"agent"`
	AgentConfig jsontext.Value `json:"agent_config"`
	settings
	Extra jsontext.Value `json:",embed"`
}

type generationConfig struct {
	generationConfigSettings
	ThinkingLevel     string         `json:"thinking_level"`
	ThinkingSummaries string         `json:"thinking_summaries"`
	ToolChoice        jsontext.Value `json:"tool_choice"`
	Extra             jsontext.Value `json:",embed"`
}

// input is a text, a content, or a list of contents or steps (SDK: InteractionsInput). A content alone is a list of one.
type input struct {
	kind jsontext.Kind // '"' or '['; 0 for none
	text string
	list []jsontext.Value
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (i *input) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch kind := d.PeekKind(); kind {
	case '"':
		i.kind = '"'
		return json.UnmarshalDecode(d, &i.text)
	case '[':
		i.kind = '['
		return json.UnmarshalDecode(d, &i.list)
	case '{':
		value, err := d.ReadValue()
		i.kind, i.list = '[', []jsontext.Value{value.Clone()}
		return err
	case 'n':
		return d.SkipValue()
	default:
		return &json.SemanticError{JSONKind: kind, GoType: reflect.TypeFor[string]()}
	}
}

// ReadJSON implements member.ValueReader.
func (i *input) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case '"':
		i.kind = '"'
		return r.Text(&i.text)
	case '[':
		i.kind = '['
		return r.Raws(&i.list)
	case '{':
		i.kind, i.list = '[', make([]jsontext.Value, 1)
		return r.Keep(&i.list[0])
	}
	return r.Null()
}

// The types of steps with canonical parts; all others are opaque.
const (
	userInput      = "user_input"
	modelOutput    = "model_output"
	thought        = "thought"
	functionCall   = "function_call"
	functionResult = "function_result"
)

// step is a user_input or a model_output.
//
//wire:read
type step struct {
	Type    string           `json:"type"`
	Content []jsontext.Value `json:"content"`
	Extra   jsontext.Value   `json:",embed"`
}

// content is a text or media, and a delta of media.
//
//wire:read
type content struct {
	Type        string           `json:"type"`
	Text        *string          `json:"text"`
	Annotations []jsontext.Value `json:"annotations"`
	Data        *string          `json:"data"`
	MIMEType    string           `json:"mime_type"`
	URI         string           `json:"uri"`
	Resolution  string           `json:"resolution"`
	Extra       jsontext.Value   `json:",embed"`
}

// annotation is any Annotation, as far as citations of the contract go.
//
//wire:read
type annotation struct {
	Type        string  `json:"type"`
	Title       string  `json:"title"`
	Name        string  `json:"name"`
	URL         string  `json:"url"`
	DocumentURI string  `json:"document_uri"`
	FileName    string  `json:"file_name"`
	StartIndex  float64 `json:"start_index"`
	EndIndex    float64 `json:"end_index"`
}

//wire:read
type thoughtStep struct {
	Type      string           `json:"type"`
	Signature string           `json:"signature"`
	Summary   []jsontext.Value `json:"summary"`
	Extra     jsontext.Value   `json:",embed"`
}

//wire:read
type callStep struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Signature string         `json:"signature"`
	Extra     jsontext.Value `json:",embed"`
}

//wire:read
type resultStep struct {
	Type    string         `json:"type"`
	CallID  string         `json:"call_id"`
	Name    string         `json:"name"`
	Result  jsontext.Value `json:"result"`
	IsError bool           `json:"is_error"`
	Extra   jsontext.Value `json:",embed"`
}

// functionTool is a tool that the caller runs (SDK: FunctionT); all others stay as written.
//
//wire:read
type functionTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	Extra       jsontext.Value `json:",embed"`
}

// toolChoice is a ToolChoiceConfig.
//
//wire:read
type toolChoice struct {
	AllowedTools *allowedTools  `json:"allowed_tools"`
	Extra        jsontext.Value `json:",embed"`
}

type allowedTools struct {
	Mode  string         `json:"mode"`
	Tools []string       `json:"tools"`
	Extra jsontext.Value `json:",embed"`
}

// textFormat is a TextResponseFormat.
//
//wire:read
type textFormat struct {
	Type     string         `json:"type"`
	MIMEType string         `json:"mime_type"`
	Schema   jsontext.Value `json:"schema"`
	Extra    jsontext.Value `json:",embed"`
}

// interaction is the body of an answer, and what lifecycle events have of it (SDK: Interaction, InteractionSseEventInteraction).
//
//wire:read,head
type interaction struct {
	ID          string           `json:"id"`
	Status      string           `json:"status"`
	Model       string           `json:"model"`
	Created     string           `json:"created"`
	Updated     string           `json:"updated"`
	Steps       []jsontext.Value `json:"steps" wire:"main"`
	Usage       *usage           `json:"usage"`
	ServiceTier string           `json:"service_tier"`
	Errors      []reported       `json:"errors"`
	Error       jsontext.Value   `json:"error"`
	// The rest repeats the request.
	Object                ignored        `json:"object"`
	Role                  ignored        `json:"role"`
	Agent                 ignored        `json:"agent"`
	AgentConfig           ignored        `json:"agent_config"`
	Background            ignored        `json:"background"`
	CachedContent         ignored        `json:"cached_content"`
	Environment           ignored        `json:"environment"`
	GenerationConfig      ignored        `json:"generation_config"`
	Input                 ignored        `json:"input" wire:"heavy"`
	Labels                ignored        `json:"labels"`
	PreviousInteractionID ignored        `json:"previous_interaction_id"`
	ResponseFormat        ignored        `json:"response_format"`
	ResponseMIMEType      ignored        `json:"response_mime_type"`
	ResponseModalities    ignored        `json:"response_modalities"`
	SafetySettings        ignored        `json:"safety_settings"`
	Store                 ignored        `json:"store"`
	SystemInstruction     ignored        `json:"system_instruction" wire:"heavy"`
	Tools                 ignored        `json:"tools" wire:"heavy"`
	WebhookConfig         ignored        `json:"webhook_config"`
	Extra                 jsontext.Value `json:",embed"`
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

// reported is an ErrorT.
type reported struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Extra   jsontext.Value `json:",embed"`
}

// usage counts tokens. total_output_tokens excludes thoughts; total_input_tokens includes cached tokens, and
// excludes tokens of the vendor's own tools.
//
//wire:read
type usage struct {
	TotalInputTokens       *int64         `json:"total_input_tokens"`
	TotalOutputTokens      *int64         `json:"total_output_tokens"`
	TotalTokens            *int64         `json:"total_tokens"`
	TotalCachedTokens      *int64         `json:"total_cached_tokens"`
	TotalThoughtTokens     *int64         `json:"total_thought_tokens"`
	TotalToolUseTokens     *int64         `json:"total_tool_use_tokens"`
	InputTokensByModality  jsontext.Value `json:"input_tokens_by_modality"`
	OutputTokensByModality jsontext.Value `json:"output_tokens_by_modality"`
	Extra                  jsontext.Value `json:",embed"`
}

// event is the data of any server-sent event (SDK: InteractionSSEEvent).
//
//wire:read
type event struct {
	EventType   string         `json:"event_type"`
	Interaction jsontext.Value `json:"interaction"`
	Index       int            `json:"index"`
	Step        jsontext.Value `json:"step"`
	Delta       jsontext.Value `json:"delta"`
	Usage       *usage         `json:"usage"`
	Error       jsontext.Value `json:"error"`
}

// delta is a StepDeltaData but for media, which are content.
//
//wire:read
type delta struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Content     jsontext.Value   `json:"content"`
	Arguments   jsontext.Value   `json:"arguments"`
	Signature   string           `json:"signature"`
	Annotations []jsontext.Value `json:"annotations"`
}
