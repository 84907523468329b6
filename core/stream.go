package core

import (
	"cmp"
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/limit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// StreamGenerateText returns the answer as events, and an error when the upstream
// ends without the completed one.
func (s *Service) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	ctx := stream.Context()
	ctx, record := begin(ctx, "StreamGenerateText", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkText(req); err != nil {
		return err
	}
	if isBackground(req) {
		return s.streamQueued(ctx, record, req, stream.Send)
	}
	c, err := s.continued(ctx, record, req)
	if err != nil {
		return err
	}
	record.Deferred = c.asked.Deferred()
	err = s.account(ctx, record, textRequest{c.req}, func(ctx context.Context, held *admission) error {
		return s.streamText(ctx, held, c, stream)
	})
	record.BodyUnreferenced = unreferenced(c.asked)
	return err
}

func (s *Service) streamText(ctx context.Context, held *admission, c conversation, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	out := newGatherer(c.asked.Head(), held.record, stream)
	req, err := s.resolved(ctx, held.record.Caller, c.req)
	if err != nil {
		return err
	}
	c.resolved(req)
	if req, err = c.withoutWire(req); err != nil {
		return err
	}
	completed, passes := false, false // passes: the upstream's own frames pass through
	record, kept := held.record, s.keeper(held, c)
	made := kept // of the upstream's own response
	answer := tail[genwayv1.StreamGenerateTextResponse]{admission: held, send: stream.Send}
	if out != nil {
		answer.send = out.send
	}
	err = s.config.Upstream.StreamGenerateText(ctx, req, func(ev *genwayv1.StreamGenerateTextResponse) error {
		last := false
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_Ping: // another goroutine may send it, ahead of the answer
			return answer.add(ctx, ev, record.Ending, false)
		case *genwayv1.StreamGenerateTextResponse_Started:
			s.name(p.Started, req.Head().GetModel())
			kept.started(p.Started)
			begun(record)
			answered(record, p.Started.GetModel(), p.Started.GetUsage())
			lost(record, p.Started.GetLosses())
			if !plausible(p.Started.GetUsage()) {
				p.Started.Usage = nil
			}
		case *genwayv1.StreamGenerateTextResponse_Wire:
			begun(record)
			passes, kept = true, nil // the response is the upstream's own
			held.passed(p.Wire)
		case *genwayv1.StreamGenerateTextResponse_PartStarted:
			held.flowed(wordsOf(p.PartStarted.GetPart()))
		case *genwayv1.StreamGenerateTextResponse_PartDelta:
			held.flowed(codec.DeltaText(p.PartDelta))
		case *genwayv1.StreamGenerateTextResponse_Completed:
			if completed {
				return nil
			}
			completed, last = true, true
			if passes {
				made.made(record.RawID)
			}
			answered(record, "", p.Completed.GetUsage())
			lost(record, p.Completed.GetLosses())
			held.complete = true
			if kept != nil {
				p.Completed.CompleteTime, p.Completed.Usage = timestamppb.New(s.config.Clock()), codec.ShownUsage(p.Completed.GetUsage())
			}
			if !plausible(p.Completed.GetUsage()) {
				p.Completed.Usage = nil
				if !passes { // a caller of the upstream's protocol has the figures in its frames
					p.Completed.Losses = append(p.Completed.GetLosses(), implausible())
				}
			}
		}
		if kept != nil {
			kept = kept.add(ev, last)
		}
		if c := record.Capture; c != nil && !passes {
			c.Message(capture.ContractAnswer, "", ev)
		}
		return answer.add(ctx, ev, record.Ending, last)
	})
	if err == nil && !completed {
		err = fault.StreamCut()
	}
	err = c.refused(err)
	answer.end(ctx, err)
	out.flush() // sends the events that came before a failure
	return err
}

func (s *Service) name(started *genwayv1.TextStarted, model string) {
	if started.Id == "" {
		started.Id = s.config.NewID("gen_")
	}
	if started.CreateTime == nil {
		started.CreateTime = timestamppb.New(s.config.Clock())
	}
	started.Model = cmp.Or(started.Model, model)
}

// StreamGenerateImage returns the images as events, and an error when the upstream ends
// without the completed one.
func (s *Service) StreamGenerateImage(req *genwayv1.GenerateImageRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateImageResponse]) error {
	ctx := stream.Context()
	ctx, record := begin(ctx, "StreamGenerateImage", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkImage(req); err != nil {
		return err
	}
	return s.account(ctx, record, imageRequest{req}, func(ctx context.Context, held *admission) error {
		return s.streamImage(ctx, held, req, stream)
	})
}

func (s *Service) streamImage(ctx context.Context, held *admission, req *genwayv1.GenerateImageRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateImageResponse]) error {
	completed, passes := false, false // passes: the upstream's own frames pass through
	record := held.record
	answered(record, req.GetModel(), nil)
	answer := tail[genwayv1.StreamGenerateImageResponse]{admission: held, send: stream.Send}
	wanted, made := int(max(req.GetCount(), 1)), 0
	err := s.config.Upstream.StreamGenerateImage(ctx, req, func(ev *genwayv1.StreamGenerateImageResponse) error {
		ends, completes := false, false
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateImageResponse_Started:
			if p.Started.CreateTime == nil {
				p.Started.CreateTime = timestamppb.New(s.config.Clock())
			}
		case *genwayv1.StreamGenerateImageResponse_Wire:
			begun(record)
			passes = true
		case *genwayv1.StreamGenerateImageResponse_Ping:
			return answer.add(ctx, ev, record.Ending, false)
		case *genwayv1.StreamGenerateImageResponse_PartialImage:
			begun(record)
			p.PartialImage.CreateTime = cmp.Or(p.PartialImage.CreateTime, timestamppb.New(s.config.Clock()))
		case *genwayv1.StreamGenerateImageResponse_Image:
			begun(record)
			p.Image.CreateTime = cmp.Or(p.Image.CreateTime, timestamppb.New(s.config.Clock()))
			// A stream that is cut has given the images until then.
			made++ // several may be drawn at once, so that the index does not say it
			held.drawn = drawnOf(req, made, p.Image.GetImage().GetSize(), p.Image.GetQuality())
			ends = made >= wanted
		case *genwayv1.StreamGenerateImageResponse_Completed:
			if completed {
				return nil
			}
			completed, completes, held.complete = true, true, true
			answered(record, "", p.Completed.GetUsage())
			if !plausible(p.Completed.GetUsage()) {
				p.Completed.Usage = nil
			}
			held.drawn = drawnOf(req, int(p.Completed.GetCount()), p.Completed.GetSize(), p.Completed.GetQuality())
		}
		if c := record.Capture; c != nil && !passes {
			c.Message(capture.ContractAnswer, "", ev)
		}
		return answer.add(ctx, ev, record.Ending || ends, completes)
	})
	if err == nil && !completed {
		err = fault.StreamCut()
	}
	answer.end(ctx, err)
	return err
}

// tail sends the events of a stream. It holds the end of the answer back until the request is concluded:
// a caller that has seen the end finds the request in the ledger, whatever happens to this process.
type tail[E any] struct {
	*admission

	send func(*E) error
	// held is the end so far, and seen the flow by then.
	held []*E
	seen int
	// left means that an event could not be sent.
	left bool
}

// add sends an event. ends means that it belongs to the end of the answer, as far as is known, completes
// that it is the last.
func (t *tail[E]) add(ctx context.Context, ev *E, ends, completes bool) error {
	ends = ends || completes
	if !ends || t.flow > t.seen { // the answer goes on after what was held
		if err := t.flush(); err != nil {
			return err
		}
	}
	if !ends {
		err := t.send(ev)
		t.left = t.left || err != nil
		return err
	}
	if t.held, t.seen = append(t.held, ev), t.flow; !completes {
		return nil
	}
	if !t.left && ctx.Err() == nil { // else it is not known yet whether the answer is read to its end
		t.conclude(ctx, nil)
	}
	t.service.tellCost(t.record, ev)
	return t.flush()
}

// end sends the beginning of an end that has not come. err is what became of the request.
func (t *tail[E]) end(ctx context.Context, err error) {
	if len(t.held) > 0 {
		t.conclude(ctx, err)
		_ = t.flush() // the request has failed already
	}
}

func (t *tail[E]) flush() error {
	held := t.held
	t.held = nil
	for _, ev := range held {
		if err := t.send(ev); err != nil {
			t.left = true
			return err
		}
	}
	return nil
}

// gatherer sends the events of a stream to an edge that takes batches. Events that are ready together
// go as one message, since a message costs more than an event: events wait until the adapter of the
// upstream is about to wait (call.Record.Flush). An adapter that does not say when it waits has each
// event sent at once. It is for one goroutine at a time.
type gatherer struct {
	stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]
	record *call.Record
	events []*genwayv1.StreamGenerateTextResponse
	err    error
}

// newGatherer makes the gatherer of a call, which the record flushes; nil for a caller that takes no
// batches.
func newGatherer(req *genwayv1.GenerateTextRequest, record *call.Record, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) *gatherer {
	if !req.GetWire().GetExtension().GetAcceptsTranslatedBatches() {
		return nil
	}
	g := &gatherer{stream: stream, record: record}
	record.OnFlush = g.flush
	return g
}

// send sends an event, or has it wait. An event that could not be sent later is an error of the next
// one. None waits behind the completed event, so that its error is its own.
func (g *gatherer) send(ev *genwayv1.StreamGenerateTextResponse) error {
	g.events = append(g.events, ev)
	if !g.record.Gathers || len(g.events) == transport.MaxBatch || ev.GetCompleted() != nil {
		g.flush()
	}
	return g.err
}

// flush sends the events that wait. Of a nil gatherer none do.
func (g *gatherer) flush() {
	if g == nil {
		return
	}
	for left := g.events; len(left) > 0 && g.err == nil; {
		message, n, err := transport.Batch(left)
		if err == nil {
			err = g.stream.Send(message)
		}
		left, g.err = left[n:], err
	}
	clear(g.events)
	g.events = g.events[:0]
}

// flowed counts text on its way to the caller.
func (a *admission) flowed(text string) {
	if text != "" {
		a.sample.add(text)
		a.flow += len(text)
		a.extend()
	}
}

// passed counts the output in a frame that passes through.
func (a *admission) passed(frame *genwayv1.WireFrame) {
	flow := frameFlow(frame)
	a.sample.frames += int64(flow)
	if a.record.Flow != nil {
		a.flow = int(a.record.Flow.Load())
	} else {
		a.flow += flow
	}
	a.extend()
}

// extend reserves the output that exceeds the reservation, and as much again each time, so that others
// see it before the end.
func (a *admission) extend() {
	if a.Reservation == nil {
		return
	}
	if seen := int64(a.flow / bytesPerToken); seen > a.reserved {
		more := max(a.reserved, minMore, seen-a.reserved)
		grown := amount.Sum(a.reserved, more)
		cost := int64(0)
		if a.Budgeted() && grown > a.funded {
			before, after := a.bound(estimate{input: a.input, output: a.funded}, 0), a.bound(estimate{input: a.input, output: grown}, 0)
			cost, a.funded = amount.Less(after.least, before.least), grown
		}
		a.Extend(limit.Amount{Tokens: more, Cost: cost})
		a.reserved = grown
	}
}

// minMore is the least that a reservation is extended by, in tokens.
const minMore = 256

const (
	// maxSample bounds the text of a stream that is kept to count it, in bytes.
	maxSample = 4 << 10
	// textBytesPerToken is what a token of text is on average: English has four or five bytes
	// a token, code and other scripts three.
	textBytesPerToken = 4
)

// sample is what was seen of a streamed answer on its way to its caller, to count its tokens by.
type sample struct {
	// text is the bytes of its text, of which first has the first.
	text  int64
	first []byte
	// frames is what frameFlow makes of frames that pass through.
	frames int64
}

// add adds a text of the answer.
func (s *sample) add(text string) {
	s.text += int64(len(text))
	if room := maxSample - len(s.first); room > 0 {
		if s.first == nil {
			s.first = make([]byte, 0, maxSample/4)
		}
		s.first = append(s.first, text[:min(room, len(text))]...)
	}
}

// frameFlow guesses the output in a frame that passes through, or in a batch of them, in bytes:
// bytesPerToken of them are a token.
func frameFlow(frame *genwayv1.WireFrame) int {
	if batch := frame.GetBatch(); batch != nil {
		events := int(batch.GetCount())
		return events*frameTokens*bytesPerToken + max(len(batch.GetEvents())-events*frameBytes, 0)
	}
	return frameTokens*bytesPerToken + max(len(frame.GetData())-frameBytes, 0)
}

// tokens counts what was seen: the text that was kept exactly, and the rest in proportion.
// flow is the bytes of text in frames that pass through; nil if they are not counted.
func (s *sample) tokens(flow *atomic.Int64) int64 {
	of := int64(0)
	if len(s.first) > 0 {
		high, low := bits.Mul64(uint64(tokens.Count(string(s.first))), uint64(s.text))
		quotient, _ := bits.Div64(high, low, uint64(len(s.first)))
		of = int64(quotient)
	}
	frames := s.frames / bytesPerToken
	if flow != nil {
		frames = (flow.Load() + textBytesPerToken - 1) / textBytesPerToken
	}
	return amount.Sum(of, frames)
}

// wordsOf returns the text of an answer in a part of its stream as it begins: what tokens are made of.
// Several texts are one.
func wordsOf(part *genwayv1.Part) string {
	switch k := part.GetKind().(type) {
	case *genwayv1.Part_Text:
		return k.Text.GetText()
	case *genwayv1.Part_Thinking:
		return k.Thinking.GetText()
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText()
	case *genwayv1.Part_ToolCall:
		return k.ToolCall.GetName() + k.ToolCall.GetArgumentsJson() + k.ToolCall.GetInput()
	}
	return ""
}
