package chat

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	detailText      = "reasoning.text"
	detailSummary   = "reasoning.summary"
	detailEncrypted = "reasoning.encrypted"

	// reasoningName marks thinking that came as reasoning instead of
	// reasoning_content.
	reasoningName        = "reasoning"
	reasoningContentName = "reasoning_content"
	detailsName          = "reasoning_details"
)

// thinking reads the reasoning of a message. The details say what is signed and
// how it is divided; the plain text repeats them for show, and is all there is
// where there are no details. Text that no detail repeats is unsigned thinking.
func (d decoder) thinking(m *message) ([]*genwayv1.Part, []*genwayv1.NativeField) {
	shown, fields := shownReasoning(m)
	var parts []*genwayv1.Part
	var last *group
	for i := range m.ReasoningDetails {
		entry := &m.ReasoningDetails[i]
		if entry.empty() {
			continue
		}
		if !entry.known() {
			parts, last = append(parts, d.opaqueDetail(entry)), nil
			continue
		}
		if last == nil || !last.takes(entry) {
			last = newGroup(entry)
			parts = append(parts, last.part)
		}
		last.add(entry)
	}
	parts = interleave(parts, shown, len(m.ReasoningDetails) > 0 && m.ReasoningDetails[0].Index != nil && *m.ReasoningDetails[0].Index > 0)
	if m.ReasoningContent.s == "" && shown != "" {
		for _, p := range parts {
			if t := p.GetThinking(); t != nil && codec.ThinkingText(t) != "" {
				p.NativeFields = append([]*genwayv1.NativeField{mark(reasoningName)}, p.NativeFields...)
				break
			}
		}
	}
	return parts, fields
}

// shownReasoning is the plain text, by whichever name. What else the members
// hold stays as native fields.
func shownReasoning(m *message) (string, []*genwayv1.NativeField) {
	var fields []*genwayv1.NativeField
	if m.ReasoningContent.is == isOther {
		fields = append(fields, native("reasoning_content", m.ReasoningContent.raw))
	}
	if m.Reasoning.is == isOther {
		fields = append(fields, native(reasoningName, m.Reasoning.raw))
	}
	shown := m.ReasoningContent.s
	switch m.Reasoning.s {
	case "", shown:
	default:
		if shown == "" {
			return m.Reasoning.s, fields
		}
		fields = append(fields, native(reasoningName, m.Reasoning.json()))
	}
	return shown, fields
}

func (d decoder) opaqueDetail(entry *detail) *genwayv1.Part {
	p := opaquePart(entry.Type, entry.verbatim.of(d.body))
	p.NativeFields = []*genwayv1.NativeField{mark(detailsName)}
	return p
}

func (r *detail) known() bool {
	return r.Type == detailText || r.Type == detailSummary || r.Type == detailEncrypted
}

// empty reports whether the entry is null or has no content.
func (r *detail) empty() bool {
	if !r.known() {
		return r.Type == ""
	}
	given := func(s *string) bool { return s != nil && *s != "" }
	return !given(r.Text) && !given(r.Summary) && !given(r.Data) && r.Signature == "" && r.ThoughtSignature == "" && r.ID == "" && len(natives(r.Extra)) == 0
}

// interleave puts the pieces of shown that no part repeats where they stand
// between the parts. later says that the details begin with a part that is not
// the first.
func interleave(parts []*genwayv1.Part, shown string, later bool) []*genwayv1.Part {
	if shown == "" {
		return parts
	}
	out := make([]*genwayv1.Part, 0, len(parts)+1)
	rest := shown
	var first *genwayv1.Thinking
	found := false
	for _, p := range parts {
		t := p.GetThinking()
		if first == nil {
			first = t
		}
		if text := codec.ThinkingText(t); text != "" {
			found = true
			if before, after, ok := strings.Cut(rest, text); ok {
				out = appendUnsigned(out, before)
				rest = after
			}
		}
		out = append(out, p)
	}
	switch {
	case found || first == nil:
	case later:
		return append(appendUnsigned(nil, shown), out...)
	default:
		// The details only seal what the plain text says.
		first.Text = shown
		return out
	}
	return appendUnsigned(out, rest)
}

func appendUnsigned(parts []*genwayv1.Part, text string) []*genwayv1.Part {
	if text == "" || len(parts) > 0 && strings.TrimSpace(text) == "" {
		return parts
	}
	return append(parts, thinkingPart(&genwayv1.Thinking{Text: text}))
}

func thinkingPart(t *genwayv1.Thinking) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: t}}
}

// group gathers the details of one thinking part: those with one index, or where
// there is none, one id.
type group struct {
	part     *genwayv1.Part
	thinking *genwayv1.Thinking
	index    *int32
	id       string
	summary  int32
}

func newGroup(first *detail) *group {
	g := &group{thinking: &genwayv1.Thinking{}, index: first.Index, id: first.ID}
	g.part = thinkingPart(g.thinking)
	return g
}

// takes reports whether the entry goes on with the group. What is sealed is
// whole: text after a signature and a second encrypted value begin the next one.
func (g *group) takes(entry *detail) bool {
	switch {
	case g.index != nil && entry.Index != nil:
		if *g.index != *entry.Index {
			return false
		}
	case g.index != nil || entry.Index != nil || g.id == "" || g.id != entry.ID:
		return false
	}
	if g.thinking.EncryptedContent != nil {
		return false
	}
	return g.thinking.Signature == nil || entry.Text == nil || *entry.Text == ""
}

func (g *group) add(entry *detail) {
	t := g.thinking
	if entry.Summary != nil {
		if len(t.Summary) == 0 || g.summary != entry.SummaryIndex {
			t.Summary = append(t.Summary, "")
		}
		g.summary = entry.SummaryIndex
		t.Summary[len(t.Summary)-1] += *entry.Summary
	}
	if entry.Text != nil {
		t.Text += *entry.Text
	}
	if seal := codec.ParseSeal(entry.Signature, protocol); seal != nil {
		t.Signature = seal
	}
	if entry.Data != nil {
		t.EncryptedContent = codec.ParseSeal(*entry.Data, protocol)
	}
	if seal := codec.ParseSeal(entry.ThoughtSignature, protocol); seal != nil {
		g.part.ThoughtSignature = seal
	}
	if g.part.Id == "" {
		g.part.Id, g.id = entry.ID, entry.ID
	}
	g.part.NativeFields = addNatives(g.part.NativeFields, natives(entry.Extra))
}

// addNatives adds the fields whose names are not there yet.
func addNatives(have, more []*genwayv1.NativeField) []*genwayv1.NativeField {
	for _, f := range more {
		if !member.HasNative(have, f.Name) {
			have = append(have, f)
		}
	}
	return have
}

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
