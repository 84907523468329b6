package chat

import (
	"math"
	"strconv"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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

// message is a message of a request, of an answer, or the delta of a chunk:
// ChatCompletionMessageParamUnion, ChatCompletionMessage and
// ChatCompletionChunkChoiceDelta of the SDK.
type message struct {
	Role    string  `json:"role"`
	Name    string  `json:"name"`
	Content content `json:"content"`
	// The same text under the name of DeepSeek and vLLM, and of OpenRouter and
	// Groq.
	ReasoningContent text     `json:"reasoning_content"`
	Reasoning        text     `json:"reasoning"`
	ReasoningDetails []detail `json:"reasoning_details" wire:"empty"`
	Refusal          text     `json:"refusal"`
	// Written in every answer, empty too.
	Annotations  []annotation   `json:"annotations" wire:"empty"`
	Images       []part         `json:"images" wire:"empty"`
	Audio        *audio         `json:"audio"`
	ToolCalls    []toolCall     `json:"tool_calls" wire:"empty"`
	FunctionCall *functionCall  `json:"function_call"`
	ToolCallID   string         `json:"tool_call_id"`
	ExtraContent jsontext.Value `json:"extra_content"`
	Extra        jsontext.Value `json:",embed"`
}

// part is an element of an array content: ChatCompletionContentPartUnionParam,
// and the links to video and audio that vLLM takes.
type part struct {
	Type                  string         `json:"type" wire:"always"`
	Text                  *string        `json:"text"`
	Refusal               *string        `json:"refusal"`
	ImageURL              *link          `json:"image_url"`
	VideoURL              *link          `json:"video_url"`
	AudioURL              *link          `json:"audio_url"`
	InputAudio            *inputAudio    `json:"input_audio"`
	File                  *file          `json:"file"`
	CacheControl          *cacheControl  `json:"cache_control"`
	PromptCacheBreakpoint *cacheControl  `json:"prompt_cache_breakpoint"`
	ExtraContent          jsontext.Value `json:"extra_content"`
	Extra                 jsontext.Value `json:",embed"`
	verbatim              verbatim       `wire:"span"`
}

// link is a reference to media. What is written has them as media, as have inputAudio
// and file, so that their data goes into the body without a stop. Some engines allow the
// bare URL in its place.
//
//wire:string=URL
type link struct {
	URL    string         `json:"url" wire:"by=writeURL"`
	Detail string         `json:"detail"`
	Extra  jsontext.Value `json:",embed"`
	media  *genwayv1.Media
}

type inputAudio struct {
	Data   string         `json:"data" wire:"by=writeData"`
	Format string         `json:"format"`
	Extra  jsontext.Value `json:",embed"`
	data   []byte
}

type file struct {
	FileData string         `json:"file_data" wire:"by=writeData"`
	FileID   string         `json:"file_id"`
	Filename string         `json:"filename"`
	Extra    jsontext.Value `json:",embed"`
	media    *genwayv1.Media
}

// cacheControl is cache_control as OpenRouter takes it and
// prompt_cache_breakpoint as OpenAI does; they differ in the constant member.
type cacheControl struct {
	Type  string         `json:"type"`
	Mode  string         `json:"mode"`
	TTL   string         `json:"ttl"`
	Extra jsontext.Value `json:",embed"`
}

type audio struct {
	ID         string         `json:"id"`
	Data       string         `json:"data" wire:"by=writeData"`
	ExpiresAt  jsontext.Value `json:"expires_at"`
	Transcript string         `json:"transcript"`
	Extra      jsontext.Value `json:",embed"`
	data       []byte
}

type toolCall struct {
	Index        *int32         `json:"index"`
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Function     *functionCall  `json:"function"`
	Custom       *customCall    `json:"custom"`
	ExtraContent jsontext.Value `json:"extra_content"`
	Extra        jsontext.Value `json:",embed"`
	verbatim     verbatim       `wire:"span"`
}

type functionCall struct {
	Name      string         `json:"name"`
	Arguments text           `json:"arguments"`
	Extra     jsontext.Value `json:",embed"`
}

type customCall struct {
	Name  string         `json:"name"`
	Input text           `json:"input"`
	Extra jsontext.Value `json:",embed"`
}

// detail is an element of OpenRouter's reasoning_details. Entries with the same
// index are of one thinking part. summary_index and thought_signature are ours:
// the first distinguishes several summaries of one part, the second is the part's
// thought signature.
type detail struct {
	Type             string         `json:"type" wire:"always"`
	ID               string         `json:"id"`
	Index            *int32         `json:"index"`
	Summary          *string        `json:"summary"`
	SummaryIndex     int32          `json:"summary_index"`
	Text             *string        `json:"text"`
	Data             *string        `json:"data"`
	Signature        string         `json:"signature"`
	ThoughtSignature string         `json:"thought_signature"`
	Extra            jsontext.Value `json:",embed"`
	verbatim         verbatim       `wire:"span"`
}

type annotation struct {
	Type        string         `json:"type" wire:"always"`
	URLCitation *urlCitation   `json:"url_citation"`
	Extra       jsontext.Value `json:",embed"`
	verbatim    verbatim       `wire:"span"`
}

type urlCitation struct {
	EndIndex   *int32         `json:"end_index"`
	StartIndex *int32         `json:"start_index"`
	Title      string         `json:"title" wire:"always"`
	URL        string         `json:"url" wire:"always"`
	Content    string         `json:"content"`
	Extra      jsontext.Value `json:",embed"`
}

// verbatim keeps hold of an object whose kind may turn out to be unknown: where
// it stood in the body when decoding, its bytes when encoding.
type verbatim struct {
	start, end int64
	raw        jsontext.Value
}

// of returns the bytes of the object in the body it was decoded from; none when
// null stands in its place.
func (v verbatim) of(body []byte) jsontext.Value {
	for v.start < v.end && body[v.start] != '{' {
		v.start++ // the colon or comma ahead of the value, and white space
	}
	if v.start == v.end {
		return nil
	}
	return jsontext.Value(body[v.start:v.end]).Clone()
}

func (l *link) writeURL(w *member.Writer, name string) { w.DataURL(name, l.media) }

func (a *inputAudio) writeData(w *member.Writer, name string) { w.Base64(name, a.data) }

func (a *audio) writeData(w *member.Writer, name string) {
	if len(a.data) > 0 {
		w.Base64(name, a.data)
	}
}

func (f *file) writeData(w *member.Writer, name string) {
	if f.media != nil {
		w.DataURL(name, f.media)
	} else {
		w.StrOpt(name, f.FileData)
	}
}

// answer is a completion: ChatCompletion of the SDK, and ChatCompletionChunk when
// it streams.
//
//wire:read,write,members,head
type answer struct {
	ID                string         `json:"id" wire:"always"`
	Object            string         `json:"object" wire:"always"`
	Created           seconds        `json:"created" wire:"always"`
	Model             string         `json:"model" wire:"always"`
	Choices           []choice       `json:"choices" wire:"empty,main"`
	Usage             *usage         `json:"usage"`
	ServiceTier       string         `json:"service_tier"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Error             jsontext.Value `json:"error" wire:"read"`
	// Random padding of streamed chunks; says nothing.
	Obfuscation jsontext.Value `json:"obfuscation" wire:"read"`
	Extra       jsontext.Value `json:",embed"`
}

// choice has a message in an answer and a delta in a chunk.
type choice struct {
	Index        *int32    `json:"index" wire:"always"`
	Message      *message  `json:"message"`
	Delta        *message  `json:"delta"`
	Logprobs     *logprobs `json:"logprobs" wire:"null"`
	FinishReason text      `json:"finish_reason" wire:"null"`
	// OpenRouter's member for the vendor's own word.
	NativeFinishReason text `json:"native_finish_reason"`
	// vLLM's member for the stop sequence, a string, or the stop token, a number.
	StopReason text           `json:"stop_reason"`
	Extra      jsontext.Value `json:",embed"`
}

type logprobs struct {
	Content []tokenLogprob `json:"content" wire:"always"`
	Refusal []tokenLogprob `json:"refusal" wire:"always"`
	Extra   jsontext.Value `json:",embed"`
}

type tokenLogprob struct {
	Token       string          `json:"token" wire:"always"`
	Logprob     float64         `json:"logprob" wire:"always"`
	Bytes       octets          `json:"bytes" wire:"by=writeBytes"`
	TopLogprobs *[]tokenLogprob `json:"top_logprobs"`
}

// usage is CompletionUsage of the SDK.
type usage struct {
	PromptTokens            int64              `json:"prompt_tokens" wire:"always"`
	CompletionTokens        int64              `json:"completion_tokens" wire:"always"`
	TotalTokens             int64              `json:"total_tokens" wire:"always"`
	PromptTokensDetails     *promptDetails     `json:"prompt_tokens_details"`
	CompletionTokensDetails *completionDetails `json:"completion_tokens_details"`
	Extra                   jsontext.Value     `json:",embed"`
}

type promptDetails struct {
	CachedTokens     *int64         `json:"cached_tokens"`
	CacheWriteTokens *int64         `json:"cache_write_tokens"`
	TextTokens       *int64         `json:"text_tokens"`
	ImageTokens      *int64         `json:"image_tokens"`
	AudioTokens      *int64         `json:"audio_tokens"`
	Extra            jsontext.Value `json:",embed"`
}

type completionDetails struct {
	ReasoningTokens          *int64         `json:"reasoning_tokens"`
	TextTokens               *int64         `json:"text_tokens"`
	ImageTokens              *int64         `json:"image_tokens"`
	AudioTokens              *int64         `json:"audio_tokens"`
	AcceptedPredictionTokens *int64         `json:"accepted_prediction_tokens"`
	RejectedPredictionTokens *int64         `json:"rejected_prediction_tokens"`
	Extra                    jsontext.Value `json:",embed"`
}

// given reports whether a raw member is there and not null.
func given(raw jsontext.Value) bool { return len(raw) > 0 && raw.Kind() != 'n' }

// spelled returns one value as JSON; nil when it cannot be written.
func spelled(v interface{ write(w *member.Writer) }) jsontext.Value {
	w := member.NewWriter(128)
	v.write(w)
	out, _ := w.Finish()
	return out
}

// messageList has elements of half a kilobyte each, so that decoders take turns with
// the memory. Nothing canonical may be a part of one.
type messageList []message

var spareMessages member.Spare[message]

// ReadJSON implements member.ValueReader.
func (l *messageList) ReadJSON(r *member.Reader) bool {
	if r.Kind() == '[' {
		*l = spareMessages.Take()
	}
	return member.ReadList(r, (*[]message)(l), (*message).ReadJSON)
}

// stopList is one stop sequence or several.
type stopList []string

func (s *stopList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch k := d.PeekKind(); k {
	case 'n':
		return d.SkipValue()
	case '"':
		*s = make(stopList, 1)
		return json.UnmarshalDecode(d, &(*s)[0])
	case '[':
		return json.UnmarshalDecode(d, (*[]string)(s))
	default:
		return wrongTypeHere(d, "string or array", k)
	}
}

// ReadJSON implements member.ValueReader.
func (s *stopList) ReadJSON(r *member.Reader) bool {
	if r.Kind() == '"' {
		*s = make(stopList, 1)
		return r.Text(&(*s)[0])
	}
	return r.Strings((*[]string)(s))
}

// seconds is a Unix time. Some engines give it a fraction.
type seconds int64 //nolint:recvcheck // decoding sets the value, all else takes a copy of it

func (s *seconds) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '0' {
		return json.UnmarshalDecode(d, (*int64)(s))
	}
	var f float64
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	if json.Unmarshal(raw, (*int64)(s)) == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &f); err != nil || math.Abs(f) > 1e15 {
		return wrongTypeHere(d, "integer", '0')
	}
	*s = seconds(f)
	return nil
}

// ReadJSON implements member.ValueReader.
func (s *seconds) ReadJSON(r *member.Reader) bool {
	if r.Null() {
		return true
	}
	n, ok := r.Number()
	if !ok {
		return false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err == nil {
		*s = seconds(i)
		return true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	*s = seconds(f)
	return err == nil && math.Abs(f) <= 1e15
}

// octets is the UTF-8 of a token as an array of integers.
type octets []byte

func (o *octets) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var list []uint8Number
	if err := json.UnmarshalDecode(d, &list); err != nil {
		return err
	}
	*o = nil
	if list != nil {
		*o = make(octets, len(list))
	}
	for i, n := range list {
		(*o)[i] = byte(n)
	}
	return nil
}

// ReadJSON implements member.ValueReader.
func (o *octets) ReadJSON(r *member.Reader) bool {
	return member.ReadList(r, (*[]byte)(o), func(b *byte, r *member.Reader) bool { return r.Uint8(b) })
}

func (t *tokenLogprob) writeBytes(w *member.Writer, name string) {
	if t.Bytes == nil {
		w.Null(name)
		return
	}
	w.List(name)
	for _, b := range t.Bytes {
		w.Element(int64(b))
	}
	w.EndList()
}

// uint8Number keeps a list of small numbers from being read as base64.
type uint8Number uint8

func wrongTypeHere(d *jsontext.Decoder, want string, got jsontext.Kind) error {
	return wrongType(member.Path(string(d.StackPointer())), want, got)
}

func wrongType(path, want string, got jsontext.Kind) error {
	return fault.Invalid(path, "%s: expected %s, got %s", path, want, kindWord(got))
}

func kindWord(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	}
	return k.String()
}

// presence distinguishes an absent member from one that is null.
type presence uint8

const (
	absent presence = iota
	isNull
	isText
	isParts
	isOther
)

// text is a member that should be a string. Engines also write null and, for
// arguments, the object itself.
type text struct { //nolint:recvcheck // decoding sets the value, all else takes a copy of it
	is  presence
	s   string
	raw jsontext.Value
}

func textOf(s string) text { return text{is: isText, s: s} }

// json is a string, or anything else but null, as JSON.
func (t text) json() jsontext.Value {
	if t.is == isText {
		return member.AppendQuote(nil, t.s)
	}
	out, _ := member.AppendCompact(nil, t.raw)
	return out
}

func (t text) IsZero() bool { return t.is == absent }

func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case 'n':
		t.is = isNull
		return d.SkipValue()
	case '"':
		t.is = isText
		return json.UnmarshalDecode(d, &t.s)
	}
	t.is = isOther
	raw, err := d.ReadValue()
	t.raw = raw.Clone()
	return err
}

// ReadJSON implements member.ValueReader.
func (t *text) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case 'n':
		t.is = isNull
		return r.Null()
	case '"':
		t.is = isText
		return r.Text(&t.s)
	}
	t.is = isOther
	return r.Keep(&t.raw)
}

// writeOrNull writes null for what is absent.
func (t *text) writeOrNull(w *member.Writer, name string) {
	switch t.is {
	case isText:
		w.Str(name, t.s)
	case isOther:
		w.Compact(name, t.raw)
	case absent, isNull, isParts:
		w.Null(name)
	}
}

// writeOpt leaves out what is absent.
func (t *text) writeOpt(w *member.Writer, name string) {
	if t.is != absent {
		t.writeOrNull(w, name)
	}
}

// str demands a string or null.
func (t text) str(path string) (string, error) {
	if t.is == isOther {
		return "", wrongType(path, "string", t.raw.Kind())
	}
	return t.s, nil
}

// spelled returns the string, or the JSON text of anything else.
func (t text) spelled() string {
	if t.is == isOther {
		return member.Text(t.raw)
	}
	return t.s
}

// content is a string, an array of parts, or null.
type content struct {
	is    presence
	s     string
	parts []part
}

func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch k := d.PeekKind(); k {
	case 'n':
		c.is = isNull
		return d.SkipValue()
	case '"':
		c.is = isText
		return json.UnmarshalDecode(d, &c.s)
	case '[':
		c.is = isParts
		return json.UnmarshalDecode(d, &c.parts)
	default:
		return wrongTypeHere(d, "string or array", k)
	}
}

// ReadJSON implements member.ValueReader.
func (c *content) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case 'n':
		c.is = isNull
		return r.Null()
	case '"':
		c.is = isText
		return r.Text(&c.s)
	case '[':
		c.is = isParts
		return member.ReadList(r, &c.parts, (*part).ReadJSON)
	}
	return false
}

// writeOpt leaves out what is absent.
func (c *content) writeOpt(w *member.Writer, name string) {
	switch c.is {
	case absent:
	case isText:
		w.Str(name, c.s)
	case isParts:
		member.WriteList(w, name, c.parts, (*part).write)
	case isNull, isOther:
		w.Null(name)
	}
}
