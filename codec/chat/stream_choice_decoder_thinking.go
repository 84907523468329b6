package chat

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// reason reads the thinking in a delta. Where details carry text, the plain
// string beside them repeats it.
func (cd *choiceDecoder) reason(d decoder, m *message) {
	shown, fields := shownReasoning(m)
	cd.inMessage = replaceNatives(cd.inMessage, fields)
	repeated := false
	for i := range m.ReasoningDetails {
		entry := &m.ReasoningDetails[i]
		repeated = repeated || entry.Text != nil && *entry.Text != "" || entry.Summary != nil && *entry.Summary != ""
	}
	name := ""
	if m.ReasoningContent.s == "" && shown != "" {
		name = reasoningName
	}
	if shown != "" && !repeated {
		st := cd.last(kindThinking)
		if st == nil || st.group != nil {
			st = cd.think(name)
		}
		cd.thinkText(st, shown)
	}
	for i := range m.ReasoningDetails {
		cd.detail(d, &m.ReasoningDetails[i], name, shown)
	}
}

// think opens a thinking part. The first that shows its text bears the mark of
// the member it came in.
func (cd *choiceDecoder) think(name string) *streamedPart {
	p := thinkingPart(&genwayv1.Thinking{})
	if name == reasoningName && !cd.named {
		p.NativeFields = []*genwayv1.NativeField{mark(name)}
	}
	cd.named = cd.named || name != ""
	return cd.push(kindThinking, p, true)
}

func (cd *choiceDecoder) thinkText(st *streamedPart, text string) {
	if text == "" {
		return
	}
	st.text.WriteString(text)
	cd.add(st, codec.ThinkingDelta(text))
}

// detail reads one entry. One without the plain string, whose text is what the
// open part has already, seals that part; else it goes on with its group or
// begins a new part, unless it repeats a part that ended.
func (cd *choiceDecoder) detail(d decoder, entry *detail, name, shown string) {
	if entry.empty() {
		return
	}
	if !entry.known() {
		cd.push(kindWhole, d.opaqueDetail(entry), true)
		return
	}
	st := cd.last(kindThinking)
	if st == nil && shown == "" && entry.bare() {
		if ended := cd.ended(kindThinking); ended != nil && ended.group == nil && ended.text.String() == *entry.Text {
			ended.group = newGroup(entry)
			return
		}
	}
	text := ""
	if entry.Text != nil {
		text = *entry.Text
	}
	switch {
	case st != nil && st.group == nil && (shown != "" || text == "" || text == st.text.String()):
		st.group = newGroup(entry)
		if shown == "" && text == st.text.String() {
			text = ""
		}
	case st == nil || st.group == nil || !st.group.takes(entry):
		st = cd.think(name)
		st.group = newGroup(entry)
	}
	cd.thinkText(st, text)
	cd.members(st, entry)
	st.group.add(entry)
}

// bare reports whether the entry has a text and nothing else. Our own streams have such an entry of
// the first part as soon as a second one makes it necessary, which other parts may precede.
func (r *detail) bare() bool {
	return r.Text != nil && *r.Text != "" && r.Summary == nil && r.Data == nil && r.Signature == "" && r.ThoughtSignature == "" && r.ID == "" && len(natives(r.Extra)) == 0
}

// members passes on what an entry has beside text.
func (cd *choiceDecoder) members(st *streamedPart, entry *detail) {
	add := func(d *genwayv1.PartDelta) { cd.add(st, d) }
	g := st.group
	if entry.Summary != nil {
		index := int32(len(g.thinking.Summary))
		if index > 0 && g.summary == entry.SummaryIndex {
			index--
		}
		add(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Summary{Summary: &genwayv1.SummaryDelta{Index: index, Text: *entry.Summary}}})
	}
	if seal := codec.ParseSeal(entry.Signature, protocol); seal != nil {
		add(codec.SignatureDelta(seal))
	}
	if entry.Data != nil {
		add(codec.EncryptedDelta(codec.ParseSeal(*entry.Data, protocol)))
	}
	if seal := codec.ParseSeal(entry.ThoughtSignature, protocol); seal != nil {
		add(codec.ThoughtSignatureDelta(seal))
	}
	if entry.ID != "" && st.opening.Id == "" && !st.open {
		st.opening.Id = entry.ID
	}
	cd.note(st, natives(entry.Extra))
}
