package messages

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

type events = []*genwayv1.StreamGenerateTextResponse

// streamDecoder reads the events of one answer.
type streamDecoder struct {
	codec.Emitter
	// events are the events of the frame that is being read.
	events                 events
	started, stopped, done bool
	// completed says that the end of the answer has been read, watching that Watch has taken
	// the place of Decode.
	completed, watching bool
	// usage is what the events have reported, if reports says that any has.
	usage   wireUsage
	reports bool
	model   string // that message_start names
	// natives are the native fields of the started event.
	natives []*genwayv1.NativeField
	end     *genwayv1.TextCompleted
	open    *openBlock
	// called is the block of a call that has ended, while its part is open.
	called *openBlock
	// later are events of blocks that were opened while another was still open:
	// the vendor may interleave blocks, canonical parts do not.
	later []*streamEvent
	// pending is the seal that belongs to the next part.
	pending *genwayv1.Seal
	// last is the event that was read last.
	last streamEvent
	// losses are events and deltas of types that this version does not know.
	losses codec.Losses
}

// NewStreamDecoder reads one stream of /v1/messages.
func (Codec) NewStreamDecoder() codec.StreamDecoder {
	d := &streamDecoder{end: &genwayv1.TextCompleted{}}
	d.Emitter = codec.NewEmitter(0, &d.events)
	return d
}

// Decode reads one frame. Events and deltas of unknown types are lost.
func (d *streamDecoder) Decode(f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	data := bytes.TrimSpace(f.Data)
	if d.done || len(data) == 0 || string(data) == "[DONE]" {
		return nil, nil
	}
	e := &d.last
	*e = streamEvent{}
	if err := member.DecodeLoose(data, e, "usage"); err != nil {
		d.done = true
		return nil, fault.MalformedAnswer(err)
	}
	if e.Type == "" {
		e.Type = f.Event
	}
	d.events = nil
	if err := d.event(e, data); err != nil {
		d.done = true
		return nil, err
	}
	return d.events, nil
}

func (d *streamDecoder) emit(payload proto.Message) {
	d.events = append(d.events, codec.Event(payload))
}

func (d *streamDecoder) event(e *streamEvent, data []byte) error {
	switch e.Type {
	case "ping":
		d.emit(&genwayv1.Ping{})
	case "error":
		return Codec{}.DecodeError(0, data)
	case "message_start":
		return d.start(e)
	case "content_block_start", "content_block_delta", "content_block_stop":
		if !d.started {
			return disorder("a block before message_start")
		}
		return d.block(e)
	case "message_delta":
		return d.messageDelta(e)
	case "message_stop":
		return d.complete()
	default:
		d.losses.Add(e.Type, unknownType)
	}
	return nil
}

// unknownType is why an event is lost: the vendor adds types of events, which clients are
// to tolerate ("Other events" in its guide to streaming).
const unknownType = "this version does not know events of this type"

// Close ends the stream: one without message_stop is whole if it had a stop
// reason, and cut otherwise (case S5).
func (d *streamDecoder) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	switch {
	case d.done:
		return nil, nil
	case d.stopped && d.watching:
		return events{d.ended()}, nil
	case d.stopped:
		d.events = nil
		if err := d.complete(); err != nil {
			return nil, err
		}
		return d.events, nil
	}
	d.done = true
	return nil, fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before its answer was complete")
}

// Finished reports that the stop reason has been read, so that only message_stop can
// follow (case S3).
func (d *streamDecoder) Finished() bool { return d.stopped }

func (d *streamDecoder) start(e *streamEvent) error {
	if d.started {
		return nil
	}
	var m wireResponse
	if err := member.DecodeLoose(e.Message, &m, "usage"); err != nil {
		return err
	}
	d.started, d.model = true, m.Model
	d.report(m.Usage)
	resp := m.canonical()
	d.natives = resp.NativeFields
	d.emit(&genwayv1.TextStarted{
		Id: resp.Id, Model: resp.Model, Usage: resp.Usage, ServiceTier: resp.ServiceTier, NativeFields: resp.NativeFields,
	})
	// The vendor begins with an empty message. Of another one the vendor's SDK takes all.
	for i, raw := range m.Content {
		for _, kind := range []string{"content_block_start", "content_block_stop"} {
			if err := d.block(&streamEvent{Type: kind, Index: i, ContentBlock: raw}); err != nil {
				return err
			}
		}
	}
	if m.StopReason != "" {
		d.end.Candidates = []*genwayv1.CandidateEnd{decodeEnd(m.StopReason, m.StopSequence, m.StopDetails)}
	}
	return nil
}

// messageDelta takes over how the answer ended. Repeats replace (case T11).
func (d *streamDecoder) messageDelta(e *streamEvent) error {
	if !d.started {
		return disorder("message_delta before message_start")
	}
	d.report(e.Usage)
	if e.Delta.StopReason == "" && len(d.end.Candidates) > 0 && d.end.Candidates[0].NativeStopReason != "" {
		return nil
	}
	d.stopped = e.Delta.StopReason != ""
	d.end.Candidates = []*genwayv1.CandidateEnd{decodeEnd(e.Delta.StopReason, e.Delta.StopSequence, e.Delta.StopDetails)}
	fields := append(natives(e.Delta.Extra), natives(e.Extra)...)
	if edits := appliedEdits(e.ContextManagement); edits != nil {
		fields = append(fields, edits)
	}
	d.end.NativeFields = nil
	for _, f := range fields {
		if !bytes.Equal(native(d.natives, f.Name), f.Json) {
			d.end.NativeFields = append(d.end.NativeFields, f)
		}
	}
	return nil
}

// complete ends the answer. Usage is final only now (case U3).
func (d *streamDecoder) complete() error {
	if !d.started {
		return disorder("message_stop before message_start")
	}
	if len(d.end.Candidates) == 0 || d.end.Candidates[0].NativeStopReason == "" {
		return unfinished(d.Reported())
	}
	for d.open != nil {
		if err := d.block(&streamEvent{Type: "content_block_stop", Index: d.open.index}); err != nil {
			return err
		}
	}
	d.closeCall(codec.Cut(d.end.Candidates[0].StopReason))
	d.flush()
	d.events = append(d.events, d.ended())
	return nil
}

// ended is the completed event.
func (d *streamDecoder) ended() *genwayv1.StreamGenerateTextResponse {
	d.done, d.completed = true, true
	if d.end.Candidates == nil {
		d.end.Candidates = []*genwayv1.CandidateEnd{{}}
	}
	d.end.Losses = d.losses.List()
	d.end.Usage, d.end.ServiceTier = d.Reported(), d.usage.ServiceTier
	return codec.Event(d.end)
}

// report takes over usage that an event reports, if it does.
func (d *streamDecoder) report(u *wireUsage) {
	d.reports = d.reports || u != nil
	d.usage.merge(u)
}

// Reported is the usage so far; nil if no event has reported any.
func (d *streamDecoder) Reported() *genwayv1.Usage {
	if !d.reports {
		return nil
	}
	return d.usage.canonical(d.model)
}

func disorder(what string) *fault.Error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's stream is out of order: %s", what)
}

// openBlock is the block of a stream that is being decoded.
type openBlock struct {
	index int
	kind  string
	// id is the identifier of a tool_use.
	id string
	// part opens the part.
	part *genwayv1.Part
	// input are the arguments a tool_use began with, for want of deltas.
	input     string
	argued    bool
	signature strings.Builder
	// raw and the gathered members are a block that streams as a whole.
	raw    jsontext.Value
	pieces map[string]*strings.Builder
	set    []member.Member
}

// block applies an event of a block, now or when the block before it has closed.
func (d *streamDecoder) block(e *streamEvent) error {
	if d.open != nil && d.open.index != e.Index {
		kept := *e // which is used for the next event
		d.later = append(d.later, &kept)
		return nil
	}
	var err error
	switch e.Type {
	case "content_block_start":
		switch {
		case d.open == nil:
			err = d.openBlock(e)
		case d.open.follows(e.ContentBlock):
			if err = d.closeBlock(); err == nil {
				err = d.openBlock(e)
			}
		}
	case "content_block_delta":
		switch {
		case !knownDeltas[e.Delta.Type] && (d.open == nil || d.open.raw == nil):
			d.losses.Add(member.Join(member.Index("content", e.Index), e.Delta.Type), unknownType)
			return nil
		case d.open == nil:
			return disorder("a delta for no open block")
		}
		err = d.delta(&e.Delta)
	case "content_block_stop":
		if d.open != nil {
			err = d.closeBlock()
		}
	}
	if err != nil || d.open != nil {
		return err
	}
	waiting := d.later
	d.later = nil
	for _, e := range waiting {
		if err := d.block(e); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether a block that begins in the place of an open one is another one, and not
// the same once more (case T11).
func (b *openBlock) follows(raw jsontext.Value) bool {
	if memberText(raw, "type") != b.kind {
		return true
	}
	return b.kind == "tool_use" && codec.DecodeToolID(memberText(raw, "id")) != b.id
}

func (d *streamDecoder) openBlock(e *streamEvent) error {
	d.closeCall(false)
	kind := memberText(e.ContentBlock, "type")
	b := &openBlock{index: e.Index, kind: kind}
	d.open = b
	switch kind {
	case "text", "thinking", "tool_use":
		part, err := decodeBlock(kind, e.ContentBlock, member.Place{Path: "content_block"})
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		d.openPart(part)
		return nil
	case "":
		return disorder("a block without a type")
	}
	b.raw = bytes.Clone(e.ContentBlock)
	return nil
}

// openPart begins a part whose text, reasoning or arguments stream: what the block
// begins with comes as the first delta, and nothing is opened for an empty text
// (case T2).
func (d *streamDecoder) openPart(part *genwayv1.Part) {
	b := d.open
	b.part = part
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Text:
		text, cited := k.Text.Text, k.Text.Citations
		k.Text.Text, k.Text.Citations = "", nil
		d.text(text)
		for _, c := range cited {
			d.send(codec.CitationDelta(c))
		}
	case *genwayv1.Part_Thinking:
		text := k.Thinking.Text + strings.Join(k.Thinking.Summary, "")
		for _, seal := range []*genwayv1.Seal{k.Thinking.Signature, k.Thinking.EncryptedContent} {
			b.signature.WriteString(codec.SealText(seal, protocol, false))
		}
		part.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
		d.reasoning(text)
	default:
		b.id, b.input = part.GetToolCall().GetId(), part.GetToolCall().GetArgumentsJson()
		part.GetToolCall().Arguments = nil
		d.begin()
	}
}

// knownDeltas are the types of deltas that text, thinking and calls stream by.
var knownDeltas = map[string]bool{
	"text_delta": true, "citations_delta": true, "thinking_delta": true, "signature_delta": true, "input_json_delta": true,
}

func (d *streamDecoder) delta(delta *streamDelta) error {
	b := d.open
	switch {
	case b.raw != nil:
		b.gather(delta)
	case b.kind == "text" && delta.Type == "text_delta":
		d.text(delta.Text)
	case b.kind == "text" && delta.Type == "citations_delta":
		c, err := decodeCitation(delta.Citation, "citation")
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		d.send(codec.CitationDelta(c))
	case b.kind == "thinking" && delta.Type == "thinking_delta":
		d.reasoning(delta.Thinking)
	case b.kind == "thinking" && delta.Type == "signature_delta":
		b.signature.WriteString(delta.Signature)
	case b.kind == "tool_use" && delta.Type == "input_json_delta":
		d.arguments(delta.PartialJSON)
	default:
		return disorder("a " + delta.Type + " in a block of type " + b.kind)
	}
	return nil
}

func (d *streamDecoder) text(text string) {
	if text != "" {
		d.send(codec.TextDelta(text))
	}
}

func (d *streamDecoder) reasoning(text string) {
	if text != "" {
		d.send(codec.ThinkingDelta(text))
	}
}

func (d *streamDecoder) arguments(piece string) {
	if piece != "" {
		d.open.argued = true
		d.send(codec.ArgumentsDelta(piece))
	}
}

// send emits a delta of the open block's part, which it opens if that is still to come.
func (d *streamDecoder) send(delta *genwayv1.PartDelta) {
	d.begin()
	d.Add(delta)
}

func (d *streamDecoder) begin() {
	if d.IsOpen() {
		return
	}
	d.open.part.ThoughtSignature, d.pending = d.pending, nil
	d.Open(d.open.part)
}

func (d *streamDecoder) closeBlock() error {
	b := d.open
	if b.raw != nil {
		return d.closeWhole()
	}
	switch b.kind {
	case "thinking":
		if seal := codec.ParseSeal(b.signature.String(), protocol); seal.GetProtocol() == genwayv1.Protocol_PROTOCOL_RESPONSES {
			d.send(codec.EncryptedDelta(seal))
		} else if seal != nil {
			d.send(codec.SignatureDelta(seal))
		}
	case "tool_use":
		d.open, d.called = nil, b
		return nil
	}
	d.open = nil
	d.Complete()
	return nil
}

// closeCall closes the part of a call whose block has ended. It stays open until it is known whether the
// answer was cut there: a block without deltas then has no input yet, else the one that it began with.
func (d *streamDecoder) closeCall(cut bool) {
	b := d.called
	if b == nil {
		return
	}
	d.called = nil
	if !b.argued && b.input != "" && (!cut || !isEmptyObject(b.input)) {
		d.Add(codec.ArgumentsDelta(b.input))
	}
	d.Complete()
}

// isEmptyObject reports whether the input of a call has no members.
func isEmptyObject(input string) bool { return strings.Trim(input, "{ \t\r\n}") == "" }

// Blocks without a canonical part of their own (server tools, compactions, what
// is not known yet) become one opaque part when they close. Their deltas are
// written into the block's JSON, as the vendor's SDK accumulates them: pieces of
// known deltas are joined, members of others are set.
func (b *openBlock) gather(delta *streamDelta) {
	for _, piece := range []struct{ name, text string }{
		{"text", delta.Text}, {"thinking", delta.Thinking}, {"signature", delta.Signature}, {"input", delta.PartialJSON},
	} {
		if piece.text == "" {
			continue
		}
		if b.pieces == nil {
			b.pieces = map[string]*strings.Builder{}
		}
		if b.pieces[piece.name] == nil {
			b.pieces[piece.name] = &strings.Builder{}
		}
		b.pieces[piece.name].WriteString(piece.text)
	}
	for _, f := range natives(delta.Extra) {
		b.set = append(b.set, member.Member{Name: f.Name, Value: f.Json})
	}
}

// whole is the block's JSON with its deltas. An input that was cut short stays as
// text, in partial_json.
func (b *openBlock) whole() (jsontext.Value, error) {
	raw := []byte(b.raw)
	var err error
	for _, m := range b.set {
		if raw, err = member.Patch(raw, m); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"text", "thinking", "signature", "input"} {
		piece := b.pieces[name]
		if piece == nil {
			continue
		}
		m := member.Member{Name: name, Value: word(name, piece.String()).Json}
		if name == "input" && jsontext.Value(piece.String()).IsValid() {
			m.Value = jsontext.Value(piece.String())
		} else if name == "input" {
			m.Name = "partial_json"
		}
		if raw, err = member.Patch(raw, m); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// closeWhole emits a block that streams as a whole.
func (d *streamDecoder) closeWhole() error {
	b := d.open
	d.open = nil
	raw, err := b.whole()
	if err != nil {
		return fault.MalformedAnswer(err)
	}
	if seal, place := carried(b.kind, raw); seal != nil {
		d.flush()
		if place == carrierNext {
			d.pending = seal
			return nil
		}
		d.whole(sealedText(seal))
		return nil
	}
	part, err := decodeBlock(b.kind, raw, member.Place{Path: "content_block"})
	if err != nil {
		return fault.MalformedAnswer(err)
	}
	part.ThoughtSignature, d.pending = d.pending, nil
	d.whole(part)
	return nil
}

// flush emits a seal whose part never came.
func (d *streamDecoder) flush() {
	if d.pending != nil {
		part := sealedText(d.pending)
		d.pending = nil
		d.whole(part)
	}
}

func (d *streamDecoder) whole(part *genwayv1.Part) {
	d.Open(part)
	d.Complete()
}
