// Package content counts the tokens of requests and answers as the contract has them:
// the sandbox reports them as usage, and so does the core for answers whose upstream reports none.
//
// Texts of every kind are counted by the tokenizer of internal/tokens: messages, thinking, tool
// calls (name and arguments), tool results, the schemas of tools and of the response format;
// exactly up to tokens.MaxExact bytes of a request or an answer, and in proportion after them.
// Nothing is counted for roles and framing. Media cost what the table says:
//
//	image   tokens.Image of its pixels; 85 where they are not known (url, file id)
//	audio   32 a second; where the length is not known, 1 for each 1,024 bytes
//	text    the tokens of the file's text
//	PDF     258 a page, at least one page
//	other   1 for each 1,024 bytes
//
// It must not import codecs, upstreams or net/http.
package content

import (
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/sandbox/media"
)

const (
	audioPerSecond = 32
	pdfPage        = 258
	bytesPerToken  = 1024
)

// Input is the tokens of a request by modality.
type Input struct {
	Text, Image, Audio int
	counter            tokens.Counter // of the request's texts
}

// Total is the tokens of all modalities.
func (in *Input) Total() int64 { return int64(in.Text + in.Image + in.Audio) }

// Of counts the tokens of a request that is decoded (protocol/deferred).
func Of(req *genwayv1.GenerateTextRequest) Input { return Estimate(req, tokens.MaxExact) }

// Estimate does so exactly for so many bytes of its texts, and in proportion for the rest.
func Estimate(req *genwayv1.GenerateTextRequest, exact int) Input {
	in := Input{counter: tokens.Counter{Exact: exact}}
	for _, m := range req.GetMessages() {
		in.words(m.GetName())
		in.parts(m.GetParts())
	}
	for _, t := range req.GetTools() {
		in.words(t.GetFunction().GetName(), t.GetFunction().GetDescription(), t.GetFunction().GetParametersJson(),
			t.GetCustom().GetName(), t.GetCustom().GetDescription(), t.GetCustom().GetFormatJson(), string(t.GetHosted().GetJson()))
	}
	in.words(req.GetResponseFormat().GetSchemaJson())
	return in
}

func (in *Input) words(texts ...string) {
	for _, t := range texts {
		if t != "" {
			in.Text += in.counter.Add(t)
		}
	}
}

func (in *Input) parts(parts []*genwayv1.Part) {
	for _, p := range parts {
		switch k := p.GetKind().(type) {
		case *genwayv1.Part_Text:
			in.words(k.Text.GetText())
		case *genwayv1.Part_Refusal:
			in.words(k.Refusal.GetText())
		case *genwayv1.Part_Thinking:
			in.words(k.Thinking.GetText())
			in.words(k.Thinking.GetSummary()...)
		case *genwayv1.Part_ToolCall:
			in.words(k.ToolCall.GetName(), k.ToolCall.GetArgumentsJson(), k.ToolCall.GetInput())
		case *genwayv1.Part_ToolResult:
			in.words(k.ToolResult.GetResultJson())
			in.parts(k.ToolResult.GetParts())
		case *genwayv1.Part_Image:
			info := media.Describe(k.Image.GetMimeType(), k.Image.GetData())
			in.Image += tokens.Image(info.Width, info.Height, k.Image.GetDetail())
		case *genwayv1.Part_Audio:
			in.Audio += Audio(k.Audio)
		case *genwayv1.Part_File:
			in.file(k.File)
		case *genwayv1.Part_Video:
			in.Image += bySize(k.Video.GetData())
		case *genwayv1.Part_Opaque:
			in.words(string(k.Opaque.GetJson()))
		}
	}
}

func (in *Input) file(m *genwayv1.Media) {
	info := media.Describe(m.GetMimeType(), m.GetData())
	switch {
	case info.Lines > 0:
		in.words(string(m.GetData()))
	case info.Type == "application/pdf" && info.Bytes > 0:
		in.Text += pdfPage * max(info.Pages, 1)
	case strings.HasPrefix(info.Type, "image/"):
		in.Image += tokens.Image(info.Width, info.Height, m.GetDetail())
	default:
		in.Text += bySize(m.GetData())
	}
}

// Audio counts the tokens of sound.
func Audio(m *genwayv1.Media) int {
	info := media.Describe(m.GetMimeType(), m.GetData())
	if info.Duration > 0 {
		return int((info.Duration*audioPerSecond + time.Second - 1) / time.Second)
	}
	return bySize(m.GetData())
}

func bySize(data []byte) int { return (len(data) + bytesPerToken - 1) / bytesPerToken }
