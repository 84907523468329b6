package chat

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// choiceDecoder reads the deltas of one choice.
type choiceDecoder struct {
	queue
	finished bool
	// began says that there was a delta, or a message in its place.
	began  bool
	word   string
	stop   text
	native text
	// fields of the choice and of its message; the last value of a name counts.
	fields, inMessage []*genwayv1.NativeField
	// citations and tokens that wait for a text to belong to.
	citations       []*genwayv1.Citation
	tokens, refused []*genwayv1.TokenLogprob
	named           bool // thinking has been marked with its member
	calls           bool
}

// read reads one chunk of the choice.
func (cd *choiceDecoder) read(d decoder, c *choice) error {
	if c.Logprobs != nil {
		cd.tokens = append(cd.tokens, decodeLogprobs(c.Logprobs.Content)...)
		cd.refused = append(cd.refused, decodeLogprobs(c.Logprobs.Refusal)...)
		cd.fields = replaceNatives(cd.fields, c.Logprobs.natives())
	}
	m := c.Delta
	if m == nil {
		m = cd.unseen(c.Message)
	}
	cd.began = cd.began || m != nil
	if m != nil {
		if err := cd.delta(d, m); err != nil {
			return err
		}
	}
	cd.flushTokens()
	cd.advance()
	word, err := c.FinishReason.str(finishReasonName)
	if err != nil {
		return err
	}
	if word != "" {
		cd.finished, cd.word = true, word
	}
	if c.StopReason.is == isText || c.StopReason.is == isOther {
		cd.stop = c.StopReason
	}
	if c.NativeFinishReason.is == isText || c.NativeFinishReason.is == isOther {
		cd.native = c.NativeFinishReason
	}
	cd.fields = kept(cd.fields, c.Extra)
	return nil
}

// unseen returns a message that stands in place of a delta: some engines put the whole message into
// the last chunk. What has been streamed of it is left out, as the vendor's SDK leaves out all of it.
func (cd *choiceDecoder) unseen(m *message) *message {
	if m == nil || len(cd.list)+len(cd.closed) == 0 {
		return m
	}
	rest := *m
	for _, list := range [][]*streamedPart{cd.closed, cd.list} {
		for _, st := range list {
			switch st.kind {
			case kindText:
				rest.Content = content{}
			case kindRefusal:
				rest.Refusal = text{}
			case kindThinking:
				rest.Reasoning, rest.ReasoningContent, rest.ReasoningDetails = text{}, text{}, nil
			case kindAudio:
				rest.Audio = nil
			case kindCall:
				rest.ToolCalls, rest.FunctionCall = nil, nil
			case kindWhole:
				rest.Images = nil
			}
		}
	}
	return &rest
}

// delta reads the members of a delta in the order in which assistant reads those
// of a message. Nearly all deltas have one member.
func (cd *choiceDecoder) delta(d decoder, m *message) error {
	if m.ReasoningContent.is != absent || m.Reasoning.is != absent || len(m.ReasoningDetails) > 0 {
		cd.reason(d, m)
	}
	if m.Content.is == isParts {
		parts, err := d.parts(m.Content.parts, "choices.delta.content")
		if err != nil {
			return err
		}
		for _, p := range parts {
			if t := p.GetText(); t != nil && p.CacheControl == nil && p.ThoughtSignature == nil && len(p.NativeFields) == 0 {
				cd.text(t.Text)
			} else {
				cd.push(kindWhole, p, true)
			}
		}
	}
	cd.text(m.Content.s)
	if len(m.Annotations) > 0 || len(cd.citations) > 0 {
		cd.cite(d.citations(m.Annotations))
	}
	if given(m.ExtraContent) {
		cd.sign(m)
	}
	refusal, err := m.Refusal.str("choices.delta.refusal")
	if err != nil {
		return err
	}
	cd.refuse(refusal)
	if len(m.Images) > 0 {
		images, err := d.parts(m.Images, "choices.delta.images")
		if err != nil {
			return err
		}
		for _, p := range images {
			cd.push(kindWhole, p, true)
		}
	}
	if err := cd.sound(m.Audio); err != nil {
		return err
	}
	var before *streamedPart
	for i := range m.ToolCalls {
		before = cd.call(d, &m.ToolCalls[i], before)
	}
	cd.function(m.FunctionCall)
	cd.inMessage = kept(cd.inMessage, m.Extra)
	return nil
}

// text adds text; none opens no part (T2).
func (cd *choiceDecoder) text(text string) {
	if text == "" {
		return
	}
	st := cd.last(kindText)
	if st == nil {
		st = cd.push(kindText, textPart(""), true)
	}
	delta := codec.TextDelta(text)
	delta.Logprobs, cd.tokens = cd.tokens, nil
	cd.add(st, delta)
	cd.flushCitations(st)
}

func (cd *choiceDecoder) refuse(text string) {
	if text == "" {
		return
	}
	st := cd.last(kindRefusal)
	if st == nil {
		st = cd.push(kindRefusal, refusalPart(""), true)
	}
	cd.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{Refusal: text}, Logprobs: cd.refused})
	cd.refused = nil
}

// flushTokens adds tokens without text of their own to the open part.
func (cd *choiceDecoder) flushTokens() {
	if st := cd.last(kindText); st != nil && len(cd.tokens) > 0 {
		cd.add(st, &genwayv1.PartDelta{Logprobs: cd.tokens})
		cd.tokens = nil
	}
	if st := cd.last(kindRefusal); st != nil && len(cd.refused) > 0 {
		cd.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{}, Logprobs: cd.refused})
		cd.refused = nil
	}
}

func (cd *choiceDecoder) cite(citations []*genwayv1.Citation) {
	cd.citations = append(cd.citations, citations...)
	if st := cd.last(kindText); st != nil {
		cd.flushCitations(st)
	}
}

func (cd *choiceDecoder) flushCitations(st *streamedPart) {
	for _, c := range cd.citations {
		cd.add(st, codec.CitationDelta(c))
	}
	cd.citations = nil
}

// sign reads the message's thought signature. It belongs to the text; without one
// it is a part of its own (R2).
func (cd *choiceDecoder) sign(m *message) {
	seal, rest := decodeExtraContent(m.ExtraContent)
	cd.inMessage = replaceNatives(cd.inMessage, rest)
	if seal == nil {
		return
	}
	st := cd.last(kindText)
	if st == nil {
		st = cd.push(kindText, textPart(""), true)
	}
	cd.add(st, codec.ThoughtSignatureDelta(seal))
}

func (cd *choiceDecoder) sound(a *audio) error {
	if a == nil {
		return nil
	}
	st := cd.last(kindAudio)
	if st == nil {
		if !a.present() && !given(a.ExpiresAt) {
			return nil
		}
		st = cd.push(kindAudio, &genwayv1.Part{Id: a.ID, Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{}}}, true)
	}
	if a.Data != "" {
		data, err := member.DecodeBase64(a.Data)
		if err != nil {
			return err
		}
		cd.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Data{Data: data}})
	}
	if a.Transcript != "" {
		cd.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Transcript{Transcript: a.Transcript}})
	}
	cd.note(st, a.natives())
	return nil
}

// end closes the parts and returns how the choice ended.
func (cd *choiceDecoder) end() *genwayv1.CandidateEnd {
	if len(cd.citations) > 0 {
		cd.flushCitations(cd.push(kindText, textPart(""), true))
	}
	e := decodeFinish(cd.word, cd.stop, cd.native, cd.calls)
	for len(cd.list) > 0 {
		cd.close(len(cd.list) == 1 && codec.Cut(e.reason))
	}
	for _, f := range cd.inMessage {
		f.Name = messagePrefix + f.Name
	}
	return &genwayv1.CandidateEnd{
		Index: cd.index, StopReason: e.reason, NativeStopReason: e.native, StopSequence: e.sequence,
		NativeFields: slices.Concat(e.fields, cd.fields, cd.inMessage),
	}
}

// call reads a piece of a tool call. before is the call that the same delta has a piece of ahead
// of it; the result is the one that it is of.
func (cd *choiceDecoder) call(d decoder, c *toolCall, before *streamedPart) *streamedPart {
	st := cd.queue.call(c)
	if st != nil && st == before && c.Index == nil && c.ID == "" && c.named() != "" {
		st = nil // a delta has one piece of a call
	}
	switch {
	case st == nil && c.Type != "" && c.Type != "function" && c.Type != "custom":
		p := opaquePart(c.Type, c.verbatim.of(d.body))
		p.NativeFields = []*genwayv1.NativeField{mark(toolCallsName)}
		cd.calls = true
		cd.push(kindWhole, p, true)
		return nil
	case st == nil:
		cd.calls = true
		call := &genwayv1.ToolCall{Id: c.ID}
		if c.kind() == "custom" {
			call.Arguments = &genwayv1.ToolCall_Input{}
		}
		st = cd.push(kindCall, &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: call}}, false)
		st.key = int32(len(cd.closed) + len(cd.list) - 1)
		if c.Index != nil {
			st.key = c.number()
		}
	}
	call := st.opening.GetToolCall()
	if c.Custom != nil && c.Function == nil && !codec.IsCustom(call) && !st.open && st.text.Len() == 0 {
		call.Arguments = &genwayv1.ToolCall_Input{}
	}
	st.defined = st.defined || c.Function != nil || c.Custom != nil
	var name, piece string
	var fields []*genwayv1.NativeField
	if c.Function != nil {
		name, piece = c.Function.Name, c.Function.Arguments.spelled()
		fields = member.NativesUnder(protocol, "function.", c.Function.Extra)
	}
	if codec.IsCustom(call) && c.Custom != nil {
		name, piece = c.Custom.Name, c.Custom.Input.spelled()
		fields = member.NativesUnder(protocol, "custom.", c.Custom.Extra)
	}
	seal, rest := decodeExtraContent(c.ExtraContent)
	fields = append(append(fields, rest...), natives(c.Extra)...)
	if call.Id == "" && !st.open {
		call.Id = c.ID
	}
	if seal != nil && !st.open {
		st.opening.ThoughtSignature, seal = seal, nil
	}
	cd.piece(st, name, piece, fields)
	if seal != nil && !slices.Contains(cd.closed, st) {
		cd.add(st, codec.ThoughtSignatureDelta(seal))
	}
	return st
}

// functionKey is the key of the deprecated function_call, which has no index.
const functionKey = -1

// function reads a piece of it.
func (cd *choiceDecoder) function(f *functionCall) {
	if f == nil || f.Name == "" && f.Arguments.spelled() == "" {
		return
	}
	st := cd.last(kindCall)
	if st == nil || st.key != functionKey {
		cd.calls = true
		st = cd.push(kindCall, &genwayv1.Part{
			Kind:         &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{}},
			NativeFields: []*genwayv1.NativeField{mark(functionCallName)},
		}, false)
		st.key, st.defined = functionKey, true
	}
	cd.piece(st, f.Name, f.Arguments.spelled(), member.NativesUnder(protocol, "function.", f.Extra))
}

// piece adds to a call. What comes for one that is closed, or after the end to
// one whose arguments are whole, is a repetition (T11), and so are the same arguments beside the
// name once more.
func (cd *choiceDecoder) piece(st *streamedPart, name, piece string, fields []*genwayv1.NativeField) {
	call := st.opening.GetToolCall()
	if slices.Contains(cd.closed, st) {
		return
	}
	if !st.open {
		call.Name = joinName(call.Name, name)
	}
	cd.note(st, fields)
	repeated := piece == "" || (cd.finished || name != "" && piece == st.text.String()) && wholeJSON(st.text.String())
	if !repeated {
		st.text.WriteString(piece)
	}
	// What follows a name may be more of it, and the identifier of the call. A call without one
	// waits for its end.
	st.ready = st.ready || call.Name != "" && st.text.Len() > 0 && (call.Id != "" || st.key == functionKey)
	if repeated {
		return
	}
	if codec.IsCustom(call) {
		cd.add(st, codec.InputDelta(piece))
	} else {
		cd.add(st, codec.ArgumentsDelta(piece))
	}
}

// joinName adds a piece to a name. The vendor's SDK joins the pieces of a name
// (ChatCompletionAccumulator); engines also repeat the whole of it in each chunk, or what there is
// of it so far.
func joinName(name, piece string) string {
	if strings.HasPrefix(piece, name) {
		return piece
	}
	return name + piece
}

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
