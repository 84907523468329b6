package interactions

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

type events = []*genwayv1.StreamGenerateTextResponse

// sentinel is the data of the event that ends a stream after its answer.
const sentinel = "[DONE]"

// streamDecoder reads the events of one answer.
type streamDecoder struct {
	codec.Emitter
	// events are the events of the frame that is being read.
	events        events
	started, done bool
	// completed reports that the end of the answer has been read, stepped that it has had a step.
	completed, stepped bool
	// end is that end until the sentinel, or the stream's end. A frame that passes precedes it.
	end *genwayv1.TextCompleted
	// usage is the last that an event has reported.
	usage *usage
	head  interaction // of interaction.created
	open  *openStep
	// called is the step of a call that has ended, while its part is open.
	called *openStep
	// later holds the events of steps that begin while another is open. Steps may interleave, since each event has the
	// index of its step; canonical parts follow one another.
	later []*event
	calls bool
	// last is the event that was read last.
	last event
	// losses are events and deltas of types that this version does not know.
	losses codec.Losses
}

// openStep is the step of a stream that is being decoded.
type openStep struct {
	index int
	kind  string
	// part is the part that is open.
	part *genwayv1.Part
	// said is the text of the open part, for the offsets of its citations.
	said strings.Builder
	// arguments are those that a call began with, for want of deltas.
	arguments string
	argued    bool
	signature string
	// raw is a step that streams as a whole.
	raw jsontext.Value
	// natives are members of a model_output, which belong to its first part.
	natives []*genwayv1.NativeField
}

// NewStreamDecoder reads one stream.
func (Codec) NewStreamDecoder() codec.StreamDecoder {
	d := &streamDecoder{}
	d.Emitter = codec.NewEmitter(0, &d.events)
	return d
}

// Decode reads one frame. Events and deltas of unknown types are lost.
func (d *streamDecoder) Decode(f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	data := bytes.TrimSpace(f.Data)
	switch {
	case string(data) == sentinel:
		return d.finish(), nil
	case d.done, len(data) == 0:
		return nil, nil
	}
	e := &d.last
	*e = event{}
	if err := member.DecodeLoose(data, e, "usage"); err != nil {
		d.done = true
		return nil, fault.MalformedAnswer(err)
	}
	if d.completed {
		return nil, nil
	}
	if e.EventType == "" {
		e.EventType = f.Event
	}
	d.events = nil
	if isError(e.EventType, e.Error) {
		d.done = true
		return nil, Codec{}.DecodeError(0, data)
	}
	if err := d.event(e); err != nil {
		d.done = true
		return nil, err
	}
	return d.events, nil
}

func (d *streamDecoder) emit(payload proto.Message) {
	d.events = append(d.events, codec.Event(payload))
}

func (d *streamDecoder) event(e *event) error {
	switch e.EventType {
	case "interaction.created":
		return d.start(e.Interaction)
	case "interaction.status_update":
		d.report(e.Usage)
	case "step.start", "step.delta", "step.stop":
		if !d.started {
			return disorder("a step before interaction.created")
		}
		return d.step(e)
	case "interaction.completed":
		return d.complete(e.Interaction)
	default:
		d.losses.Add(e.EventType, unknownType)
	}
	return nil
}

// The members of an event with its type, and with its number in a stream that may be resumed.
const (
	eventType = "event_type"
	eventID   = "event_id"
)

// isError reports whether an event is an error: by its type, or as one in the place of an answer, which has no type.
func isError(kind string, err jsontext.Value) bool {
	return kind == "error" || kind == "" && present(err)
}

// unknownType is why an event is lost.
const unknownType = "this version does not know events of this type"

// Close ends the stream, which is cut without interaction.completed.
func (d *streamDecoder) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if ended := d.finish(); ended != nil || d.done {
		return ended, nil
	}
	d.done = true
	return nil, fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before its answer was complete")
}

// finish returns the end of the answer, if it has been read and was not returned.
func (d *streamDecoder) finish() events {
	if d.end == nil {
		return nil
	}
	d.events = nil
	d.closeCall(codec.Cut(d.end.Candidates[0].StopReason))
	d.emit(d.end)
	d.end, d.done = nil, true
	return d.events
}

// Finished reports that the answer has ended, so that only the sentinel can follow.
func (d *streamDecoder) Finished() bool { return d.completed }

// Reported is the usage so far; nil if no event has reported any.
func (d *streamDecoder) Reported() *genwayv1.Usage { return d.usage.canonical() }

func (d *streamDecoder) start(raw jsontext.Value) error {
	if d.started {
		return nil
	}
	if err := member.DecodeLoose(raw, &d.head, "usage", "errors"); err != nil {
		return fault.MalformedAnswer(err)
	}
	d.started = true
	d.report(d.head.Usage)
	resp := d.head.canonical()
	d.emit(&genwayv1.TextStarted{Id: resp.Id, Model: resp.Model, CreateTime: resp.CreateTime, Usage: resp.Usage, ServiceTier: resp.ServiceTier, NativeFields: resp.NativeFields})
	return nil
}

// report takes over usage that an event reports, if it does.
func (d *streamDecoder) report(u *usage) {
	if u != nil {
		d.usage = u
	}
}

// complete ends the answer.
func (d *streamDecoder) complete(raw jsontext.Value) error {
	if !d.started {
		if err := d.start(raw); err != nil {
			return err
		}
	}
	var w interaction
	if err := member.DecodeLoose(raw, &w, "usage", "errors"); err != nil {
		return fault.MalformedAnswer(err)
	}
	d.report(w.Usage)
	w.Usage = d.usage
	if err := w.failure(); err != nil {
		return err
	}
	for d.open != nil {
		if err := d.step(&event{EventType: "step.stop", Index: d.open.index}); err != nil {
			return err
		}
	}
	if !d.stepped { // an answer whose steps come with its end
		parts, err := decodeAnswer(w.Steps)
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		for _, p := range parts {
			d.whole(p)
		}
	}
	end := w.end(nil)
	if d.calls && end.StopReason == genwayv1.StopReason_STOP_REASON_END_TURN {
		end.StopReason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	resp := w.canonical()
	completed := &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{end}, Usage: resp.Usage, ServiceTier: resp.ServiceTier, CompleteTime: resp.CompleteTime, Losses: d.losses.List()}
	for _, f := range resp.NativeFields {
		if !bytes.Equal(member.Value(d.head.Extra, f.Name), f.Json) {
			completed.NativeFields = append(completed.NativeFields, f)
		}
	}
	d.completed, d.end = true, completed
	return nil
}

func disorder(what string) *fault.Error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's stream is out of order: %s", what)
}

// maxLater bounds the events that wait for the end of a step.
const maxLater = 100_000

// step applies an event of a step, now or when the step before it has ended.
func (d *streamDecoder) step(e *event) error {
	if d.open != nil && d.open.index != e.Index {
		if len(d.later) == maxLater {
			return disorder("a step does not end")
		}
		kept := *e // which is used for the next event
		d.later = append(d.later, &kept)
		return nil
	}
	var err error
	switch e.EventType {
	case "step.start":
		if d.open == nil {
			err = d.openStep(e)
		}
	case "step.delta":
		if d.open == nil {
			return disorder("a delta for no open step")
		}
		err = d.delta(e.Delta)
	case "step.stop":
		if d.open != nil {
			d.closeStep()
		}
	}
	if err != nil || d.open != nil {
		return err
	}
	waiting := d.later
	d.later = nil
	for _, e := range waiting {
		if err := d.step(e); err != nil {
			return err
		}
	}
	return nil
}

// at is the place of what belongs to the open step.
func (d *streamDecoder) at() member.Place {
	return member.Place{Path: "steps", Element: d.open.index + 1}
}

func (d *streamDecoder) openStep(e *event) error {
	d.closeCall(false)
	s := &openStep{index: e.Index, kind: text(e.Step, "type")}
	d.open, d.stepped = s, true
	switch s.kind {
	case "":
		return disorder("a step without a type")
	case modelOutput:
		parts, err := decodeOutput(e.Step, d.at())
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		d.begin(parts)
	case thought:
		p, err := decodeThought(e.Step, d.at())
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		s.signature = text(e.Step, "signature")
		if s.part = (&genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}, NativeFields: p.GetNativeFields()}); p != nil {
			d.think(codec.ThinkingText(p.GetThinking()))
		}
	case functionCall:
		p, err := decodeCall(e.Step, d.at())
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		s.part, s.arguments, d.calls = p, p.GetToolCall().GetArgumentsJson(), true
		p.GetToolCall().Arguments = nil
		d.Open(p)
	default:
		s.raw = bytes.Clone(e.Step)
	}
	return nil
}

// begin sends the parts that a model_output begins with: the last one may have more text to come.
func (d *streamDecoder) begin(parts []*genwayv1.Part) {
	for _, p := range parts {
		t := p.GetText()
		if t == nil {
			d.media(p)
			continue
		}
		said, cited := t.GetText(), t.GetCitations()
		t.Text, t.Citations = "", nil
		d.open.part, d.open.natives = nil, p.NativeFields
		d.text(said)
		for _, c := range cited {
			d.cite(c)
		}
	}
}

// text adds to the open text, which it opens if that is still to come: nothing is opened for an empty text (case T2).
func (d *streamDecoder) text(said string) {
	s := d.open
	if said == "" {
		return
	}
	if s.part.GetText() == nil {
		s.part = codec.TextPart("")
		s.part.NativeFields, s.natives = s.natives, nil
		s.said.Reset()
		d.Open(s.part)
	}
	s.said.WriteString(said)
	d.Add(codec.TextDelta(said))
}

func (d *streamDecoder) cite(c *genwayv1.Citation) {
	if d.open.part.GetText() == nil {
		d.losses.Add(d.at().Join("content"), "a citation of no text")
		return
	}
	d.Add(codec.CitationDelta(c))
}

func (d *streamDecoder) think(said string) {
	if said == "" {
		return
	}
	if !d.IsOpen() {
		d.Open(d.open.part)
	}
	d.Add(codec.ThinkingDelta(said))
}

// media sends a whole part of a model_output, or more of the sound before it.
func (d *streamDecoder) media(p *genwayv1.Part) {
	s := d.open
	if d.IsOpen() && google.Continues(s.part, p) {
		d.Add(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Data{Data: p.GetAudio().GetData()}})
		return
	}
	if !says(p) {
		return
	}
	s.part = p
	d.Open(p)
}

func (d *streamDecoder) whole(p *genwayv1.Part) {
	d.Open(p)
	d.Complete()
}

func (d *streamDecoder) delta(raw jsontext.Value) error {
	s := d.open
	if raw.Kind() != '{' {
		return disorder("a delta that is no object")
	}
	if s.raw != nil {
		return s.gather(raw)
	}
	var w delta
	if err := member.DecodeAt(raw, &w, d.at()); err != nil {
		return fault.MalformedAnswer(err)
	}
	switch {
	case s.kind == modelOutput && w.Type == "text":
		d.text(w.Text)
	case s.kind == modelOutput && (w.Type == "text_annotation_delta" || w.Type == "text_annotation"):
		cited, err := citations(w.Annotations, s.said.String(), d.at())
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		for _, c := range cited {
			d.cite(c)
		}
	case s.kind == modelOutput && (w.Type == "image" || w.Type == "audio" || w.Type == "video" || w.Type == "document"):
		p, err := decodeContent(w.Type, raw, d.at(), "")
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		d.media(p)
	case s.kind == thought && w.Type == "thought_summary":
		if text(w.Content, "type") == "text" {
			d.think(text(w.Content, "text"))
		} else if present(w.Content) {
			if !d.IsOpen() {
				d.Open(s.part)
			}
			d.Add(codec.NativeDelta(native(pieceMember, w.Content)))
		}
	case s.kind == thought && w.Type == "thought_signature":
		s.signature = w.Signature
	case s.kind == functionCall && w.Type == "arguments_delta":
		if piece := member.Raw(w.Arguments).String(); piece != "" {
			s.argued = true
			d.Add(codec.ArgumentsDelta(piece))
		}
		if w.Signature != "" {
			d.Add(codec.ThoughtSignatureDelta(codec.ParseSeal(w.Signature, protocol)))
		}
	default:
		d.losses.Add(member.Join(d.at().String(), w.Type), unknownType)
	}
	return nil
}

// gather sets the members of a delta in a step that streams as a whole.
func (s *openStep) gather(raw jsontext.Value) error {
	for _, f := range member.Natives(protocol, raw, nil) {
		if f.Name == "type" {
			continue
		}
		patched, err := member.Patch(s.raw, member.Member{Name: f.Name, Value: f.Json})
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		s.raw = patched
	}
	return nil
}

func (d *streamDecoder) closeStep() {
	s := d.open
	switch s.kind {
	case modelOutput:
		d.Complete()
	case thought:
		t := sealed("", s.signature)
		if t == nil && len(s.part.GetNativeFields()) == 0 && !d.IsOpen() {
			break
		}
		silent := !d.IsOpen()
		if silent {
			d.Open(s.part)
		}
		switch {
		case t == nil:
		case t.GetSignature() != nil || !silent && t.GetEncryptedContent().GetProtocol() != genwayv1.Protocol_PROTOCOL_RESPONSES:
			d.Add(codec.SignatureDelta(codec.ParseSeal(s.signature, protocol)))
		default:
			d.Add(codec.EncryptedDelta(t.GetEncryptedContent()))
		}
		d.Complete()
	case functionCall:
		d.open, d.called = nil, s
		return
	default:
		if s.kind != userInput {
			d.whole(opaque(s.kind, s.raw))
		}
	}
	d.open = nil
}

// closeCall closes the part of a call whose step has ended. It stays open until it is known whether the
// answer was cut there: a call without deltas then has no arguments yet, else those that it began with.
func (d *streamDecoder) closeCall(cut bool) {
	s := d.called
	if s == nil {
		return
	}
	d.called = nil
	if !s.argued && (!cut || !isEmptyObject(s.arguments)) {
		d.Add(codec.ArgumentsDelta(s.arguments))
	}
	d.Complete()
}

// isEmptyObject reports whether the arguments of a call have no members.
func isEmptyObject(arguments string) bool { return strings.Trim(arguments, "{ \t\r\n}") == "" }
