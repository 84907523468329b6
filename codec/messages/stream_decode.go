package messages

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

type events = []*genwayv1.StreamGenerateTextResponse

// streamDecoder reads the events of one answer.
type streamDecoder struct {
	codec.Emitter
	// events are those of the frame that is being read.
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
