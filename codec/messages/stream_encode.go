package messages

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// streamEncoder writes one answer as events.
type streamEncoder struct {
	w      *writer
	frames []codec.Frame
	losses *codec.Losses
	// passed says that the upstream's own events went out in place of ours, stopped
	// that its message_stop was among them.
	passed, stopped bool
	id              string
	tier            string
	natives         []*genwayv1.NativeField
	// index is the next block's, open the block of the open part.
	index int64
	open  *outBlock
	// broken is a call whose arguments are not one object. Its block stays open until it is
	// known whether the answer was cut there (case T12).
	broken *genwayv1.ToolCall
	// bare is a call without arguments. It has no block until it is known that the answer was not cut there.
	bare   *outBlock
	how    ending
	chosen codec.Chosen
}

// NewStreamEncoder writes one stream of /v1/messages.
func (Codec) NewStreamEncoder(to codec.Answer) codec.StreamEncoder {
	return &streamEncoder{losses: to.Losses, w: answerWriter(512)}
}

// Encode returns the frames of one event; each is named after its type.
func (e *streamEncoder) Encode(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error) {
	e.w.Reset()
	e.frames = e.frames[:0]
	fit.UnplacedInEvent(ev, protocol, e.losses)
	var err error
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Wire:
		e.pass(p.Wire)
	case *genwayv1.StreamGenerateTextResponse_Ping:
		e.begin("ping")
		e.send()
	case *genwayv1.StreamGenerateTextResponse_Started:
		e.start(p.Started)
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		err = e.partStarted(p.PartStarted)
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		err = e.partDelta(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		err = e.partCompleted(p.PartCompleted)
	case *genwayv1.StreamGenerateTextResponse_Completed:
		if !e.passed {
			err = e.complete(p.Completed)
		} else if !e.stopped {
			// Clients wait for it; some upstreams leave it out (case S3).
			e.begin("message_stop")
			e.send()
		}
	}
	if err == nil {
		err = e.w.Err()
	}
	if err != nil {
		return nil, err
	}
	return e.frames, nil
}

// Fail returns the protocol's error event.
func (e *streamEncoder) Fail(err *fault.Error) []codec.Frame {
	_, body := Codec{}.EncodeError(err)
	return []codec.Frame{{Event: "error", Data: member.OneLine(body)}}
}

// begin opens the data of an event; send closes it and makes it a frame.
func (e *streamEncoder) begin(event string) {
	e.frames = append(e.frames, codec.Frame{Event: event})
	e.w.Next()
	e.w.Begin()
	e.w.Str("type", event)
}

func (e *streamEncoder) send() {
	e.w.End()
	e.frames[len(e.frames)-1].Data = member.OneLine(e.w.Text())
}

func (e *streamEncoder) pass(f *genwayv1.WireFrame) {
	if f.GetProtocol() == protocol {
		e.passed, e.stopped = true, f.GetEvent() == "message_stop"
		e.frames = append(e.frames, codec.Frame{Event: f.GetEvent(), Data: f.GetData()})
	}
}

// start writes message_start: the message without content, and what is known of
// its usage (case U6).
func (e *streamEncoder) start(s *genwayv1.TextStarted) {
	resp := &genwayv1.GenerateTextResponse{Id: s.Id, Model: s.Model, CreateTime: s.CreateTime}
	e.id, e.tier, e.natives = s.Id, s.ServiceTier, s.NativeFields
	e.begin("message_start")
	e.w.Object("message")
	e.w.opening(resp)
	e.w.List("content")
	e.w.EndList()
	for _, name := range []string{"stop_reason", "stop_sequence", "stop_details"} {
		e.w.Null(name)
	}
	e.w.usage(s.Usage, s.ServiceTier)
	e.w.nullUnless(s.NativeFields, "context_management", "container", "diagnostics")
	e.w.natives(s.NativeFields, "", e.losses)
	e.w.End()
	e.send()
}

// complete writes how the answer ended and the whole of its usage, which
// message_start could not know (case U4).
func (e *streamEncoder) complete(c *genwayv1.TextCompleted) error {
	last := &genwayv1.CandidateEnd{}
	for _, end := range c.GetCandidates() {
		if e.chosen.Is(end.GetIndex()) {
			last = end
		}
	}
	e.how.reason, e.how.native = last.GetStopReason(), last.GetNativeStopReason()
	switch cut := codec.Cut(e.how.reason); {
	case cut && e.broken != nil:
		e.closeBlock()
	case cut && e.bare != nil:
		e.losses.Add(e.bare.path+".tool_call", codec.CutCall)
	case e.broken != nil:
		return codec.BrokenArguments(e.broken.GetName())
	default:
		e.sendBare()
	}
	how := blocked(c.GetPromptFeedback(), e.how, last.GetStopMessage(), last.GetNativeFields())
	fields := merged(e.natives, c.GetNativeFields())
	e.begin("message_delta")
	e.w.Object("delta")
	e.w.stopReason(how)
	e.w.StrOrNull("stop_sequence", last.StopSequence)
	e.w.stopDetails(how.word, how.message, last.GetNativeFields(), e.losses)
	if container := native(fields, "container"); container != nil {
		e.w.raw("container", container, "native_fields")
	} else {
		e.w.Null("container")
	}
	e.w.End()
	tier := c.GetServiceTier()
	if tier == "" {
		tier = e.tier
	}
	e.w.usage(c.GetUsage(), tier)
	if edits := native(fields, "context_management"); edits != nil {
		e.w.raw("context_management", edits, "native_fields")
	} else {
		e.w.noEdits()
	}
	e.w.natives(c.GetNativeFields(), "", e.losses, "container", "context_management")
	e.send()
	tellLost(last.GetNativeFields(), "candidates[0]", e.losses)
	e.begin("message_stop")
	e.send()
	return nil
}

// merged are the fields of the start and the end, the end's first, where native
// finds them.
func merged(start, end []*genwayv1.NativeField) []*genwayv1.NativeField {
	return append(append([]*genwayv1.NativeField{}, end...), start...)
}

// skips reports whether a part belongs to another candidate than the one that is shown, for which this protocol
// has no place.
func (e *streamEncoder) skips(candidate int32) bool {
	if e.chosen.Is(candidate) {
		return false
	}
	e.losses.Add("candidates", "the messages protocol has one answer")
	return true
}

func (e *streamEncoder) path(index int32) string {
	return member.Index("candidates[0].parts", int(index))
}

// openBlock sends content_block_start unless it was sent, behind the carrier of a
// thought signature that is known by then.
func (e *streamEncoder) openBlock() {
	b := e.open
	if b.opened {
		return
	}
	b.opened = true
	if b.ThoughtSignature != nil && b.GetToolCall() != nil {
		e.carry(b.ThoughtSignature, carrierNext)
	}
	e.beginBlock()
	if o := b.GetOpaque(); o != nil {
		e.w.raw("content_block", o.Json, b.path+".opaque")
		e.send()
		return
	}
	e.w.Object("content_block")
	switch {
	case b.GetToolCall() != nil:
		e.w.callOpening(b.answerPart)
		e.w.Object("input")
		e.w.End()
	case b.GetThinking() != nil && !b.redacted:
		e.w.Str("type", "thinking")
		e.w.Str("thinking", "")
	case b.GetThinking() != nil:
		e.w.Str("type", "redacted_thinking")
		e.w.Str("data", codec.SealText(b.encrypted, protocol, false))
	default:
		e.w.Str("type", "text")
		e.w.Str("text", "")
		e.w.List("citations")
		e.w.EndList()
	}
	e.w.natives(b.NativeFields, b.path, e.losses)
	e.w.End()
	e.send()
}

func (e *streamEncoder) beginBlock() {
	e.begin("content_block_start")
	e.w.Int("index", e.index)
}

func (e *streamEncoder) closeBlock() {
	e.begin("content_block_stop")
	e.w.Int("index", e.index)
	e.send()
	e.index++
}

// carry sends the block that carries a thought signature.
func (e *streamEncoder) carry(seal *genwayv1.Seal, place string) {
	e.beginBlock()
	e.w.Key("content_block")
	e.w.redacted(carrierData(seal, place))
	e.send()
	e.closeBlock()
}

// delta sends a content_block_delta with one string member.
func (e *streamEncoder) delta(kind, name, value string) {
	e.openBlock()
	e.begin("content_block_delta")
	e.w.Int("index", e.index)
	e.w.Object("delta")
	e.w.Str("type", kind)
	e.w.Str(name, value)
	e.w.End()
	e.send()
}

func (e *streamEncoder) citation(c *genwayv1.Citation) {
	path := e.open.path + ".text.citations"
	if !carriesCitation(c) {
		e.losses.Add(path, unciteable)
		return
	}
	e.openBlock()
	e.begin("content_block_delta")
	e.w.Int("index", e.index)
	e.w.Object("delta")
	e.w.Str("type", "citations_delta")
	e.w.Key("citation")
	e.w.citation(c, path, e.losses)
	e.w.End()
	e.send()
}

// sealThinking ends thinking: with its signature behind the last of its text, or
// with the whole block where there is no text.
func (e *streamEncoder) sealThinking() {
	b := e.open
	seal := b.signature
	switch {
	case seal != nil && b.encrypted != nil:
		e.losses.Add(b.path+".thinking.encrypted_content", oneSeal)
	case seal == nil && b.encrypted != nil && !b.opened:
		b.redacted = true
		e.openBlock()
		return
	case seal == nil:
		seal = b.encrypted
	}
	if seal != nil {
		e.delta("signature_delta", "signature", codec.SealText(seal, protocol, false))
	}
}

// outBlock is the block of the part that is being encoded.
type outBlock struct {
	answerPart
	// opened says that content_block_start was sent, shown that a piece of thinking was,
	// of that place.
	opened, shown bool
	// redacted says that thinking ended with nothing to show of it.
	redacted bool
	place    int32
	// input gathers the free-form input of a custom tool's call, written the arguments of
	// another's.
	input   *strings.Builder
	written strings.Builder
	// Seals wait for the end of the block (case R3). late is a thought signature
	// that was not known at its start.
	signature, encrypted, late *genwayv1.Seal
}

func (e *streamEncoder) partStarted(s *genwayv1.PartStarted) error {
	if e.skips(s.Candidate) {
		return nil
	}
	if e.open != nil {
		return disorder("a part starts within another")
	}
	if e.broken != nil {
		return codec.BrokenArguments(e.broken.GetName())
	}
	e.sendBare()
	p := s.GetPart()
	e.open = &outBlock{answerPart: answerPart{Part: p, path: e.path(s.Index), callID: callID(p, e.id, int(s.Index))}}
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		e.text(k.Text.GetText())
		for _, c := range k.Text.GetCitations() {
			e.citation(c)
		}
	case *genwayv1.Part_Refusal:
		e.how.refusals = true
		e.text(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		for i, summary := range k.Thinking.GetSummary() {
			e.thinking(int32(i), summary)
		}
		e.thinking(textPlace, k.Thinking.GetText())
		e.open.signature, e.open.encrypted = k.Thinking.GetSignature(), k.Thinking.GetEncryptedContent()
	case *genwayv1.Part_ToolCall:
		e.how.calls = true
		if codec.IsCustom(k.ToolCall) {
			e.openBlock()
			e.input(k.ToolCall.GetInput())
		}
		e.arguments(k.ToolCall.GetArgumentsJson())
	case *genwayv1.Part_Opaque:
		if k.Opaque.GetProtocol() == protocol {
			e.openBlock()
			return nil
		}
		e.losses.Add(e.open.path+".opaque", foreignOpaque(k.Opaque))
	default:
		e.losses.Add(e.open.path, unshown)
	}
	return nil
}

func (e *streamEncoder) partDelta(d *genwayv1.PartDelta) error {
	if !e.chosen.Is(d.Candidate) {
		return nil
	}
	b := e.open
	if b == nil {
		return disorder("a delta belongs to no open part")
	}
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		e.text(v.Text)
	case *genwayv1.PartDelta_Refusal:
		e.text(v.Refusal)
	case *genwayv1.PartDelta_Citation:
		e.citation(v.Citation)
	case *genwayv1.PartDelta_Thinking:
		e.thinking(textPlace, v.Thinking)
	case *genwayv1.PartDelta_Summary:
		e.thinking(v.Summary.GetIndex(), v.Summary.GetText())
	case *genwayv1.PartDelta_Signature:
		b.signature = v.Signature
	case *genwayv1.PartDelta_EncryptedContent:
		b.encrypted = v.EncryptedContent
	case *genwayv1.PartDelta_ArgumentsJson:
		e.arguments(v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		e.input(v.Input)
	case *genwayv1.PartDelta_ThoughtSignature:
		b.late = v.ThoughtSignature
	}
	return nil
}

func (e *streamEncoder) partCompleted(c *genwayv1.PartCompleted) error {
	if !e.chosen.Is(c.Candidate) {
		return nil
	}
	b := e.open
	if b == nil {
		return disorder("a part ends that is not open")
	}
	switch {
	case b.input != nil:
		e.arguments(codec.FreeFormArguments(b.input.String()))
	case b.GetToolCall() != nil && codec.AreNone(b.written.String()):
		e.bare, e.open = b, nil
		return nil
	case b.GetToolCall() != nil && !codec.AreObject(b.written.String()):
		e.broken, e.open = b.GetToolCall(), nil
		return nil
	case b.GetThinking() != nil:
		e.sealThinking()
	}
	e.endBlock()
	return nil
}

// endBlock ends the block of the open part.
func (e *streamEncoder) endBlock() {
	b := e.open
	if b.opened {
		e.closeBlock()
	}
	e.open = nil
	switch {
	case b.GetToolCall() == nil:
		if b.late != nil || b.ThoughtSignature != nil {
			e.losses.Add(b.path+".thought_signature", unsigned)
		}
	case b.late != nil:
		e.carry(b.late, carrierPrev)
	}
}

// sendBare sends the block of a call that turns out to have no arguments, which is an empty object (case T10).
func (e *streamEncoder) sendBare() {
	if e.bare == nil {
		return
	}
	e.open, e.bare = e.bare, nil
	e.arguments("{}")
	e.endBlock()
}

// textPlace is the place of the text of thinking beside the places of its summaries.
const textPlace = -1

func (e *streamEncoder) text(text string) {
	if text != "" {
		e.delta("text_delta", "text", text)
	}
}

// thinking shows a piece of the summary of that index, or of the text in place -1, as
// codec.ThinkingText does.
func (e *streamEncoder) thinking(place int32, text string) {
	b := e.open
	if text == "" {
		return
	}
	if b.shown && b.place != place {
		text = codec.SummaryBreak + text
	}
	b.shown, b.place = true, place
	e.delta("thinking_delta", "thinking", text)
}

// arguments writes a piece of the arguments of a call, whose block begins with the first of them.
func (e *streamEncoder) arguments(piece string) {
	if piece == "" {
		return
	}
	b := e.open
	b.written.WriteString(piece)
	if !b.opened {
		if piece = b.written.String(); codec.AreNone(piece) {
			return
		}
	}
	e.delta("input_json_delta", "partial_json", piece)
}

func (e *streamEncoder) input(piece string) {
	if e.open.input == nil {
		e.open.input = &strings.Builder{}
	}
	e.open.input.WriteString(piece)
}
