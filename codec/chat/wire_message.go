package chat

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
	ReasoningDetails []detail `json:"reasoning_details"`
	Refusal          text     `json:"refusal"`
	// Written in every answer, empty too.
	Annotations  []annotation   `json:"annotations"`
	Images       []part         `json:"images"`
	Audio        *audio         `json:"audio"`
	ToolCalls    []toolCall     `json:"tool_calls"`
	FunctionCall *functionCall  `json:"function_call"`
	ToolCallID   string         `json:"tool_call_id"`
	ExtraContent jsontext.Value `json:"extra_content"`
	Extra        jsontext.Value `json:",embed"`
}

// part is an element of an array content: ChatCompletionContentPartUnionParam,
// and the links to video and audio that vLLM takes.
type part struct {
	Type                  string         `json:"type"`
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
	verbatim              verbatim
}

// link is a reference to media. What is written has them as media, as have inputAudio
// and file, so that their data goes into the body without a stop.
type link struct {
	URL    string         `json:"url"`
	Detail string         `json:"detail"`
	Extra  jsontext.Value `json:",embed"`
	media  *genwayv1.Media
}

type inputAudio struct {
	Data   string         `json:"data"`
	Format string         `json:"format"`
	Extra  jsontext.Value `json:",embed"`
	data   []byte
}

type file struct {
	FileData string         `json:"file_data"`
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
	Data       string         `json:"data"`
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
	verbatim     verbatim
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
// the first tells several summaries of one part apart, the second is the part's
// thought signature.
type detail struct {
	Type             string         `json:"type"`
	ID               string         `json:"id"`
	Index            *int32         `json:"index"`
	Summary          *string        `json:"summary"`
	SummaryIndex     int32          `json:"summary_index"`
	Text             *string        `json:"text"`
	Data             *string        `json:"data"`
	Signature        string         `json:"signature"`
	ThoughtSignature string         `json:"thought_signature"`
	Extra            jsontext.Value `json:",embed"`
	verbatim         verbatim
}

type annotation struct {
	Type        string         `json:"type"`
	URLCitation *urlCitation   `json:"url_citation"`
	Extra       jsontext.Value `json:",embed"`
	verbatim    verbatim
}

type urlCitation struct {
	EndIndex   *int32         `json:"end_index"`
	StartIndex *int32         `json:"start_index"`
	Title      string         `json:"title"`
	URL        string         `json:"url"`
	Content    string         `json:"content"`
	Extra      jsontext.Value `json:",embed"`
}

// verbatim keeps hold of an object whose kind may turn out to be unknown: where
// it stood in the body when decoding, its bytes when encoding.
type verbatim struct { //nolint:recvcheck // decoding sets the value, all else takes a copy of it
	start, end int64
	raw        jsontext.Value
}

// of gives the bytes of the object in the body it was decoded from; none when
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

func (p *part) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain part
	return p.verbatim.scan(d, (*plain)(p))
}

func (c *toolCall) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain toolCall
	return c.verbatim.scan(d, (*plain)(c))
}

func (r *detail) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain detail
	return r.verbatim.scan(d, (*plain)(r))
}

func (a *annotation) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain annotation
	return a.verbatim.scan(d, (*plain)(a))
}

// scan decodes into plain, the same value without its methods.
func (v *verbatim) scan(d *jsontext.Decoder, plain any) error {
	start := d.InputOffset()
	err := json.UnmarshalDecode(d, plain)
	v.start, v.end = start, d.InputOffset()
	return err
}

// UnmarshalJSONFrom takes the bare URL that some engines allow, too.
func (l *link) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		return json.UnmarshalDecode(d, &l.URL)
	}
	type plain link
	return json.UnmarshalDecode(d, (*plain)(l))
}
