package fit

import (
	"slices"
	"strings"
	"unicode"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Texts returns the request with the texts that the vendor takes. That of messages takes none
// of only white space ("text content blocks must contain non-whitespace text"): they are
// marked as lifted, which encoders pass over. It takes no white space either at the end of a
// last turn of the assistant, which is cut off. Both are named in losses. An empty text has
// no content, and the encoder leaves it out (case F12).
func Texts(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	if !rules.NoBlanks {
		return req
	}
	messages, changed := codec.RewrittenParts(req.GetMessages(), func(i, j int, p *genwayv1.Part) *genwayv1.Part {
		m := req.GetMessages()[i]
		last := i == len(req.GetMessages())-1 && m.GetRole() == genwayv1.Role_ROLE_ASSISTANT && j == len(m.GetParts())-1
		switch {
		case isBlank(p):
			return visible(p, losses, member.Within(member.Index("messages", i), ".parts", j))
		case last:
			return unended(p, losses, member.Within(member.Index("messages", i), ".parts", j))
		}
		return nil
	})
	if !changed {
		return req
	}
	out := codec.Shared(req)
	out.Messages = messages
	return out
}

// isBlank reports whether a part is a text of only white space, or has one in it.
func isBlank(p *genwayv1.Part) bool {
	if r := p.GetToolResult(); r != nil {
		return slices.ContainsFunc(r.GetParts(), isBlank)
	}
	text := p.GetText().GetText() + p.GetRefusal().GetText()
	return text != "" && blank(text)
}

// visible returns a blank part without its blank text, or a result without its blank parts.
func visible(p *genwayv1.Part, losses *codec.Losses, path string) *genwayv1.Part {
	if p.GetToolResult() == nil {
		losses.Add(path, "the messages protocol takes no text of white space alone")
		return nothing()
	}
	return codec.WithResult(p, func(r *genwayv1.ToolResult) {
		r.Parts, _ = codec.Rewritten(r.GetParts(), func(i int, inner *genwayv1.Part) *genwayv1.Part {
			if !isBlank(inner) {
				return nil
			}
			return visible(inner, losses, member.Within(path+".tool_result", ".parts", i))
		})
	})
}

// nothing is a part that encoders pass over.
func nothing() *genwayv1.Part {
	return &genwayv1.Part{
		Kind:         &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{}},
		NativeFields: []*genwayv1.NativeField{member.Mark(genwayv1.Protocol_PROTOCOL_UNSPECIFIED, member.LiftedMark)},
	}
}

// unended returns the last part of a last turn without the white space at its end; nil where it
// has none.
func unended(p *genwayv1.Part, losses *codec.Losses, path string) *genwayv1.Part {
	text := p.GetText().GetText()
	kept := strings.TrimRightFunc(text, unicode.IsSpace)
	if kept == text {
		return nil
	}
	losses.Add(path, "the messages protocol takes no white space at the end of the last turn of the assistant")
	out, own := codec.Shared(p), codec.Shared(p.GetText())
	own.Text = kept
	out.Kind = &genwayv1.Part_Text{Text: own}
	return out
}
