package fit

import (
	"slices"
	"strings"
	"unicode"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Texts gives the request with the texts that the vendor takes. That of messages takes none
// of only white space ("text content blocks must contain non-whitespace text"): they are
// marked as lifted, which encoders pass over. It takes no white space either at the end of a
// last turn of the assistant, which is cut off. Both are named in losses. An empty text has
// no content, and the encoder leaves it out (case F12).
func Texts(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	if !rules.NoBlanks {
		return req
	}
	var messages []*genwayv1.Message
	for i, m := range req.GetMessages() {
		var parts []*genwayv1.Part
		if slices.ContainsFunc(m.GetParts(), isBlank) {
			parts = visible(m.GetParts(), losses, member.Index("messages", i)+".parts")
		}
		if i == len(req.GetMessages())-1 && m.GetRole() == genwayv1.Role_ROLE_ASSISTANT {
			parts = unended(m.GetParts(), parts, losses, member.Index("messages", i))
		}
		if parts == nil {
			continue
		}
		if messages == nil {
			messages = slices.Clone(req.GetMessages())
		}
		messages[i] = new(genwayv1.Message)
		codec.Share(messages[i], m)
		messages[i].Parts = parts
	}
	if messages == nil {
		return req
	}
	out := new(genwayv1.GenerateTextRequest)
	codec.Share(out, req)
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

// visible gives the parts, of which some are blank, without those texts.
func visible(list []*genwayv1.Part, losses *codec.Losses, path string) []*genwayv1.Part {
	out := slices.Clone(list)
	for i, p := range list {
		if !isBlank(p) {
			continue
		}
		r := p.GetToolResult()
		if r == nil {
			losses.Add(member.Index(path, i), "the messages protocol takes no text of white space alone")
			out[i] = nothing()
			continue
		}
		own := new(genwayv1.ToolResult)
		codec.Share(own, r)
		own.Parts = visible(r.GetParts(), losses, member.Index(path, i)+".tool_result.parts")
		out[i] = new(genwayv1.Part)
		codec.Share(out[i], p)
		out[i].Kind = &genwayv1.Part_ToolResult{ToolResult: own}
	}
	return out
}

// nothing is a part that encoders pass over.
func nothing() *genwayv1.Part {
	return &genwayv1.Part{
		Kind:         &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{}},
		NativeFields: []*genwayv1.NativeField{member.Mark(genwayv1.Protocol_PROTOCOL_UNSPECIFIED, member.LiftedMark)},
	}
}

// unended gives the parts of a last turn without the white space at their end. changed are
// those that have been changed already, nil for none.
func unended(list, changed []*genwayv1.Part, losses *codec.Losses, path string) []*genwayv1.Part {
	if changed != nil {
		list = changed
	}
	last := len(list) - 1
	if last < 0 || list[last].GetText() == nil {
		return changed
	}
	text := list[last].GetText().GetText()
	kept := strings.TrimRightFunc(text, unicode.IsSpace)
	if kept == text {
		return changed
	}
	losses.Add(member.Within(path, ".parts", last), "the messages protocol takes no white space at the end of the last turn of the assistant")
	out := slices.Clone(list)
	out[last] = new(genwayv1.Part)
	codec.Share(out[last], list[last])
	own := new(genwayv1.Text)
	codec.Share(own, list[last].GetText())
	own.Text = kept
	out[last].Kind = &genwayv1.Part_Text{Text: own}
	return out
}
