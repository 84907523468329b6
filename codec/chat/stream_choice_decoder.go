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
	word     string
	stop     text
	native   text
	// fields of the choice and of its message; the last value of a name counts.
	fields, inMessage []*genwayv1.NativeField
	// citations and tokens that wait for a text to belong to.
	citations       []*genwayv1.Citation
	tokens, refused []*genwayv1.TokenLogprob
	named           bool // thinking has been marked with its member
	calls           bool
}

// read reads one chunk of the choice.
func (l *choiceDecoder) read(d decoder, c *choice) error {
	if c.Logprobs != nil {
		l.tokens = append(l.tokens, decodeLogprobs(c.Logprobs.Content)...)
		l.refused = append(l.refused, decodeLogprobs(c.Logprobs.Refusal)...)
		l.fields = replaceNatives(l.fields, c.Logprobs.natives())
	}
	m := c.Delta
	if m == nil {
		m = c.Message // some engines put the whole message into the last chunk
	}
	if m != nil {
		if err := l.delta(d, m); err != nil {
			return err
		}
	}
	l.flushTokens()
	l.advance()
	word, err := c.FinishReason.str(finishReasonName)
	if err != nil {
		return err
	}
	if word != "" {
		l.finished, l.word = true, word
	}
	if c.StopReason.is == isText || c.StopReason.is == isOther {
		l.stop = c.StopReason
	}
	if c.NativeFinishReason.is == isText || c.NativeFinishReason.is == isOther {
		l.native = c.NativeFinishReason
	}
	l.fields = replaceNatives(l.fields, natives(c.Extra))
	return nil
}

// delta reads the members of a delta in the order in which assistant reads those
// of a message.
func (l *choiceDecoder) delta(d decoder, m *message) error {
	l.reason(d, m)
	if m.Content.is == isParts {
		parts, err := d.parts(m.Content.parts, "choices.delta.content")
		if err != nil {
			return err
		}
		for _, p := range parts {
			if t := p.GetText(); t != nil && p.CacheControl == nil && p.ThoughtSignature == nil && len(p.NativeFields) == 0 {
				l.say(t.Text)
			} else {
				l.push(kindWhole, p, true)
			}
		}
	}
	l.say(m.Content.s)
	l.cite(d.citations(m.Annotations))
	l.sign(m)
	refusal, err := m.Refusal.str("choices.delta.refusal")
	if err != nil {
		return err
	}
	l.refuse(refusal)
	images, err := d.parts(m.Images, "choices.delta.images")
	if err != nil {
		return err
	}
	for _, p := range images {
		l.push(kindWhole, p, true)
	}
	if err := l.sound(m.Audio); err != nil {
		return err
	}
	for i := range m.ToolCalls {
		l.call(d, &m.ToolCalls[i])
	}
	l.function(m.FunctionCall)
	l.inMessage = replaceNatives(l.inMessage, natives(m.Extra))
	return nil
}

// say adds text; none opens no part (T2).
func (l *choiceDecoder) say(text string) {
	if text == "" {
		return
	}
	st := l.last(kindText)
	if st == nil {
		st = l.push(kindText, textPart(""), true)
	}
	delta := codec.TextDelta(text)
	delta.Logprobs, l.tokens = l.tokens, nil
	l.add(st, delta)
	l.flushCitations(st)
}

func (l *choiceDecoder) refuse(text string) {
	if text == "" {
		return
	}
	st := l.last(kindRefusal)
	if st == nil {
		st = l.push(kindRefusal, refusalPart(""), true)
	}
	l.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{Refusal: text}, Logprobs: l.refused})
	l.refused = nil
}

// flushTokens gives tokens without text of their own to the part that is open.
func (l *choiceDecoder) flushTokens() {
	if st := l.last(kindText); st != nil && len(l.tokens) > 0 {
		l.add(st, &genwayv1.PartDelta{Logprobs: l.tokens})
		l.tokens = nil
	}
	if st := l.last(kindRefusal); st != nil && len(l.refused) > 0 {
		l.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{}, Logprobs: l.refused})
		l.refused = nil
	}
}

func (l *choiceDecoder) cite(citations []*genwayv1.Citation) {
	l.citations = append(l.citations, citations...)
	if st := l.last(kindText); st != nil {
		l.flushCitations(st)
	}
}

func (l *choiceDecoder) flushCitations(st *streamedPart) {
	for _, c := range l.citations {
		l.add(st, codec.CitationDelta(c))
	}
	l.citations = nil
}

// sign reads the message's thought signature. It belongs to the text; without one
// it is a part of its own (R2).
func (l *choiceDecoder) sign(m *message) {
	seal, rest := decodeExtraContent(m.ExtraContent)
	l.inMessage = replaceNatives(l.inMessage, rest)
	if seal == nil {
		return
	}
	st := l.last(kindText)
	if st == nil {
		st = l.push(kindText, textPart(""), true)
	}
	l.add(st, codec.ThoughtSignatureDelta(seal))
}

func (l *choiceDecoder) sound(a *audio) error {
	if a == nil {
		return nil
	}
	st := l.last(kindAudio)
	if st == nil {
		if !a.present() && !given(a.ExpiresAt) {
			return nil
		}
		st = l.push(kindAudio, &genwayv1.Part{Id: a.ID, Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{}}}, true)
	}
	if a.Data != "" {
		data, err := member.DecodeBase64(a.Data)
		if err != nil {
			return err
		}
		l.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Data{Data: data}})
	}
	if a.Transcript != "" {
		l.add(st, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Transcript{Transcript: a.Transcript}})
	}
	l.note(st, a.natives())
	return nil
}

// end closes the parts and gives how the choice ended.
func (l *choiceDecoder) end() *genwayv1.CandidateEnd {
	if len(l.citations) > 0 {
		l.flushCitations(l.push(kindText, textPart(""), true))
	}
	for len(l.list) > 0 {
		l.close()
	}
	e := decodeFinish(l.word, l.stop, l.native, l.calls)
	for _, f := range l.inMessage {
		f.Name = messagePrefix + f.Name
	}
	return &genwayv1.CandidateEnd{
		Index: l.index, StopReason: e.reason, NativeStopReason: e.native, StopSequence: e.sequence,
		NativeFields: slices.Concat(e.fields, l.fields, l.inMessage),
	}
}
