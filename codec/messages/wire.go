package messages

import (
	"bytes"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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

// The blocks with canonical parts; requests and answers share them. A block of any
// other type is opaque.

//wire:read
type textBlock struct {
	Type         string           `json:"type"`
	Text         string           `json:"text"`
	Citations    []jsontext.Value `json:"citations"`
	CacheControl *cacheControl    `json:"cache_control"`
	Extra        jsontext.Value   `json:",embed"`
}

// mediaBlock is an image or a document.
//
//wire:read
type mediaBlock struct {
	Type         string         `json:"type"`
	Source       *mediaSource   `json:"source"`
	Title        string         `json:"title"`
	CacheControl *cacheControl  `json:"cache_control"`
	Extra        jsontext.Value `json:",embed"`
}

// mediaSource is any of Base64ImageSource, Base64PDFSource, PlainTextSource,
// URLImageSource, URLPDFSource, FileImageSource and FileDocumentSource.
type mediaSource struct {
	Type      string         `json:"type"`
	MediaType string         `json:"media_type"`
	Data      string         `json:"data"`
	URL       string         `json:"url"`
	FileID    string         `json:"file_id"`
	Extra     jsontext.Value `json:",embed"`
}

//wire:read
type thinkingBlock struct {
	Type      string         `json:"type"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Extra     jsontext.Value `json:",embed"`
}

//wire:read
type redactedBlock struct {
	Type  string         `json:"type"`
	Data  string         `json:"data"`
	Extra jsontext.Value `json:",embed"`
}

//wire:read
type toolUseBlock struct {
	Type         string         `json:"type"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Input        jsontext.Value `json:"input"`
	Caller       jsontext.Value `json:"caller"`
	CacheControl *cacheControl  `json:"cache_control"`
	// PartialJSON is Genway's own: earlier versions gave the text of arguments that are
	// no object there, and callers may give it back.
	PartialJSON string         `json:"partial_json"`
	Extra       jsontext.Value `json:",embed"`
}

//wire:read
type toolResultBlock struct {
	Type         string         `json:"type"`
	ToolUseID    string         `json:"tool_use_id"`
	Content      content        `json:"content"`
	IsError      bool           `json:"is_error"`
	CacheControl *cacheControl  `json:"cache_control"`
	Extra        jsontext.Value `json:",embed"`
}

// citation is any TextCitationUnion, as far as canonical citations go.
//
//wire:read
type citation struct {
	Type          string `json:"type"`
	CitedText     string `json:"cited_text"`
	Title         string `json:"title"`
	DocumentTitle string `json:"document_title"`
	URL           string `json:"url"`
	Source        string `json:"source"`
	FileID        string `json:"file_id"`
	DocumentIndex *int32 `json:"document_index"`
}

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

// content is a string or an array of blocks; blocks wait undecoded, since only
// their type says what they are.
type content struct {
	text   *string
	blocks []jsontext.Value
}

func (c *content) given() bool { return c != nil && (c.text != nil || c.blocks != nil) }

// UnmarshalJSONFrom reads either form.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		return json.UnmarshalDecode(d, &c.text)
	case '[':
		var err error
		c.blocks, err = member.ReadRaws(d)
		return err
	case '{', '0', 't', 'f':
		if err := d.SkipValue(); err != nil {
			return err
		}
		path := member.Path(string(d.StackPointer()))
		return fault.Invalid(path, "%s: expected string or array of blocks", path)
	}
	_, err := d.ReadToken()
	return err
}

// ReadJSON implements member.ValueReader.
func (c *content) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case '"':
		return r.Text(member.New(r, &c.text))
	case '[':
		return r.Raws(&c.blocks)
	}
	return r.Null()
}

// memberText is a string member of an object that is valid JSON; "" when there is
// none.
func memberText(raw jsontext.Value, name string) string {
	if value := member.Value(raw, name); len(value) > 0 && value[0] == '"' {
		return member.Raw(value).Word(types)
	}
	return ""
}

// types are the types of most blocks.
var types = []string{"text", "tool_use", "tool_result", "image", "thinking", "document", "redacted_thinking", "custom", "direct"}

// writer writes what this protocol has. JSON of others goes in byte for byte
// (whitespace, escapes, spelling of numbers), which schemas and signatures depend on,
// once it is known to be JSON.
type writer struct {
	*member.Writer
	// answer says that an answer is written, not a request.
	answer bool
}

func requestWriter(size int) *writer { return &writer{Writer: member.NewWriter(size)} }

func answerWriter(size int) *writer { return &writer{Writer: member.NewWriter(size), answer: true} }

// raw writes a value as it is; path names it in the canonical message.
func (w *writer) raw(name string, value []byte, path string) {
	w.Key(name)
	w.value(value, path)
}

// value writes an element or the value of a key as it is.
func (w *writer) value(value []byte, path string) {
	if !member.Valid(value) {
		w.Fail(fault.Invalid(path, "%s is not valid JSON", path))
		value = []byte("null")
	}
	w.Value(value)
}

// natives are the members of an object without a canonical field; none of them
// binding.
func natives(extra jsontext.Value) []*genwayv1.NativeField {
	return member.Natives(protocol, extra, nil)
}

// nested are the unknown members of an object whose known ones have canonical
// fields of the message around it (metadata, output_config, an image's source): a
// native field with the object's name that holds an object of just those.
func nested(name string, extra jsontext.Value) []*genwayv1.NativeField {
	if len(natives(extra)) == 0 {
		return nil
	}
	return []*genwayv1.NativeField{{Protocol: protocol, Name: name, Json: bytes.Clone(extra)}}
}

func native(fields []*genwayv1.NativeField, name string) jsontext.Value {
	return member.Native(protocol, fields, name)
}

// whole keeps a member's value as it was written.
func whole(name string, value jsontext.Value) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: bytes.Clone(value)}
}

// natives writes the native fields of this protocol into the open object, except for those that
// merge writes. Those of another protocol are refused if they are binding, and else declared as
// losses. A duplicate member is refused in requests, where it could smuggle in another model. In
// answers, which a stream has in pieces, the last value counts.
func (w *writer) natives(fields []*genwayv1.NativeField, path string, losses *codec.Losses, merged ...string) {
	for i, f := range fields {
		at := member.Join(path, f.Name)
		switch {
		case w.answer && (w.Has(f.Name) || native(fields[i+1:], f.Name) != nil):
		case f.Protocol != protocol:
			if err := member.OmitNative(f, path, losses); err != nil {
				w.Fail(err)
			}
		case slices.Contains(merged, f.Name):
		case w.Has(f.Name):
			w.Fail(fault.Invalid(at, "%s has a field of its own", at))
		default:
			w.KeyOf(f.Name)
			w.value(f.Json, at)
		}
	}
}

// merge writes what nested kept back into the open object.
func (w *writer) merge(fields []*genwayv1.NativeField, name, path string) {
	if kept := native(fields, name); kept.Kind() == '{' {
		w.natives(natives(kept), member.Join(path, name), nil)
	}
}
