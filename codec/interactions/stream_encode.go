package interactions

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// streamEncoder writes one answer as events.
type streamEncoder struct {
	w      *writer
	frames []codec.Frame
	losses *codec.Losses
	// request is what is answered; nil if that is not known.
	request *codec.Request
	// passed reports that the upstream's own events went out in place of ours, stopped that the sentinel was among them.
	passed, stopped bool
	// resumed is set for the stream of a stored answer, whose events all pass.
	resumed bool
	head    head
	// index is the next step's, open the step of the open part.
	index int64
	open  *outStep
	// broken is a call whose arguments are not one object. Its step stays open until it is
	// known whether the answer was cut there (case T12).
	broken *genwayv1.ToolCall
	// bare is a call without arguments. It has no step until it is known that the answer was not cut there.
	bare   *outStep
	calls  bool
	chosen codec.Chosen
	// stored says that the answer can be fetched later, so that its events have identifiers: their numbers, of which next is
	// the next.
	stored bool
	next   int
}

// outStep is the step of the part that is being encoded.
type outStep struct {
	*genwayv1.Part

	path   string
	opened bool
	// said is the text, for the offsets of its citations.
	said strings.Builder
	// shown reports that a piece of thinking was written, of that place.
	shown bool
	place int32
	// input gathers the free-form input of a custom tool's call, written the arguments of another's.
	input   *strings.Builder
	written strings.Builder
	// data gathers the bytes of media.
	data []byte
	// Seals wait for the end of the step (case R3). late is a thought signature that was not known at its start.
	signature, encrypted, late *genwayv1.Seal
}

// NewStreamEncoder writes one stream.
func (c Codec) NewStreamEncoder(to codec.Answer) codec.StreamEncoder { return c.newStreamEncoder(to) }

func (Codec) newStreamEncoder(to codec.Answer) *streamEncoder {
	return &streamEncoder{losses: to.Losses, request: to.Request, resumed: to.Resumed, passed: to.Resumed, w: &writer{Writer: member.NewWriter(512), losses: to.Losses, answer: true}}
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
			e.done()
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

// Fail returns the protocol's error event, with the code of EncodeError.
func (e *streamEncoder) Fail(err *fault.Error) []codec.Frame {
	w := &writer{Writer: member.NewWriter(256)}
	w.Begin()
	w.Object("error")
	w.Str("message", err.Message)
	w.Str("code", strings.ToLower(google.Word(err)))
	w.End()
	w.Str(eventType, "error")
	w.End()
	data, _ := w.Finish() // strings cannot fail
	return []codec.Frame{{Event: "error", Data: data}}
}

// begin opens the data of an event; send closes it and makes it a frame.
func (e *streamEncoder) begin(event string) {
	e.frames = append(e.frames, codec.Frame{Event: event})
	e.w.Next()
	e.w.Begin()
}

func (e *streamEncoder) send() {
	last := &e.frames[len(e.frames)-1]
	if e.stored {
		e.w.Str(eventID, strconv.Itoa(e.next))
	}
	e.next++
	e.w.Str(eventType, last.Event)
	e.w.End()
	last.Data = member.OneLine(e.w.Text())
}

// beginStep opens an event of the step.
func (e *streamEncoder) beginStep(event string) {
	e.begin(event)
	e.w.Int("index", e.index)
}

// done writes the event that ends the stream.
func (e *streamEncoder) done() {
	e.frames = append(e.frames, codec.Frame{Event: "done", Data: []byte(sentinel)})
}

func (e *streamEncoder) pass(f *genwayv1.WireFrame) {
	if f.GetProtocol() == protocol {
		e.passed, e.stopped = true, string(bytes.TrimSpace(f.GetData())) == sentinel
		e.frames = append(e.frames, codec.Frame{Event: f.GetEvent(), Data: f.GetData()})
	}
}

// start writes interaction.created.
func (e *streamEncoder) start(s *genwayv1.TextStarted) {
	if e.resumed {
		return
	}
	if e.head.id != "" { // a stored answer, which began before its upstream was asked
		e.head.model, e.head.tier, e.head.natives = s.GetModel(), s.GetServiceTier(), s.GetNativeFields()
		return
	}
	e.head = head{id: identifier(s.GetId(), s.GetModel(), s.GetCreateTime()), model: s.GetModel(), created: s.GetCreateTime(), tier: s.GetServiceTier(), natives: s.GetNativeFields()}
	if e.stored = s.GetStored(); e.stored {
		e.head.repeat(e.request)
	}
	e.begin("interaction.created")
	e.w.Object("interaction")
	e.w.head(e.head, inProgress)
	e.w.End()
	e.send()
}

// complete writes how the answer ended, and its usage.
func (e *streamEncoder) complete(c *genwayv1.TextCompleted) error {
	last := &genwayv1.CandidateEnd{}
	for _, end := range c.GetCandidates() {
		if e.chosen.Is(end.GetIndex()) {
			last = end
		}
	}
	switch cut := codec.Cut(last.GetStopReason()); {
	case cut && e.broken != nil:
		e.closeStep()
	case cut && e.bare != nil:
		e.losses.Add(e.bare.path+".tool_call", codec.CutCall)
	case e.broken != nil:
		return codec.BrokenArguments(e.broken.GetName())
	default:
		e.sendBare()
	}
	h := e.head
	h.updated, h.natives = c.GetCompleteTime(), c.GetNativeFields()
	for _, f := range e.head.natives { // the end repeats them, unless it has others
		if !member.HasNative(h.natives, f.GetName()) {
			h.natives = append(slices.Clip(h.natives), f)
		}
	}
	if c.GetServiceTier() != "" {
		h.tier = c.GetServiceTier()
	}
	e.begin("interaction.completed")
	e.w.Object("interaction")
	how := endingOf(last, c.GetPromptFeedback(), e.calls)
	e.w.head(h, how.status)
	e.w.finish(how, last, c.GetUsage())
	e.w.End()
	e.send()
	e.done()
	return nil
}

// skips reports whether a part belongs to another candidate than the one that is shown.
func (e *streamEncoder) skips(candidate int32) bool {
	if e.chosen.Is(candidate) {
		return false
	}
	e.losses.Add("candidates", oneAnswer)
	return true
}

// openStep sends step.start unless it was sent.
func (e *streamEncoder) openStep() {
	s := e.open
	if s.opened {
		return
	}
	s.opened = true
	e.beginStep("step.start")
	e.w.Object("step")
	switch {
	case s.GetToolCall() != nil:
		e.w.call(s.Part, s.path)
		e.w.Object("arguments")
		e.w.End()
	case s.GetThinking() != nil:
		e.w.Str("type", thought)
		_, others := summaryPieces(s.Part)
		e.w.natives(others, s.path)
	default:
		e.w.Str("type", modelOutput)
		ofStep, own := split(s.NativeFields, stepPrefix)
		if s.GetText() != nil && len(own) > 0 { // members of a text come with its beginning
			e.w.List("content")
			e.w.Begin()
			e.w.Str("type", "text")
			e.w.Str("text", "")
			e.w.natives(own, s.path)
			e.w.End()
			e.w.EndList()
		}
		e.w.natives(ofStep, s.path)
	}
	e.w.End()
	e.send()
}

func (e *streamEncoder) closeStep() {
	e.beginStep("step.stop")
	e.send()
	e.index++
}

// delta opens a step.delta of a type in the step, which it opens if it was not.
func (e *streamEncoder) delta(kind string) {
	e.openStep()
	e.beginStep("step.delta")
	e.w.Object("delta")
	e.w.StrOpt("type", kind)
}

func (e *streamEncoder) sendDelta() {
	e.w.End()
	e.send()
}

func (e *streamEncoder) partStarted(started *genwayv1.PartStarted) error {
	if e.skips(started.Candidate) {
		return nil
	}
	if e.open != nil {
		return disorder("a part starts within another")
	}
	if e.broken != nil {
		return codec.BrokenArguments(e.broken.GetName())
	}
	e.sendBare()
	s := &outStep{Part: identified(started.GetPart(), e.head.id, int(started.GetIndex())), path: member.Within("candidates[0]", ".parts", int(started.GetIndex()))}
	e.open = s
	switch k := s.GetKind().(type) {
	case *genwayv1.Part_Text:
		e.text(k.Text.GetText())
		for _, c := range k.Text.GetCitations() {
			e.citation(c)
		}
	case *genwayv1.Part_Refusal:
		e.text(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		for i, summary := range k.Thinking.GetSummary() {
			e.thinking(int32(i), summary)
		}
		e.thinking(textPlace, k.Thinking.GetText())
		s.signature, s.encrypted = k.Thinking.GetSignature(), k.Thinking.GetEncryptedContent()
		pieces, _ := summaryPieces(s.Part)
		for _, f := range pieces {
			e.native(f)
		}
	case *genwayv1.Part_ToolCall:
		e.calls = true
		if codec.IsCustom(k.ToolCall) {
			e.openStep()
			e.input(k.ToolCall.GetInput())
		}
		e.arguments(k.ToolCall.GetArgumentsJson())
	}
	return nil
}

func (e *streamEncoder) partDelta(d *genwayv1.PartDelta) error {
	if !e.chosen.Is(d.Candidate) {
		return nil
	}
	s := e.open
	if s == nil {
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
		s.signature = v.Signature
	case *genwayv1.PartDelta_EncryptedContent:
		s.encrypted = v.EncryptedContent
	case *genwayv1.PartDelta_ArgumentsJson:
		e.arguments(v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		e.input(v.Input)
	case *genwayv1.PartDelta_ThoughtSignature:
		s.late = v.ThoughtSignature
	case *genwayv1.PartDelta_Native:
		e.native(v.Native)
	case *genwayv1.PartDelta_Data:
		s.data = append(s.data, v.Data...)
	case *genwayv1.PartDelta_Transcript:
		if v.Transcript != "" {
			e.losses.Add(s.path+".audio.transcript", noPlace)
		}
	}
	return nil
}

func (e *streamEncoder) partCompleted(c *genwayv1.PartCompleted) error {
	if !e.chosen.Is(c.Candidate) {
		return nil
	}
	s := e.open
	if s == nil {
		return disorder("a part ends that is not open")
	}
	switch {
	case s.input != nil:
		e.arguments(codec.FreeFormArguments(s.input.String()))
	case s.GetToolCall() != nil && codec.AreNone(s.written.String()):
		e.bare, e.open = s, nil
		return nil
	case s.GetToolCall() != nil && !codec.AreObject(s.written.String()):
		e.broken, e.open = s.GetToolCall(), nil
		return nil
	case s.GetThinking() != nil:
		e.sealThinking()
	case s.GetOpaque() != nil:
		e.whole()
	case codec.MediaOf(s.Part) != nil:
		e.media()
	}
	e.endStep()
	return nil
}

// endStep ends the step of the open part.
func (e *streamEncoder) endStep() {
	s := e.open
	switch {
	case s.late == nil:
	case s.GetToolCall() != nil:
		e.delta("arguments_delta")
		e.w.Str("arguments", "")
		e.w.Str("signature", codec.SealText(s.late, protocol, false))
		e.sendDelta()
	default:
		s.ThoughtSignature = s.late
	}
	e.w.beside(s.Part, s.path)
	if s.opened {
		e.closeStep()
	}
	e.open = nil
}

// sendBare sends the step of a call that turns out to have no arguments, which is an empty object (case T10).
func (e *streamEncoder) sendBare() {
	if e.bare == nil {
		return
	}
	e.open, e.bare = e.bare, nil
	e.arguments("{}")
	e.endStep()
}

// whole sends a step that streams as a whole.
func (e *streamEncoder) whole() {
	s := e.open
	o := s.GetOpaque()
	if o.GetProtocol() != protocol {
		e.w.refuse(s.path+".opaque", "content of the kind "+o.GetType()+" has no form in the target protocol")
		return
	}
	s.opened = true
	e.beginStep("step.start")
	e.w.Key("step")
	e.w.value(o.GetJson(), s.path+".opaque")
	e.send()
}

// media sends media, as one delta.
func (e *streamEncoder) media() {
	s := e.open
	if len(s.data) > 0 {
		s.Part = proto.CloneOf(s.Part)
		m := codec.MediaOf(s.Part)
		m.Source = &genwayv1.Media_Data{Data: append(m.GetData(), s.data...)}
	}
	if !e.w.sourced(s.Part, s.path) {
		return
	}
	_, own := split(s.NativeFields, stepPrefix)
	e.delta("")
	e.w.media(s.Part, s.path)
	e.w.natives(own, s.path)
	e.sendDelta()
}

// sealThinking ends thinking with its signature, after the last of its text.
func (e *streamEncoder) sealThinking() {
	s := e.open
	seal := s.signature
	if seal == nil {
		seal = s.encrypted
	} else if s.encrypted != nil {
		e.losses.Add(s.path+".thinking.encrypted_content", "a thought of the target protocol has one signature")
	}
	if seal == nil {
		if len(s.NativeFields) > 0 {
			e.openStep()
		}
		return
	}
	e.delta("thought_signature")
	e.w.Str("signature", codec.SealText(seal, protocol, false))
	e.sendDelta()
}

// textPlace is the place of the text of thinking beside the places of its summaries.
const textPlace = -1

func (e *streamEncoder) text(said string) {
	if said == "" {
		return
	}
	e.open.said.WriteString(said)
	e.delta("text")
	e.w.Str("text", said)
	e.sendDelta()
}

func (e *streamEncoder) citation(c *genwayv1.Citation) {
	path := e.open.path + ".text.citations"
	if !carriesCitation(c) {
		e.losses.Add(path, uncitable)
		return
	}
	e.delta("text_annotation_delta")
	e.w.List("annotations")
	e.w.annotation(c, e.open.said.String(), path)
	e.w.EndList()
	e.sendDelta()
}

// thinking shows a piece of the summary of that index, or of the text in place -1, as
// codec.ThinkingText does.
func (e *streamEncoder) thinking(place int32, said string) {
	s := e.open
	if said == "" {
		return
	}
	if s.shown && s.place != place {
		said = codec.SummaryBreak + said
	}
	s.shown, s.place = true, place
	e.delta("thought_summary")
	e.w.Object("content")
	e.w.Str("type", "text")
	e.w.Str("text", said)
	e.w.End()
	e.sendDelta()
}

// native shows a piece of a summary that is no text. Other members that come after the beginning of a part have no event.
func (e *streamEncoder) native(f *genwayv1.NativeField) {
	switch {
	case f.GetProtocol() != protocol || member.IsMark(f): // named already
	case e.open.GetThinking() == nil || f.GetName() != pieceMember:
		e.losses.Add(e.open.path+"."+f.GetName(), noPlace)
	default:
		e.delta("thought_summary")
		e.w.Key("content")
		e.w.value(f.GetJson(), e.open.path+"."+pieceMember)
		e.sendDelta()
	}
}

// arguments writes a piece of the arguments of a call, whose step begins with the first of them.
func (e *streamEncoder) arguments(piece string) {
	if piece == "" {
		return
	}
	s := e.open
	s.written.WriteString(piece)
	if !s.opened {
		if piece = s.written.String(); codec.AreNone(piece) {
			return
		}
	}
	e.delta("arguments_delta")
	e.w.Str("arguments", piece)
	e.sendDelta()
}

func (e *streamEncoder) input(piece string) {
	if e.open.input == nil {
		e.open.input = &strings.Builder{}
	}
	e.open.input.WriteString(piece)
}
