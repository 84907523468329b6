package generatecontent

import (
	"bytes"
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request is the body of generateContent and streamGenerateContent.
//
//wire:read,write,head
//settings:integer=integer,list=list[string]
type request struct {
	// Model repeats the model of the path, which counts; only counting bodies
	// have it written.
	Model             string            `json:"model"`
	Contents          list[content]     `json:"contents" wire:"main"`
	SystemInstruction *content          `json:"systemInstruction" wire:"heavy"`
	Tools             list[tool]        `json:"tools" wire:"heavy"`
	ToolConfig        *toolConfig       `json:"toolConfig"`
	GenerationConfig  *generationConfig `json:"generationConfig"`
	settings
	Extra jsontext.Value `json:",embed"`
}

// tool holds function declarations, or in Extra the tools the vendor runs, each
// under its own name.
type tool struct {
	FunctionDeclarations list[functionDeclaration] `json:"functionDeclarations"`
	Extra                jsontext.Value            `json:",embed"`
	raw                  jsontext.Value            `wire:"whole"`
}

type functionDeclaration struct {
	Name        string `json:"name" wire:"always"`
	Description string `json:"description"`
	// Parameters is a schema of the OpenAPI dialect.
	Parameters           jsontext.Value `json:"parameters"`
	ParametersJSONSchema jsontext.Value `json:"parametersJsonSchema"`
	Extra                jsontext.Value `json:",embed"`
}

type toolConfig struct {
	FunctionCallingConfig *functionCallingConfig `json:"functionCallingConfig"`
	Extra                 jsontext.Value         `json:",embed"`
}

type functionCallingConfig struct {
	Mode                 string         `json:"mode"`
	AllowedFunctionNames list[string]   `json:"allowedFunctionNames"`
	Extra                jsontext.Value `json:",embed"`
}

type generationConfig struct {
	generationConfigSettings
	ResponseMIMEType string `json:"responseMimeType"`
	// ResponseSchema is a schema of the OpenAPI dialect.
	ResponseSchema     jsontext.Value  `json:"responseSchema"`
	ResponseJSONSchema jsontext.Value  `json:"responseJsonSchema"`
	SpeechConfig       *speechConfig   `json:"speechConfig"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig"`
	Extra              jsontext.Value  `json:",embed"`
}

type speechConfig struct {
	VoiceConfig *voiceConfig   `json:"voiceConfig"`
	Extra       jsontext.Value `json:",embed"`
}

type voiceConfig struct {
	PrebuiltVoiceConfig *prebuiltVoiceConfig `json:"prebuiltVoiceConfig"`
	Extra               jsontext.Value       `json:",embed"`
}

type prebuiltVoiceConfig struct {
	VoiceName string         `json:"voiceName"`
	Extra     jsontext.Value `json:",embed"`
}

type thinkingConfig struct {
	IncludeThoughts *bool          `json:"includeThoughts"`
	ThinkingBudget  *integer       `json:"thinkingBudget"`
	ThinkingLevel   string         `json:"thinkingLevel"`
	Extra           jsontext.Value `json:",embed"`
}

// content is one turn.
type content struct {
	// Role is user or model; none means user.
	Role  string         `json:"role"`
	Parts list[part]     `json:"parts" wire:"array"`
	Extra jsontext.Value `json:",embed"`
}

// part is one piece of a turn: one of its data members, and notes about it.
type part struct {
	Text               *string           `json:"text"`
	Thought            bool              `json:"thought"`
	InlineData         *blob             `json:"inlineData"`
	FileData           *fileData         `json:"fileData"`
	FunctionCall       *functionCall     `json:"functionCall"`
	FunctionResponse   *functionResponse `json:"functionResponse"`
	AudioTranscription jsontext.Value    `json:"audioTranscription"`
	// ThoughtSignature is base64 in whatever spelling; it is not decoded.
	ThoughtSignature string         `json:"thoughtSignature"`
	Extra            jsontext.Value `json:",embed"`
	// raw, when set, is the whole part (an opaque one).
	raw jsontext.Value `wire:"whole"`
}

type blob struct {
	MIMEType    string         `json:"mimeType"`
	Data        base64Bytes    `json:"data"`
	DisplayName string         `json:"displayName"`
	Extra       jsontext.Value `json:",embed"`
}

type fileData struct {
	MIMEType    string         `json:"mimeType"`
	FileURI     string         `json:"fileUri" wire:"always"`
	DisplayName string         `json:"displayName"`
	Extra       jsontext.Value `json:",embed"`
}

type functionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
	// ArgsText is Genway's own: earlier versions gave the text of arguments that are
	// no object there, and callers may give it back.
	ArgsText *string        `json:"argsText" wire:"read"`
	Extra    jsontext.Value `json:",embed"`
}

type functionResponse struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	// Parts are media beside the response.
	Parts list[part]     `json:"parts"`
	Extra jsontext.Value `json:",embed"`
}

// response is the body of an answer, and the data of each frame of a stream.
//
//wire:read,write,head
type response struct {
	Candidates     []candidate     `json:"candidates" wire:"main"`
	PromptFeedback *promptFeedback `json:"promptFeedback"`
	UsageMetadata  *usage          `json:"usageMetadata"`
	ModelVersion   string          `json:"modelVersion"`
	CreateTime     string          `json:"createTime"`
	ResponseID     string          `json:"responseId"`
	// Error takes the place of all else in the last frame of a failed stream.
	Error jsontext.Value `json:"error" wire:"read"`
	Extra jsontext.Value `json:",embed"`
}

type candidate struct {
	Content        *content       `json:"content"`
	FinishReason   string         `json:"finishReason"`
	FinishMessage  string         `json:"finishMessage"`
	Index          integer        `json:"index" wire:"always"`
	LogprobsResult jsontext.Value `json:"logprobsResult"`
	Extra          jsontext.Value `json:",embed"`
}

type promptFeedback struct {
	BlockReason        string         `json:"blockReason"`
	BlockReasonMessage string         `json:"blockReasonMessage"`
	Extra              jsontext.Value `json:",embed"`
}

// usage counts tokens: candidatesTokenCount without thoughts (case U11),
// promptTokenCount with cached tokens and without the tokens of tool results.
type usage struct {
	PromptTokenCount        integer        `json:"promptTokenCount" wire:"always"`
	CandidatesTokenCount    integer        `json:"candidatesTokenCount" wire:"always"`
	TotalTokenCount         integer        `json:"totalTokenCount" wire:"always"`
	CachedContentTokenCount *integer       `json:"cachedContentTokenCount"`
	ThoughtsTokenCount      *integer       `json:"thoughtsTokenCount"`
	ToolUsePromptTokenCount *integer       `json:"toolUsePromptTokenCount"`
	PromptTokensDetails     jsontext.Value `json:"promptTokensDetails"`
	CandidatesTokensDetails jsontext.Value `json:"candidatesTokensDetails"`
	ServiceTier             string         `json:"serviceTier"`
	Extra                   jsontext.Value `json:",embed"`
}

// modalityTokens is the share of one kind of content in a count.
//
//wire:read,write
type modalityTokens struct {
	Modality   string         `json:"modality"`
	TokenCount integer        `json:"tokenCount"`
	Extra      jsontext.Value `json:",embed"`
}

// list is a repeated member. The vendor's JSON mapping takes one element in place
// of a list, and its documentation uses that ("parts": {"text": "..."}).
type list[T any] []T

func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if kind := d.PeekKind(); kind != '{' && kind != '"' {
		return json.UnmarshalDecode(d, (*[]T)(l))
	}
	var one T
	if err := json.UnmarshalDecode(d, &one); err != nil {
		return err
	}
	*l = list[T]{one}
	return nil
}

// readList is UnmarshalJSONFrom for member.Reader.
func (l *list[T]) readList(r *member.Reader, read func(*T, *member.Reader) bool) bool {
	if kind := r.Kind(); kind != '{' && kind != '"' {
		return member.ReadList(r, (*[]T)(l), read)
	}
	*l = make(list[T], 1)
	return read(&(*l)[0], r)
}

// integer is a whole number, which the vendor's JSON mapping also takes as a
// string and with a fraction of zero.
type integer int64

func (n *integer) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if !n.take(value) {
		return &json.SemanticError{JSONKind: value.Kind(), JSONValue: value.Clone(), GoType: reflect.TypeFor[integer]()}
	}
	return nil
}

// ReadJSON implements member.ValueReader.
func (n *integer) ReadJSON(r *member.Reader) bool {
	v, ok := r.Value()
	return ok && n.take(v)
}

func (n *integer) take(value []byte) bool {
	text := bytes.Trim(value, `"`)
	if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*n = integer(i)
		return true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	*n = integer(f)
	return err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

// int64Of returns the number as the contract has it.
func int64Of(n *integer) *int64 {
	if n == nil {
		return nil
	}
	i := int64(*n)
	return &i
}

// int32Of is int64Of for members of 32 bits; at is the path of the member's object.
func int32Of(n *integer, at, name string) (*int32, error) {
	if n == nil {
		return nil, nil
	}
	if int64(*n) != int64(int32(*n)) {
		param := member.Join(at, name)
		return nil, fault.Invalid(param, "%s is out of range", param)
	}
	i := int32(*n)
	return &i, nil
}

func integerOf[T int32 | int64](n *T) *integer {
	if n == nil {
		return nil
	}
	i := integer(*n)
	return &i
}

// base64Bytes are bytes as base64 text in either alphabet: the vendor takes both,
// and its Python SDK sends the URL-safe one. nil is an absent member.
type base64Bytes []byte

func (b *base64Bytes) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == 'n' {
		return nil
	}
	if value.Kind() != '"' {
		return &json.SemanticError{JSONKind: value.Kind(), GoType: reflect.TypeFor[string]()}
	}
	return b.take(value)
}

// ReadJSON implements member.ValueReader.
func (b *base64Bytes) ReadJSON(r *member.Reader) bool {
	if r.Kind() != '"' {
		return r.Null()
	}
	v, ok := r.Value()
	return ok && b.take(jsontext.Value(v)) == nil
}

// writeOpt writes no bytes, too.
func (b *base64Bytes) writeOpt(w *member.Writer, name string) { w.Base64(name, *b) }

// take reads a string.
func (b *base64Bytes) take(value jsontext.Value) error {
	raw := []byte(value[1 : len(value)-1])
	data := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	if n, err := base64.StdEncoding.Decode(data, raw); err == nil {
		*b = data[:n]
		return nil
	}
	if raw, err := jsontext.AppendUnquote(nil, value); err == nil {
		if data, err := member.DecodeBase64(string(raw)); err == nil {
			*b = append(base64Bytes{}, data...)
			return nil
		}
	}
	return fault.Invalid("", "not valid base64")
}

// present reports whether a raw member was given a value.
func present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// natives are the members a wire struct has no field for. A name with a dot is
// refused: it would read as a nested one.
func natives(extra jsontext.Value, path string, binding func(name string, value []byte) bool) ([]*genwayv1.NativeField, error) {
	fields := member.Natives(protocol, extra, binding)
	for _, f := range fields {
		if strings.Contains(f.Name, ".") {
			return nil, fault.Invalid(member.Join(path, f.Name), "unknown member")
		}
	}
	return fields, nil
}

// binds reports of members of a request, under a prefix, whether they bear on the answer.
func binds(prefix string) func(name string, value []byte) bool {
	return func(name string, value []byte) bool { return setting.Binds(protocol, prefix+name, value) }
}

// nativesAt is natives for objects that mostly have none, none of which binds.
func nativesAt(extra jsontext.Value, place member.Place) ([]*genwayv1.NativeField, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	return natives(extra, place.String(), nil)
}

// nested are the natives of an object inside the one the canonical message was,
// their names led by prefix (which ends with a dot).
func nested(prefix string, extra jsontext.Value, path string, binding func(name string, value []byte) bool) ([]*genwayv1.NativeField, error) {
	fields, err := natives(extra, path, binding)
	for _, f := range fields {
		f.Name = prefix + f.Name
	}
	return fields, err
}

// noFields are lists without fields. They are not to be written to.
var noFields [8][]*genwayv1.NativeField

// split takes apart what nested put together: one list for each prefix, their
// names without it, and last the fields with none of the prefixes. A field
// belongs to the first prefix that fits.
func split(fields []*genwayv1.NativeField, prefixes ...string) [][]*genwayv1.NativeField {
	if len(fields) == 0 {
		return noFields[:len(prefixes)+1]
	}
	lists := make([][]*genwayv1.NativeField, len(prefixes)+1)
next:
	for _, f := range fields {
		for i, prefix := range prefixes {
			if name, ok := strings.CutPrefix(f.Name, prefix); ok && f.Protocol == protocol {
				lists[i] = append(lists[i], &genwayv1.NativeField{Protocol: f.Protocol, Name: name, Json: f.Json, Binding: f.Binding})
				continue next
			}
		}
		lists[len(prefixes)] = append(lists[len(prefixes)], f)
	}
	return lists
}

// native makes a native field.
func native(name string, value jsontext.Value) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: value.Clone()}
}

// merge adds later natives to earlier ones of a stream, by name: the later value
// stands, unless it is empty (the vendor sends groundingMetadata: {} with most
// frames).
func merge(have, more []*genwayv1.NativeField) []*genwayv1.NativeField {
next:
	for _, f := range more {
		for i, h := range have {
			if h.Name == f.Name {
				if !isEmpty(f.Json) {
					have[i] = f
				}
				continue next
			}
		}
		have = append(have, f)
	}
	return have
}

func isEmpty(v jsontext.Value) bool {
	inner := bytes.TrimSpace(v)
	if len(inner) < 2 || inner[0] != '{' && inner[0] != '[' {
		return false
	}
	return len(bytes.TrimSpace(inner[1:len(inner)-1])) == 0
}
