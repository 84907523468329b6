package chat

import (
	"math"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	"github.com/genway/genway/codec/setting"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxTokensName           = "max_tokens"
	maxCompletionTokensName = "max_completion_tokens"
)

// DecodeRequest implements codec.Codec. Ranges are checked where the vendor
// documents them; words are not, since engines differ in them (R9, F18).
func (Codec) DecodeRequest(body []byte) (*codec.Request, error) {
	var r request
	if err := member.Decode(body, &r); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	defer spareMessages.Give(r.Messages)
	req, err := r.open()
	if err != nil {
		return nil, err
	}
	d := decoder{body: body}
	talk := conversation{decoder: d}
	req.Messages = make([]*genwayv1.Message, len(r.Messages))
	for i := range r.Messages {
		m, err := talk.message(&r.Messages[i], member.Place{Path: "messages", Element: i + 1})
		if err != nil {
			return nil, err
		}
		req.Messages[i] = m
	}
	if req.Tools, err = d.tools(r.Tools, r.Functions); err != nil {
		return nil, err
	}
	return r.finish(d, req)
}

// open is a request with the settings that are as they are written.
func (r *request) open() (*genwayv1.GenerateTextRequest, error) {
	req := &genwayv1.GenerateTextRequest{Model: r.Model}
	if err := r.decode(req, ""); err != nil {
		return nil, err
	}
	if r.ReasoningEffort != "" {
		req.Thinking = &genwayv1.ThinkingConfig{Effort: r.ReasoningEffort}
	}
	return req, nil
}

// finish reads what is not as it is written.
func (r *request) finish(d decoder, req *genwayv1.GenerateTextRequest) (*codec.Request, error) {
	if err := member.Misspelt(r.Extra, "model", maxTokensName, maxCompletionTokensName, "n"); err != nil {
		return nil, err
	}
	r.maxTokens(req)
	if err := r.choice(req); err != nil {
		return nil, err
	}
	if err := d.responseFormat(req, r.ResponseFormat); err != nil {
		return nil, err
	}
	if err := r.audioOutput(req); err != nil {
		return nil, err
	}
	out := &codec.Request{GenerateTextRequest: req, Stream: r.Stream != nil && *r.Stream}
	if o := r.StreamOptions; o != nil {
		out.IncludeUsage = o.IncludeUsage
		req.NativeFields = append(req.NativeFields, member.NativesUnder(protocol, "stream_options.", o.Extra)...)
	}
	req.NativeFields = append(req.NativeFields, member.Natives(protocol, r.Extra, binds)...)
	return out, nil
}

func (r *request) check() error {
	switch {
	case r.Model == "":
		return fault.Missing("model")
	case r.Messages == nil:
		return fault.Missing("messages")
	case len(r.Messages) == 0:
		return fault.Invalid("messages", "messages: at least one message is expected")
	}
	if r.MaxTokens != nil && r.MaxCompletionTokens != nil && *r.MaxTokens != *r.MaxCompletionTokens {
		// Limits and bounds hold for one number, and engines differ in which they heed.
		return fault.Invalid(maxTokensName, "max_tokens is %d and max_completion_tokens is %d; give one of them, or both the same value", *r.MaxTokens, *r.MaxCompletionTokens)
	}
	for _, c := range []struct {
		name     string
		value    float64
		min, max float64
	}{
		{maxTokensName, number(r.MaxTokens), 1, math.MaxInt64},
		{maxCompletionTokensName, number(r.MaxCompletionTokens), 1, math.MaxInt64},
	} {
		if c.value < c.min {
			return fault.Invalid(c.name, "%s: expected at least %g, got %g", c.name, c.min, c.value)
		}
		if c.value > c.max {
			return fault.Invalid(c.name, "%s: expected at most %g, got %g", c.name, c.max, c.value)
		}
	}
	return nil
}

// number is the value to be compared with a range; NaN, which is in every range,
// stands for none.
func number[N int32 | int64 | float64](n *N) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

// maxTokens reads the limit by either name; marks say by which. check has seen that they
// are equal where both are there.
func (r *request) maxTokens(req *genwayv1.GenerateTextRequest) {
	switch {
	case r.MaxCompletionTokens != nil:
		req.MaxOutputTokens = r.MaxCompletionTokens
		req.NativeFields = append(req.NativeFields, mark(maxCompletionTokensName))
		if r.MaxTokens != nil {
			req.NativeFields = append(req.NativeFields, mark(maxTokensName))
		}
	case r.MaxTokens != nil:
		req.MaxOutputTokens = r.MaxTokens
		req.NativeFields = append(req.NativeFields, mark(maxTokensName))
	}
}

func (r *request) choice(req *genwayv1.GenerateTextRequest) (err error) {
	switch {
	case given(r.ToolChoice):
		req.ToolChoice, err = decodeToolChoice(r.ToolChoice)
		if given(r.FunctionCall) {
			req.NativeFields = append(req.NativeFields, native(functionCallName, r.FunctionCall))
		}
	case given(r.FunctionCall):
		req.ToolChoice, err = decodeFunctionCall(r.FunctionCall)
		req.NativeFields = append(req.NativeFields, mark(functionCallName))
	}
	if err == nil && r.ParallelToolCalls != nil {
		if req.ToolChoice == nil {
			req.ToolChoice = &genwayv1.ToolChoice{}
		}
		req.ToolChoice.Parallel = r.ParallelToolCalls
	}
	return err
}

func (r *request) audioOutput(req *genwayv1.GenerateTextRequest) error {
	if r.Audio == nil {
		return nil
	}
	req.AudioOutput = &genwayv1.AudioOutput{Voice: r.Audio.Voice.s, Format: r.Audio.Format}
	if r.Audio.Voice.is == isOther {
		if r.Audio.Voice.raw.Kind() != '{' {
			return wrongType("audio.voice", "string or object", r.Audio.Voice.raw.Kind())
		}
		req.AudioOutput.NativeFields = []*genwayv1.NativeField{native("voice", r.Audio.Voice.raw)}
	}
	req.AudioOutput.NativeFields = append(req.AudioOutput.NativeFields, natives(r.Audio.Extra)...)
	return nil
}

// Objects nested in one that has a canonical message have none themselves
// (image_url in a content part, the message in a choice). Their unknown members
// become native fields of that message under a dotted name: image_url.min_pixels,
// message.executed_tools.

func binds(name string, value []byte) bool { return setting.Binds(protocol, name, value) }

// natives are the unknown members of an object.
func natives(extra jsontext.Value) []*genwayv1.NativeField {
	return member.Natives(protocol, extra, nil)
}

func mark(name string) *genwayv1.NativeField { return member.Mark(protocol, name) }

func marked(fields []*genwayv1.NativeField, name string) bool {
	return len(fields) > 0 && member.Marked(protocol, fields, name)
}

// native keeps a member that is known but could not be read as it should.
func native(name string, raw jsontext.Value) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: raw}
}

// hasNatives reports whether a field of this protocol has a value.
func hasNatives(fields []*genwayv1.NativeField) bool {
	for _, f := range fields {
		if f.Protocol == protocol && !member.IsMark(f) {
			return true
		}
	}
	return false
}

// extra returns the unknown members to write into an object, but for those that
// belong into objects nested in it (names that end with a dot) or are written
// with a field of their own. Fields of other protocols are refused or noted.
func extra(fields []*genwayv1.NativeField, path string, losses *codec.Losses, except ...string) (jsontext.Value, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	own := make([]*genwayv1.NativeField, 0, len(fields))
	for _, f := range fields {
		if f.Protocol != protocol || !excepted(f.Name, except) {
			own = append(own, f)
		}
	}
	return member.Extra(protocol, own, path, losses)
}

// inner returns the unknown members to write into the nested object of that
// prefix, but for the members of objects nested deeper.
func inner(fields []*genwayv1.NativeField, prefix string, except ...string) jsontext.Value {
	var own []*genwayv1.NativeField
	for _, f := range fields {
		if f.Protocol == protocol && strings.HasPrefix(f.Name, prefix) && !excepted(f.Name, except) {
			own = append(own, native(f.Name[len(prefix):], f.Json))
		}
	}
	// Only fields of another protocol make Extra fail.
	value, _ := member.Extra(protocol, own, "", nil)
	return value
}

// reserved names the members of a message that native fields of odd types may
// bear, too: where the string is written, they are left out.
func (m *message) reserved() []string {
	names := []string{"extra_content"}
	if !m.ReasoningContent.IsZero() {
		names = append(names, "reasoning_content")
	}
	if !m.Reasoning.IsZero() {
		names = append(names, reasoningName)
	}
	return names
}

func excepted(name string, except []string) bool {
	for _, e := range except {
		if name == e || e[len(e)-1] == '.' && strings.HasPrefix(name, e) {
			return true
		}
	}
	return false
}

const responseFormatName = "response_format"

// responseFormat reads the shape the answer must have. A type only some engine
// knows (a grammar) is kept whole.
func (d decoder) responseFormat(req *genwayv1.GenerateTextRequest, f *responseFormat) error {
	if f == nil {
		return nil
	}
	out := &genwayv1.ResponseFormat{}
	switch f.Type {
	case "":
		return fault.Missing(responseFormatName + ".type")
	case "text":
		out.Kind = genwayv1.ResponseFormat_KIND_TEXT
	case "json_object":
		out.Kind = genwayv1.ResponseFormat_KIND_JSON_OBJECT
	case "json_schema":
		s := f.JSONSchema
		if s == nil {
			return fault.Missing(responseFormatName + ".json_schema")
		}
		if s.Name == "" {
			return fault.Missing(responseFormatName + ".json_schema.name")
		}
		out.Kind = genwayv1.ResponseFormat_KIND_JSON_SCHEMA
		out.Name, out.Description, out.Strict = s.Name, s.Description, s.Strict
		if given(s.Schema) {
			out.SchemaJson = member.Text(s.Schema)
		}
		req.NativeFields = append(req.NativeFields, member.NativesUnder(protocol, "response_format.json_schema.", s.Extra)...)
	default:
		out.Native = &genwayv1.NativeField{Protocol: protocol, Name: responseFormatName, Json: f.verbatim.of(d.body), Binding: true}
		req.ResponseFormat = out
		return nil
	}
	req.ResponseFormat = out
	req.NativeFields = append(req.NativeFields, member.NativesUnder(protocol, "response_format.", f.Extra)...)
	return nil
}

func (e *encoder) responseFormat(r *request, req *genwayv1.GenerateTextRequest) error {
	f := req.ResponseFormat
	if f == nil {
		return nil
	}
	if f.Native != nil {
		if f.Native.Protocol != protocol {
			return fault.Unsupported(responseFormatName, "this response format cannot be carried to the upstream this model is routed to")
		}
		raw, err := jsonText(string(f.Native.Json), responseFormatName+".native.json")
		r.ResponseFormat = &responseFormat{verbatim: verbatim{raw: raw}}
		return err
	}
	out := &responseFormat{Extra: inner(req.NativeFields, "response_format.", "response_format.json_schema.")}
	switch f.Kind {
	case genwayv1.ResponseFormat_KIND_UNSPECIFIED:
		return nil
	case genwayv1.ResponseFormat_KIND_TEXT:
		out.Type = "text"
	case genwayv1.ResponseFormat_KIND_JSON_OBJECT:
		out.Type = "json_object"
	case genwayv1.ResponseFormat_KIND_JSON_SCHEMA:
		s := &jsonSchema{Name: f.Name, Description: f.Description, Strict: f.Strict, Extra: inner(req.NativeFields, "response_format.json_schema.")}
		if s.Name == "" {
			s.Name = "response" // required here, and other protocols have none
		}
		var err error
		if s.Schema, err = jsonText(f.SchemaJson, responseFormatName+".schema_json"); err != nil {
			return err
		}
		out.Type, out.JSONSchema = "json_schema", s
	default:
		return fault.Unsupported(responseFormatName, "a plain-text enum cannot be asked of the upstream this model is routed to")
	}
	r.ResponseFormat = e.format(out)
	return nil
}

var heads = passthrough.Text{
	Look:     member.Look{Sign: sign, Kind: "role", ID: "tool_call_id"},
	Request:  requestHead,
	Response: responseHead,
}

// sign recognises seals, and results, which are refused without an identifier for every
// upstream (case T19).
func sign(value []byte) member.Signs {
	switch {
	case string(value) == roleTool:
		return member.Result
	case codec.MaySeal(value):
		return member.Foreign
	}
	return 0
}

// BodyStatistics implements codec.HeadDecoder.
func (Codec) BodyStatistics(body []byte) *edgev1.BodyStatistics {
	return heads.BodyStatistics(body)
}

// DecodeRequestHead implements codec.HeadDecoder.
func (Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) { return heads.DecodeRequest(body) }

// DecodeResponseHead implements codec.HeadDecoder.
func (Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	return heads.DecodeResponse(body)
}

// requestHead decodes the light members of a request.
func requestHead(index *member.TopIndex) (*codec.Request, bool) {
	var r request
	body, ok := r.readHead(index)
	if r.Messages = anyMessages; !ok || r.check() != nil {
		return nil, false
	}
	open, err := r.open()
	if err != nil {
		return nil, false
	}
	req, err := r.finish(decoder{body: body}, open)
	if err != nil {
		return nil, false
	}
	return req, true
}

// anyMessages stand for the messages of a body that has some.
var anyMessages = make([]message, 1)

// responseHead decodes the light members of an answer.
func responseHead(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool) {
	var a answer
	if _, ok := a.readHead(index); !ok || given(a.Error) {
		return nil, false
	}
	return a.settings(), true
}
