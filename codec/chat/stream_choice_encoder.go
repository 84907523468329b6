package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// choiceEncoder writes one choice of a stream.
type choiceEncoder struct {
	*streamEncoder
	err   error // of the chunk with the role
	index int32
	place int32 // of the next part
	// current is the open part, as far as it is known.
	current *genwayv1.Part
	calls   int32
	written bool // something of the open call's arguments
	skipped bool // the open call has no place
	// bare says that the call before had no arguments. They are {} (T10) unless the answer was cut there.
	bare   bool
	audios int32
	// textBefore counts the characters of the texts before the open part, textLength those of it.
	textBefore, textLength int32
	signed                 bool
	// cited are the citations of the open text: what they are of is known at its end.
	cited []*genwayv1.Citation
	// called says that there was a deprecated function_call, and calling that it is
	// the open part.
	called, calling bool
	thought         thought
}

// write adds a chunk with a delta.
func (s *choiceEncoder) write(m *message, l *logprobs) error {
	return s.chunk(choice{Index: &s.index, Delta: m, Logprobs: l})
}

func (s *choiceEncoder) path() string {
	return member.Index(member.Index("candidates", int(s.index))+".parts", int(s.place))
}

func (s *choiceEncoder) open(ev *genwayv1.PartStarted) error {
	if s.err != nil {
		return s.err
	}
	s.argueBare()
	s.current, s.place = ev.GetPart(), ev.Index
	p := s.current
	if err := s.thought.apart(s, p); err != nil {
		return err
	}
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		s.textBefore += s.textLength
		s.textLength = 0
		if err := s.text(k.Text.Text, k.Text.Logprobs); err != nil {
			return err
		}
		s.cited = append(s.cited, k.Text.Citations...)
		return s.sign(p.ThoughtSignature)
	case *genwayv1.Part_Refusal:
		return s.refuse(k.Refusal.Text, k.Refusal.Logprobs)
	case *genwayv1.Part_Thinking:
		return s.thought.open(s, p)
	case *genwayv1.Part_ToolCall:
		return s.call(k.ToolCall)
	case *genwayv1.Part_Audio:
		return s.voice(p, k.Audio)
	case *genwayv1.Part_Opaque:
		return s.opaque(p, k.Opaque)
	case *genwayv1.Part_Image:
		// Written when it is whole.
		s.current = &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{
			MediaType: k.Image.MediaType, Source: k.Image.Source, Detail: k.Image.Detail}},
			ThoughtSignature: p.ThoughtSignature, NativeFields: p.NativeFields}
		return nil
	}
	s.losses.Add(s.path(), "an answer of chat completions has no place for this kind of content")
	return nil
}

func (s *choiceEncoder) add(d *genwayv1.PartDelta) error {
	if s.current == nil || s.skipped {
		return s.err
	}
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		return s.text(v.Text, d.Logprobs)
	case nil:
		return s.text("", d.Logprobs)
	case *genwayv1.PartDelta_Refusal:
		return s.refuse(v.Refusal, d.Logprobs)
	case *genwayv1.PartDelta_ArgumentsJson:
		s.written = s.written || v.ArgumentsJson != ""
		s.argue(v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		if v.Input != "" {
			i := s.calls - 1
			return s.write(&message{ToolCalls: []toolCall{{Index: &i, Custom: &customCall{Input: textOf(v.Input)}}}}, nil)
		}
	case *genwayv1.PartDelta_Citation:
		s.cited = append(s.cited, v.Citation)
	case *genwayv1.PartDelta_Data:
		return s.sound(v.Data, "")
	case *genwayv1.PartDelta_Transcript:
		return s.sound(nil, v.Transcript)
	case *genwayv1.PartDelta_ThoughtSignature:
		return s.sign(v.ThoughtSignature)
	case *genwayv1.PartDelta_Native:
		return s.note(v.Native)
	default:
		return s.thought.add(s, d)
	}
	return nil
}

func (s *choiceEncoder) close() error {
	p := s.current
	if p == nil {
		return nil
	}
	if err := s.cite(); err != nil {
		return err
	}
	skipped, path := s.skipped, s.path()
	s.current, s.skipped = nil, false
	s.place++
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Thinking:
		return s.thought.close(s)
	case *genwayv1.Part_ToolCall:
		s.bare = k.ToolCall.Input == nil && !s.written && !skipped
	case *genwayv1.Part_Image:
		if out, err := s.part(p, path); err == nil {
			return s.write(&message{Images: []part{out}}, nil)
		}
		s.losses.Add(path, "the image has neither data nor an address")
	}
	return nil
}

// text adds text. The log probabilities of tokens without text of their own still
// need a chunk.
func (s *choiceEncoder) text(text string, tokens []*genwayv1.TokenLogprob) error {
	s.textLength += characters(text)
	switch l := newLogprobs(tokens, nil); {
	case l != nil:
		return s.write(&message{Content: content{is: isText, s: text}}, l)
	case text == "":
		return nil
	}
	if s.members != nil {
		return s.write(&message{Content: content{is: isText, s: text}}, nil)
	}
	s.textChunk(s.index, `{"content":`, text, `}`)
	return nil
}

func (s *choiceEncoder) refuse(text string, tokens []*genwayv1.TokenLogprob) error {
	l := newLogprobs(nil, tokens)
	if text == "" && l == nil {
		return nil
	}
	return s.write(&message{Refusal: textOf(text)}, l)
}

// cite writes the citations of the text that ends.
func (s *choiceEncoder) cite() error {
	for _, c := range s.cited {
		a, ok := s.annotation(c, s.textBefore, s.textLength, s.path()+".text.citations")
		if !ok {
			continue
		}
		if err := s.write(&message{Annotations: []annotation{a}}, nil); err != nil {
			return err
		}
	}
	s.cited = nil
	return nil
}

// sign writes a thought signature where it belongs to.
func (s *choiceEncoder) sign(seal *genwayv1.Seal) error {
	if seal == nil {
		return nil
	}
	switch s.current.GetKind().(type) {
	case *genwayv1.Part_Text:
		if s.signed {
			s.losses.Add(s.path()+".thought_signature", "a message of chat completions has one signature of its text")
		}
		s.signed = true
		return s.write(&message{ExtraContent: encodeExtraContent(s.seal(seal), nil)}, nil)
	case *genwayv1.Part_ToolCall:
		if s.calling {
			s.losses.Add(s.path()+".thought_signature", "the deprecated function_call has no signature")
			return nil
		}
		i := s.calls - 1
		return s.write(&message{ToolCalls: []toolCall{{Index: &i, ExtraContent: encodeExtraContent(s.seal(seal), nil)}}}, nil)
	case *genwayv1.Part_Thinking, *genwayv1.Part_Image:
		if s.current.GetThinking() != nil {
			s.thought.part.ThoughtSignature = seal
		} else {
			s.current.ThoughtSignature = seal
		}
		return nil
	}
	s.losses.Add(s.path()+".thought_signature", unsignable)
	return nil
}

// note writes an unknown member that comes while a part is open.
func (s *choiceEncoder) note(f *genwayv1.NativeField) error {
	switch {
	case s.current.GetThinking() != nil:
		s.thought.part.NativeFields = append(s.thought.part.NativeFields, f)
	case f.Protocol != protocol:
		s.losses.Add(member.Join(s.path(), f.Name), "the target protocol has no place for it")
	case s.current.GetAudio() != nil && f.Name == "expires_at":
		return s.write(&message{Audio: &audio{ExpiresAt: f.Json}}, nil)
	case s.current.GetToolCall() != nil && !s.calling:
		i := s.calls - 1
		return s.write(&message{ToolCalls: []toolCall{{Index: &i, Extra: inner([]*genwayv1.NativeField{f}, "")}}}, nil)
	}
	return nil
}

// finish ends the choice: exactly one chunk with a finish_reason, its delta empty
// but for unknown members (T4, T7).
func (s *choiceEncoder) finish(end *genwayv1.CandidateEnd) error {
	if !codec.Cut(end.StopReason) {
		s.argueBare()
	}
	inMessage := messageNatives(end.NativeFields)
	delta := &message{
		Extra:        inner(inMessage, "", "extra_content"),
		ExtraContent: encodeExtraContent("", inMessage),
	}
	out := choice{Index: &s.index, Delta: delta}
	if l := inner(end.NativeFields, "logprobs."); l != nil {
		out.Logprobs = &logprobs{Extra: l}
	}
	out.finish(s.encoder, end.StopReason, end.NativeStopReason, end.StopSequence, end.NativeFields, s.calls > 0 || s.called)
	if end.StopMessage != "" {
		s.losses.Add(member.Index("candidates", int(s.index))+".stop_message", "chat completions does not explain a stop")
	}
	var err error
	if out.Extra, err = extra(end.NativeFields, member.Index("candidates", int(s.index)), s.losses, choiceMembers...); err != nil {
		return err
	}
	return s.chunk(out)
}
