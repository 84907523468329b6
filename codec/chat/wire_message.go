package chat

import (
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
