package responses

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
)

// NewStreamEncoder writes the events of one stream to a caller.
func (Codec) NewStreamEncoder(to codec.Answer) codec.StreamEncoder { return newStreamEncoder(to) }

func newStreamEncoder(to codec.Answer) *streamEncoder {
	return &streamEncoder{w: member.NewWriter(512), items: member.NewWriter(512), losses: to.Losses, request: to.Request, head: head{now: to.Now}, spaces: spacesOf(to.Tools()), summarizes: summarizes(to), compacts: compacting(to), resumed: to.Resumed, started: to.Resumed, passedThrough: to.Resumed}
}

// streamEncoder writes a stream in the vendor's order. An item ends when the next
// begins or the stream ends: only then is it known whether more content follows
// and whether the answer was cut.
type streamEncoder struct {
	losses *codec.Losses
	// request is what is answered; nil where it is not known.
	request *codec.Request
	spaces  spaces
	// summarizes says that the caller asked for a summary of the reasoning.
	summarizes bool
	// compacts says that the answer becomes one compaction item.
	compacts bool
	head     head
	usage    *genwayv1.Usage
	w        *member.Writer
	frames   []codec.Frame
	seq      int64
	started  bool
	// resumed is set for the stream of a stored response.
	resumed bool
	// passedThrough means that events of the upstream passed through, among them the last.
	passedThrough, done bool
	folder              codec.Accumulator
	item                *outputItem
	count               int
	// items are the finished ones, as they stand in the output.
	items *member.Writer
	part  *openPart
	// late is a call that has ended, lateCall the whole of it, while it is not known whether the answer was cut in it.
	late     *openPart
	lateCall *genwayv1.Part
	refused  bool
	chosen   codec.Chosen
}

// isEvent reports whether the data of a frame can be read by clients, as an event or as
// the mark by which streams of chat completions end. Noise on the connection cannot.
func isEvent(data []byte) bool {
	data = bytes.TrimSpace(data)
	return string(data) == "[DONE]" || len(data) > 0 && member.Valid(data)
}

// Encode returns the frames of one event.
func (e *streamEncoder) Encode(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error) {
	e.w.Reset()
	e.frames = e.frames[:0]
	if e.done && (!e.passedThrough || !isEvent(ev.GetWire().GetData())) {
		return nil, nil // but what an upstream says behind its end passes
	}
	if e.compacts && ev.GetWire() == nil {
		if taken, err := e.compact(ev); taken || err != nil {
			return e.frames, err
		}
	}
	fit.UnplacedInEvent(ev, protocol, e.losses)
	var err error
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Started:
		if e.started {
			e.startAgain(p.Started)
		} else {
			e.start(p.Started)
		}
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		if e.first(p.PartStarted.Candidate) {
			err = e.partStarted(p.PartStarted)
		}
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		if e.first(p.PartDelta.Candidate) {
			err = e.partDelta(ev)
		}
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		if e.first(p.PartCompleted.Candidate) {
			err = e.partCompleted(ev)
		}
	case *genwayv1.StreamGenerateTextResponse_Completed:
		err = e.complete(p.Completed)
	case *genwayv1.StreamGenerateTextResponse_Wire:
		e.pass(p.Wire)
	}
	return e.frames, err
}

// pass writes an upstream event as it is. It keeps the response's identifier of the
// first one, in case the stream fails.
func (e *streamEncoder) pass(f *genwayv1.WireFrame) {
	var ev wireEvent
	var w wireResponse
	if !e.started && json.Unmarshal(f.Data, &ev, member.Options()) == nil && json.Unmarshal(ev.Response, &w, member.Options()) == nil {
		e.head.model, e.head.created, e.head.tier = w.Model, w.created().GetSeconds(), w.ServiceTier
	}
	if !e.started {
		e.head.id = responseID(w.ID)
	}
	e.passedThrough, e.started = true, true
	if e.resumed {
		_ = json.Unmarshal(member.Value(f.Data, "sequence_number"), &e.seq) // the core has written it
	}
	e.seq++
	e.frames = append(e.frames, codec.Frame{Event: f.Event, Data: f.Data})
}

// CountBatch implements codec.BatchCounter.
func (e *streamEncoder) CountBatch(events int) { e.seq += int64(events) }

// first reports whether the candidate is the one this protocol has.
func (e *streamEncoder) first(candidate int32) bool {
	if e.chosen.Is(candidate) {
		return true
	}
	e.losses.Add(member.Index("candidates", int(candidate)), "the target protocol has one answer")
	return false
}

// begin starts a frame; its members follow, and send ends it.
func (e *streamEncoder) begin(event string) {
	e.w.Next()
	e.w.Begin()
	e.w.Str("type", event)
	e.w.Int("sequence_number", e.seq)
	e.seq++
}

func (e *streamEncoder) send(event string) {
	e.w.End()
	e.frames = append(e.frames, codec.Frame{Event: event, Data: e.w.Text()})
}

func (e *streamEncoder) start(s *genwayv1.TextStarted) {
	if e.started {
		return
	}
	e.started = true
	e.folder.Start(s)
	e.head.echo = echo(e.request, s.Stored)
	e.head.id, e.head.model, e.head.created = responseID(s.Id), s.Model, s.CreateTime.GetSeconds()
	e.head.tier, e.head.natives = s.ServiceTier, s.NativeFields
	e.usage = s.Usage
	e.whole(eventCreated, ending{status: statusInProgress}, nil, nil)
	e.whole(eventInProgress, ending{status: statusInProgress}, nil, nil)
}

// startAgain takes what an upstream says at the start of a response that had begun before it was asked.
func (e *streamEncoder) startAgain(s *genwayv1.TextStarted) {
	e.head.model, e.head.tier, e.head.natives = s.Model, s.ServiceTier, s.NativeFields
	if s.Usage != nil {
		e.usage = s.Usage
	}
}

// whole writes an event with the response as it is.
func (e *streamEncoder) whole(event string, end ending, usage *genwayv1.Usage, losses *codec.Losses) {
	e.begin(event)
	e.w.Key("response")
	e.head.begin(e.w, end)
	e.w.Value(e.items.Text())
	e.head.end(e.w, usage, losses)
	e.send(event)
}

// complete ends the stream. What the whole response says is what the unary body
// would.
func (e *streamEncoder) complete(c *genwayv1.TextCompleted) error {
	e.done = true
	if e.passedThrough {
		return nil
	}
	e.start(&genwayv1.TextStarted{})
	end, cut := ending{status: statusCompleted}, false
	for _, candidate := range c.Candidates {
		if e.first(candidate.Index) {
			cut = codec.Cut(candidate.StopReason)
			end = encodeStop(candidate.StopReason, candidate.NativeStopReason, candidate.NativeFields, e.refused)
			loseEnd(candidate.StopSequence != nil, candidate.StopMessage, candidate.NativeFields, e.losses)
		}
	}
	if err := e.closeLate(cut); err != nil {
		return err
	}
	if err := e.closeItem(itemStatus(end)); err != nil {
		return err
	}
	if c.PromptFeedback != nil {
		end = ending{status: statusIncomplete, reason: reasonContentFilter}
	}
	if c.ServiceTier != "" {
		e.head.tier = c.ServiceTier
	}
	e.head.natives, e.head.ended = append(e.head.natives, c.NativeFields...), c.CompleteTime
	if c.Usage != nil {
		e.usage = c.Usage
	}
	event := eventIncomplete
	if end.status == statusCompleted {
		event = eventCompleted
	}
	e.whole(event, end, e.usage, e.losses)
	return nil
}
