package chat

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// reasoning writes the thinking parts: their text as one string for show, and as
// details what more there is to them (signatures, summaries, ids), so that it
// comes back. Unsigned thinking is only the plain string, which every engine
// knows (R5, R8).
func (s *messageEncoder) reasoning(list []*genwayv1.Part) error {
	var shown strings.Builder
	var entries [][]detail // by thinking part
	var texts []*genwayv1.Thinking
	name := reasoningContentName
	for i, p := range list {
		if opaqueDetail(p) {
			entries, texts = append(entries, []detail{{verbatim: verbatim{raw: p.GetOpaque().Json}}}), append(texts, nil)
			continue
		}
		t := p.GetThinking()
		if t == nil {
			continue
		}
		shown.WriteString(codec.ThinkingText(t))
		if marked(p.NativeFields, reasoningName) {
			name = reasoningName
		}
		if _, err := extra(p.NativeFields, member.Within(s.path, ".parts", i), s.losses); err != nil {
			return err
		}
		entries, texts = append(entries, s.details(p)), append(texts, t)
	}
	s.ReasoningDetails = apart(entries, texts, s.answer)
	if s.dialect != nil {
		name = s.heedReasoning(list)
	}
	switch {
	case shown.Len() == 0 || name == "":
	case name == reasoningName:
		s.Reasoning = textOf(shown.String())
	default:
		s.ReasoningContent = textOf(shown.String())
	}
	return nil
}

// opaqueDetail reports whether the part is an entry of reasoning_details of an unknown type.
func opaqueDetail(p *genwayv1.Part) bool {
	return p.GetOpaque().GetProtocol() == protocol && marked(p.NativeFields, detailsName)
}

// heedReasoning leaves out what of the reasoning the dialect does not have, and returns the
// member that it has for the text; empty for none.
func (s *messageEncoder) heedReasoning(list []*genwayv1.Part) (name string) {
	switch {
	case s.dialect.Takes("messages." + reasoningContentName):
		name = reasoningContentName
	case s.dialect.Takes("messages." + reasoningName):
		name = reasoningName
	}
	details := s.dialect.Takes("messages." + detailsName)
	if !details {
		s.ReasoningDetails = nil
	}
	for i, p := range list {
		path := member.Within(s.path, ".parts", i)
		t := p.GetThinking()
		switch {
		case !details && opaqueDetail(p):
			s.lose(path)
		case t == nil || details:
		case name == "" && codec.ThinkingText(t) != "":
			s.lose(path + ".thinking")
		case s.details(p) != nil:
			s.loseSeals(p, path)
		}
	}
	return name
}

// loseSeals declares as lost the signature envelopes of a thinking part that belong to other vendors.
func (s *messageEncoder) loseSeals(p *genwayv1.Part, path string) {
	t := p.GetThinking()
	for _, sealed := range []struct{ text, field string }{
		{s.seal(t.Signature), ".thinking.signature"}, {s.seal(t.EncryptedContent), ".thinking.encrypted_content"}, {s.seal(p.ThoughtSignature), ".thought_signature"},
	} {
		if sealed.text != "" {
			s.lose(path + sealed.field)
		}
	}
}

// apart joins the details of several thinking parts, and counts them. A text
// without any gets an entry when there are others, with whose text its own would
// flow together. Upstreams get that only where there are details anyway.
func apart(entries [][]detail, texts []*genwayv1.Thinking, always bool) []detail {
	bare := len(entries) > 1 && (always || slices.ContainsFunc(entries, func(l []detail) bool { return l != nil }))
	var out []detail
	var index int32
	for i, list := range entries {
		if text := codec.ThinkingText(texts[i]); list == nil && bare && text != "" {
			list = []detail{{Type: detailText, Text: &text}}
		}
		if list == nil {
			continue
		}
		for j := range list {
			list[j].Index = new(index)
		}
		index++
		out = append(out, list...)
	}
	return out
}

// details returns the entries of one thinking part, not yet counted; none when its
// text is all.
func (e *encoder) details(p *genwayv1.Part) []detail {
	t := p.GetThinking()
	signature, encrypted, thought := e.seal(t.Signature), e.seal(t.EncryptedContent), e.seal(p.ThoughtSignature)
	foreign := t.Signature != nil && signature == "" || t.EncryptedContent != nil && encrypted == ""
	sealed := signature != "" || encrypted != "" || thought != ""
	if !sealed && (foreign || len(t.Summary) == 0 && p.Id == "" && !hasNatives(p.NativeFields)) {
		return nil
	}
	var out []detail
	for i := range t.Summary {
		out = append(out, detail{Type: detailSummary, Summary: &t.Summary[i], SummaryIndex: int32(i)})
	}
	if t.Text != "" || signature != "" || len(out) == 0 && encrypted == "" {
		out = append(out, detail{Type: detailText, Text: &t.Text, Signature: signature})
	}
	if encrypted != "" {
		out = append(out, detail{Type: detailEncrypted, Data: &encrypted})
	}
	members := inner(p.NativeFields, "")
	for i := range out {
		out[i].ID, out[i].Extra = p.Id, members
	}
	out[0].ThoughtSignature = thought
	return out
}
