package responses

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// NewStreamDecoder reads the events of one upstream stream.
func (Codec) NewStreamDecoder() codec.StreamDecoder {
	d := &streamDecoder{}
	d.Emitter = codec.NewEmitter(0, &d.events)
	return d
}

// streamDecoder returns the canonical events of a stream. The vendor's items come
// one after the other; events of an item that begins before the last has ended
// wait for their turn, as canonical parts do not overlap.
type streamDecoder struct {
	codec.Emitter
	started, done, called bool
	// completed says that the terminal event of the answer has been read.
	completed bool
	// item is the one that is open, waiting what came for later ones.
	item     *streamedItem
	waiting  []*wireEvent
	finished map[int]finishedItem
	// thought is the signature of the next part.
	thought *genwayv1.Seal
	// part is open; its item may be over, but a thought signature may yet follow. parts are all
	// that have begun, few their memory while they are few.
	part  *streamedPart
	parts []*streamedPart
	few   [4]*streamedPart
	// losses are the losses of parts that end in another way than they were streamed.
	losses codec.Losses
	// last is the event that was read last.
	last   wireEvent
	events []*genwayv1.StreamGenerateTextResponse
}

// Decode returns the events of one frame.
func (d *streamDecoder) Decode(f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	data := bytes.TrimSpace(f.Data)
	if d.done || len(data) == 0 || string(data) == "[DONE]" {
		return nil, nil
	}
	d.events = nil
	ev := &d.last
	*ev = wireEvent{}
	if err := member.DecodeAnswer(data, ev); err != nil {
		d.done = true
		return nil, err
	}
	if ev.Type == "" {
		ev.Type = f.Event
	}
	err := d.event(ev, data)
	if err != nil {
		d.done = true
	}
	return d.events, err
}

// Close returns a fault unless the stream had its terminal event.
func (d *streamDecoder) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if d.done {
		return nil, nil
	}
	d.done = true
	return nil, fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before its answer was complete")
}

func (d *streamDecoder) event(ev *wireEvent, data []byte) error {
	switch ev.Type {
	case eventCreated, eventQueued, eventInProgress:
		var w wireResponse
		if err := d.response(ev, &w); err != nil {
			return err
		}
		d.start(&w)
		return nil
	case eventCompleted, eventIncomplete:
		return d.complete(ev, data)
	case eventFailed:
		var w wireResponse
		if err := d.response(ev, &w); err != nil {
			return err
		}
		return failure(w.Error, data)
	case eventError:
		if ev.Error.Kind() == '{' {
			return failure(ev.Error, data)
		}
		return failure(data, data)
	case "":
		if given(ev.Error) {
			return openai.Decode(0, data, protocol) // a body where events are expected
		}
	case eventItemAdded, eventItemDone, eventPartDone, eventTextDelta, eventAnnotation, eventRefusalDelta,
		eventSummaryDelta, eventThinkingDelta, eventArgsDelta, eventInputDelta,
		eventTextDone, eventRefusalDone, eventSummaryText, eventSummaryDone, eventThinkingDone, eventArgsDone, eventInputDone:
		return d.ofItem(ev)
	case eventPreview:
		return d.preview(data)
	}
	return nil
}

func (d *streamDecoder) response(ev *wireEvent, w *wireResponse) error {
	if ev.Response.Kind() != '{' {
		return fault.MalformedAnswer(nil)
	}
	return member.DecodeLoose(ev.Response, w, "usage", "created_at")
}

// start opens the stream. Native fields wait for the end, where they are final.
func (d *streamDecoder) start(w *wireResponse) {
	if d.started {
		return
	}
	d.started = true
	d.emit(&genwayv1.TextStarted{Id: w.ID, Model: w.Model, CreateTime: w.created(), ServiceTier: w.ServiceTier})
}

// clone is an event that outlives its frame.
func (e *wireEvent) clone() *wireEvent {
	c := *e
	for _, borrowed := range []*jsontext.Value{&c.Delta, &c.Text, &c.Refusal, &c.Arguments, &c.Input} {
		*borrowed = bytes.Clone(*borrowed)
	}
	return &c
}

func (d *streamDecoder) over(index int) bool {
	_, over := d.finished[index]
	return over
}

// ofItem handles an event of an item, or puts it off until the open one is over.
func (d *streamDecoder) ofItem(ev *wireEvent) error {
	d.start(&wireResponse{})
	switch {
	case d.over(ev.OutputIndex):
		return nil
	case d.item != nil && d.item.index != ev.OutputIndex:
		d.waiting = append(d.waiting, ev.clone())
		return nil
	}
	if err := d.itemEvent(ev); err != nil {
		return badAnswer(err)
	}
	if d.item != nil || len(d.waiting) == 0 {
		return nil
	}
	waiting := d.waiting
	d.waiting = nil
	for _, ev := range waiting {
		if err := d.ofItem(ev); err != nil {
			return err
		}
	}
	return nil
}

// complete ends the stream. The response of the terminal event has what the upstream
// has not sent in events of its own.
func (d *streamDecoder) complete(ev *wireEvent, data []byte) error {
	var w wireResponse
	if err := d.response(ev, &w); err != nil {
		return err
	}
	if w.failed() {
		return failure(w.Error, data)
	}
	if unfinished[w.Status] {
		return w.unfinished(ev.Response)
	}
	if w.empty() && d.item == nil && len(d.finished) == 0 {
		return noOutput()
	}
	d.start(&w)
	for d.item != nil {
		if err := d.ofItem(&wireEvent{Type: eventItemDone, OutputIndex: d.item.index}); err != nil {
			return err
		}
	}
	if err := d.outputs(w.Output); err != nil {
		return err
	}
	d.end(&w, ev.Type, ev.Response)
	return nil
}

// end closes the last part and adds the completed event of the response that body is.
func (d *streamDecoder) end(w *wireResponse, kind string, body []byte) {
	status := w.Status
	if status == "" && kind == eventIncomplete {
		status = statusIncomplete
	}
	end := &genwayv1.CandidateEnd{}
	end.StopReason, end.NativeStopReason, end.NativeFields = decodeStop(status, w.reason(), d.called)
	d.closePart(codec.Cut(end.StopReason))
	d.emit(&genwayv1.TextCompleted{
		Candidates: []*genwayv1.CandidateEnd{end}, Usage: w.usage(body),
		ServiceTier: w.ServiceTier, NativeFields: w.natives(), Losses: d.losses.List(),
	})
	d.done, d.completed = true, true
}

func unquote(raw jsontext.Value) string { return member.Raw(raw).String() }
