package sandbox

import (
	"fmt"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox/media"
)

// describe shows a part on one line.
func describe(p *genwayv1.Part) string {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		if n := len(k.Text.GetCitations()); n > 0 {
			return excerpt(k.Text.GetText()) + ", " + count(n, "citation")
		}
		return excerpt(k.Text.GetText())
	case *genwayv1.Part_Image:
		return describeMedia("image", k.Image)
	case *genwayv1.Part_Audio:
		return describeMedia("audio", k.Audio)
	case *genwayv1.Part_File:
		return describeMedia("file", k.File)
	case *genwayv1.Part_Video:
		return describeMedia("video", k.Video)
	case *genwayv1.Part_Thinking:
		return describeThinking(k.Thinking)
	case *genwayv1.Part_ToolCall:
		if k.ToolCall.Input != nil {
			return fmt.Sprintf("called %s with %s", clip(k.ToolCall.GetName(), 200), excerpt(k.ToolCall.GetInput()))
		}
		return fmt.Sprintf("called %s with %s", clip(k.ToolCall.GetName(), 200), excerpt(k.ToolCall.GetArgumentsJson()))
	case *genwayv1.Part_ToolResult:
		var r report
		r.result(k.ToolResult.GetToolCallId(), k.ToolResult)
		return excerpt(r.String())
	case *genwayv1.Part_Refusal:
		return "refusal " + excerpt(k.Refusal.GetText())
	case *genwayv1.Part_Opaque:
		return fmt.Sprintf("%s part of %s, not read", clip(k.Opaque.GetType(), 60), enumWord(k.Opaque.GetProtocol().String(), "PROTOCOL_"))
	default:
		return "an empty part"
	}
}

func describeThinking(t *genwayv1.Thinking) string {
	if t.GetText() == "" && len(t.GetSummary()) == 0 {
		return "sealed thinking"
	}
	return "thinking " + excerpt(strings.Join(append([]string{t.GetText()}, t.GetSummary()...), " "))
}

func describeMedia(kind string, m *genwayv1.Media) string {
	var line strings.Builder
	line.WriteString(kind + ": ")
	switch source := m.GetSource().(type) {
	case *genwayv1.Media_Data:
		line.WriteString(media.Describe(m.GetMediaType(), source.Data).String())
	case *genwayv1.Media_Url:
		fmt.Fprintf(&line, "at %s, not fetched", clip(source.Url, longestExcerpt))
	case *genwayv1.Media_FileId:
		fmt.Fprintf(&line, "file id %s, not looked up", clip(source.FileId, longestExcerpt))
	default:
		line.WriteString("no data")
	}
	for _, x := range []struct{ label, value string }{
		{"named", m.GetFilename()}, {"detail", m.GetDetail()}, {"transcript", m.GetTranscript()},
	} {
		if x.value != "" {
			fmt.Fprintf(&line, ", %s %s", x.label, clip(x.value, longestExcerpt))
		}
	}
	if media.Describe(m.GetMediaType(), m.GetData()).Lines > 0 {
		line.WriteString(", " + excerpt(string(m.GetData()[:min(len(m.GetData()), 4*longestExcerpt)])))
	}
	return line.String()
}
