package chat

import (
	"strconv"
	"strings"

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
	// textBefore counts the characters of the texts before the open part, textLength its own.
	textBefore, textLength int32
	signed                 bool
	// cited are the citations of the open text: what they cite is known at its end.
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
			MimeType: k.Image.MimeType, Source: k.Image.Source, Detail: k.Image.Detail}},
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
		s.bare = !codec.IsCustom(k.ToolCall) && !s.written && !skipped
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

// call opens a tool call: id and name once, in the first piece (T8).
func (s *choiceEncoder) call(c *genwayv1.ToolCall) error {
	p := s.current
	s.written = c.GetArgumentsJson() != ""
	f := &functionCall{Name: c.Name, Arguments: textOf(c.GetArgumentsJson()), Extra: inner(p.NativeFields, "function.")}
	s.calling = !codec.IsCustom(c) && (s.deprecated || marked(p.NativeFields, functionCallName))
	if s.calling {
		if s.skipped = s.called; s.skipped {
			s.losses.Add(s.path(), "the deprecated function_call holds one call")
			return nil
		}
		s.called = true
		return s.write(&message{FunctionCall: f}, nil)
	}
	i := s.calls
	s.calls++
	out := toolCall{Index: &i, ID: c.Id, Type: "function", ExtraContent: encodeExtraContent(s.seal(p.ThoughtSignature), p.NativeFields)}
	if out.ID == "" {
		out.ID = codec.SyntheticToolID(s.id, s.index, s.place)
	}
	if codec.IsCustom(c) {
		out.Type, out.Custom = "custom", &customCall{Name: c.Name, Input: textOf(c.GetInput()), Extra: inner(p.NativeFields, "custom.")}
	} else {
		out.Function = f
	}
	var err error
	if out.Extra, err = extra(p.NativeFields, s.path(), s.losses, "function.", "custom.", "extra_content"); err != nil {
		return err
	}
	return s.write(&message{ToolCalls: []toolCall{out}}, nil)
}

// argueBare writes {} as the arguments of the open call if it had none.
func (s *choiceEncoder) argueBare() {
	if s.bare {
		s.bare = false
		s.argue("{}")
	}
}

// argue adds arguments to the open call.
func (s *choiceEncoder) argue(piece string) {
	switch {
	case piece == "":
	case s.calling:
		s.textChunk(s.index, `{"function_call":{"arguments":`, piece, `}}`)
	default:
		s.textChunk(s.index, `{"tool_calls":[{"index":`+strconv.Itoa(int(s.calls)-1)+`,"function":{"arguments":`, piece, `}}]}`)
	}
}

// voice opens audio.
func (s *choiceEncoder) voice(p *genwayv1.Part, m *genwayv1.Media) error {
	if s.audios++; s.audios > 1 {
		s.losses.Add(s.path(), "a message of chat completions has one audio")
		s.skipped = true
		return nil
	}
	a := s.audioOf(p, m)
	if member.Native(protocol, p.NativeFields, "expires_at") == nil {
		a.ExpiresAt = nil // comes as a delta, if at all
	}
	switch m.GetSource().(type) {
	case *genwayv1.Media_Url, *genwayv1.Media_FileId:
		s.losses.Add(s.path(), notWithin)
	}
	a.data = m.GetData()
	return s.write(&message{Audio: a}, nil)
}

// sound adds bytes or words to the open audio or image.
func (s *choiceEncoder) sound(data []byte, words string) error {
	if image := s.current.GetImage(); image != nil {
		image.Source = &genwayv1.Media_Data{Data: append(image.GetData(), data...)}
		return nil
	}
	if s.current.GetAudio() == nil {
		return nil
	}
	return s.write(&message{Audio: &audio{data: data, Transcript: words}}, nil)
}

// opaque writes a part only this protocol knows into the list it came from.
func (s *choiceEncoder) opaque(p *genwayv1.Part, o *genwayv1.OpaquePart) error {
	whole := verbatim{raw: o.Json}
	switch {
	case o.Protocol != protocol:
		s.losses.Add(s.path(), "an answer of chat completions has no place for this kind of content")
		return nil
	case marked(p.NativeFields, toolCallsName):
		raw, err := member.Patch(o.Json, member.Member{Name: "index", Value: strconv.AppendInt(nil, int64(s.calls), 10)})
		if err != nil {
			return err
		}
		s.calls++
		return s.write(&message{ToolCalls: []toolCall{{verbatim: verbatim{raw: raw}}}}, nil)
	case opaqueDetail(p):
		s.thought.index++
		s.thought.count++
		return s.write(&message{ReasoningDetails: []detail{{verbatim: whole}}}, nil)
	}
	return s.write(&message{Content: content{is: isParts, parts: []part{{verbatim: whole}}}}, nil)
}

// thought writes the thinking of a choice. Its text goes out as it comes, as the
// plain string; whether there are details to it (a signature) is known only at
// its end, and they repeat the text then. Summaries and what follows them go out
// in both places at once, as OpenRouter does.
type thought struct {
	index int32 // of the next thinking part
	count int   // of the thinking parts that ended, those without content too
	part  *genwayv1.Part
	name  string
	text  strings.Builder
	shown bool
	// live says that the text goes into details, too, and gap that what is shown
	// next is a paragraph of its own.
	live, gap bool
	// described says that an entry went out with all that is known of the part.
	described bool
	// bare is the first thinking part, if it ended without details.
	bare *detail
}

// apart keeps two thinking parts apart, since the plain string of the message joins their texts: the
// first gets details after all. Parts of other kinds may be between them.
func (t *thought) apart(s *choiceEncoder, next *genwayv1.Part) error {
	if t.bare == nil || next.GetThinking() == nil && !opaqueDetail(next) {
		return nil
	}
	first := *t.bare
	t.bare = nil
	return s.write(&message{ReasoningDetails: []detail{first}}, nil)
}

func (t *thought) open(s *choiceEncoder, p *genwayv1.Part) error {
	if _, err := extra(p.NativeFields, s.path(), s.losses); err != nil {
		return err
	}
	if marked(p.NativeFields, reasoningName) {
		t.name = reasoningName
	}
	t.part = &genwayv1.Part{Id: p.Id, NativeFields: p.NativeFields, ThoughtSignature: p.ThoughtSignature,
		Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Signature: p.GetThinking().Signature, EncryptedContent: p.GetThinking().EncryptedContent}}}
	t.text.Reset()
	// What a caller must know from the first piece on goes with the details.
	t.shown, t.gap, t.described, t.live = false, false, false, p.Id != "" || hasNatives(p.NativeFields)
	for i, summary := range p.GetThinking().Summary {
		if err := t.sum(s, int32(i), summary); err != nil {
			return err
		}
	}
	return t.think(s, p.GetThinking().Text)
}

func (t *thought) add(s *choiceEncoder, d *genwayv1.PartDelta) error {
	if t.part == nil {
		return nil
	}
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Thinking:
		return t.think(s, v.Thinking)
	case *genwayv1.PartDelta_Summary:
		return t.sum(s, v.Summary.GetIndex(), v.Summary.GetText())
	case *genwayv1.PartDelta_Signature:
		t.part.GetThinking().Signature = v.Signature
	case *genwayv1.PartDelta_EncryptedContent:
		t.part.GetThinking().EncryptedContent = v.EncryptedContent
	}
	return nil
}

func (t *thought) think(s *choiceEncoder, piece string) error {
	if piece == "" {
		return nil
	}
	t.gap = t.gap || t.live && t.shown && t.text.Len() == 0
	t.text.WriteString(piece)
	if t.live {
		return t.both(s, piece, detail{Type: detailText, Text: &piece})
	}
	t.shown = true
	if s.members == nil {
		s.textChunk(s.index, `{"`+t.member()+`":`, piece, `}`)
		return nil
	}
	return s.write(t.plain(piece), nil)
}

func (t *thought) sum(s *choiceEncoder, index int32, piece string) error {
	k := t.part.GetThinking()
	if int(index) >= len(k.Summary) {
		k.Summary = append(k.Summary, "")
		t.gap = t.shown
	}
	t.live = true
	return t.both(s, piece, detail{Type: detailSummary, Summary: &piece, SummaryIndex: index})
}

func (t *thought) member() string {
	if t.name == reasoningName {
		return reasoningName
	}
	return "reasoning_content"
}

func (t *thought) plain(piece string) *message {
	if t.name == reasoningName {
		return &message{Reasoning: textOf(piece)}
	}
	return &message{ReasoningContent: textOf(piece)}
}

// both writes a piece for show and as a detail.
func (t *thought) both(s *choiceEncoder, piece string, entry detail) error {
	index := t.index
	entry.Index, entry.ID = &index, t.part.Id
	if !t.described {
		entry.Extra = inner(t.part.NativeFields, "")
	}
	t.described = true
	m := &message{}
	if piece != "" {
		if t.gap {
			piece = codec.SummaryBreak + piece
		}
		m = t.plain(piece)
		t.shown, t.gap = true, false
	}
	m.ReasoningDetails = []detail{entry}
	return s.write(m, nil)
}

// close writes the details that are known now. A part without content has no index, as in a unary
// answer.
func (t *thought) close(s *choiceEncoder) error {
	p, k := t.part, t.part.GetThinking()
	index, text, first := t.index, t.text.String(), t.count == 0
	t.part = nil
	t.index++
	t.count++
	if t.described {
		// The text and the summaries went out with entries of their own.
		k.Summary, p.NativeFields = nil, nil
		if k.Signature == nil && k.EncryptedContent == nil && p.ThoughtSignature == nil {
			return nil
		}
	} else {
		k.Text = text
	}
	out := s.details(p)
	for i := range out {
		out[i].Index = &index
	}
	if len(out) > 0 {
		return s.write(&message{ReasoningDetails: out}, nil)
	}
	bare := detail{Type: detailText, Text: &text, Index: &index}
	switch {
	case text == "":
		t.index--
	case !first:
		return s.write(&message{ReasoningDetails: []detail{bare}}, nil)
	default:
		t.bare = &bare
	}
	return nil
}
