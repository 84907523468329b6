package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/genway/genway/core/sandbox/media"
	"github.com/genway/genway/core/tokens"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// input counts the tokens of a request. Texts of every kind are counted by the
// tokenizer of core/tokens: messages, thinking, tool calls (name and arguments), tool
// results, the schemas of tools and of the response format. Nothing is charged for
// roles and framing. Media cost what the table says:
//
//	image   tokens.Image of its pixels; 85 where they are not known (url, file id)
//	audio   32 a second; where the length is not known, 1 for each 1,024 bytes
//	text    the tokens of the file's text
//	PDF     258 a page, at least one page
//	other   1 for each 1,024 bytes
type input struct{ text, image, audio int }

func (in *input) total() int64 { return int64(in.text + in.image + in.audio) }

const (
	audioPerSecond = 32
	pdfPage        = 258
	bytesPerToken  = 1024
)

func countInput(req *genwayv1.GenerateTextRequest) *input {
	in := &input{}
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

func (in *input) words(texts ...string) {
	for _, t := range texts {
		if t != "" {
			in.text += tokens.Count(t)
		}
	}
}

func (in *input) parts(parts []*genwayv1.Part) {
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
			info := media.Describe(k.Image.GetMediaType(), k.Image.GetData())
			in.image += tokens.Image(info.Width, info.Height, k.Image.GetDetail())
		case *genwayv1.Part_Audio:
			in.audio += audioTokens(k.Audio)
		case *genwayv1.Part_File:
			in.file(k.File)
		case *genwayv1.Part_Video:
			in.image += bySize(k.Video.GetData())
		case *genwayv1.Part_Opaque:
			in.words(string(k.Opaque.GetJson()))
		}
	}
}

func (in *input) file(m *genwayv1.Media) {
	info := media.Describe(m.GetMediaType(), m.GetData())
	switch {
	case info.Lines > 0:
		in.words(string(m.GetData()))
	case info.Type == "application/pdf" && info.Bytes > 0:
		in.text += pdfPage * max(info.Pages, 1)
	case strings.HasPrefix(info.Type, "image/"):
		in.image += tokens.Image(info.Width, info.Height, m.GetDetail())
	default:
		in.text += bySize(m.GetData())
	}
}

func audioTokens(m *genwayv1.Media) int {
	info := media.Describe(m.GetMediaType(), m.GetData())
	if info.Duration > 0 {
		return int((info.Duration*audioPerSecond + time.Second - 1) / time.Second)
	}
	return bySize(m.GetData())
}

func bySize(data []byte) int { return (len(data) + bytesPerToken - 1) / bytesPerToken }

// CountTokens counts what GenerateText would report as usage.input_tokens. Models
// that fail at once fail here as well.
func (s *Sandbox) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	upstream.NoteOf(ctx).Calls++
	m, err := s.find(req.GetRequest().GetModel(), false)
	if err != nil {
		return nil, err
	}
	if err := m.before(ctx); err != nil {
		return nil, err
	}
	full, err := s.memory.recall(withoutLifted(req.GetRequest()))
	if err != nil {
		return nil, err
	}
	in := countInput(full)
	usage := &genwayv1.Usage{InputTokens: in.total(), TotalTokens: in.total()}
	in.details(usage, full, req.GetWire().GetProtocol())
	return &genwayv1.CountTokensResponse{InputTokens: in.total(), Usage: usage}, nil
}

// details fills what the caller's protocol breaks down: modalities once there are
// several, and a cache that was marked, though the sandbox has none.
func (in *input) details(u *genwayv1.Usage, req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) {
	shows := breakdown(protocol)
	if in.image+in.audio > 0 && shows.all {
		u.InputTextTokens, u.InputImageTokens = new(int64(in.text)), new(int64(in.image))
	}
	if in.audio > 0 && shows.audio {
		u.InputAudioTokens = new(int64(in.audio))
	}
	if find(req).marks > 0 {
		u.CacheReadInputTokens, u.CacheWriteInputTokens = new(int64(0)), new(int64(0))
		u.CacheWrite_5MInputTokens, u.CacheWrite_1HInputTokens = new(int64(0)), new(int64(0))
	}
}

// modalities say which of them a usage report tells apart.
type modalities struct{ audio, all bool }

// breakdown is what a protocol has members for: generateContent all of them, chat
// completions audio, the others none. A direct caller gets all.
func breakdown(protocol genwayv1.Protocol) modalities {
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return modalities{audio: true}
	case genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_MESSAGES:
		return modalities{}
	default:
		return modalities{audio: true, all: true}
	}
}
