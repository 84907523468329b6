package chat

import (
	"slices"

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
	cd.fields = replaceNatives(cd.fields, natives(c.Extra))
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
// of a message.
func (cd *choiceDecoder) delta(d decoder, m *message) error {
	cd.reason(d, m)
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
	cd.cite(d.citations(m.Annotations))
	cd.sign(m)
	refusal, err := m.Refusal.str("choices.delta.refusal")
	if err != nil {
		return err
	}
	cd.refuse(refusal)
	images, err := d.parts(m.Images, "choices.delta.images")
	if err != nil {
		return err
	}
	for _, p := range images {
		cd.push(kindWhole, p, true)
	}
	if err := cd.sound(m.Audio); err != nil {
		return err
	}
	var before *streamedPart
	for i := range m.ToolCalls {
		before = cd.call(d, &m.ToolCalls[i], before)
	}
	cd.function(m.FunctionCall)
	cd.inMessage = replaceNatives(cd.inMessage, natives(m.Extra))
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

// flushTokens returns tokens without text of their own to the part that is open.
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
