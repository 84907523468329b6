package remote

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// finisher is a stream decoder that knows the end of the answer ahead of the protocol's terminal
// event: only usage can follow.
type finisher interface{ Finished() bool }

// reporter is a stream decoder that knows the usage that the upstream has reported so far; nil for none.
type reporter interface{ Reported() *genwayv1.Usage }

// forwarder sends an upstream's stream to the caller: as canonical events, or to a caller of the
// same protocol as the upstream's own frames.
type forwarder struct {
	decoder  codec.StreamDecoder
	names    *fit.Names
	custom   *codec.FreeForm
	calls    codec.Calls
	out      *holdBack[genwayv1.StreamGenerateTextResponse]
	protocol genwayv1.Protocol
	losses   []*genwayv1.Loss
	// passThrough means that the caller speaks the upstream's protocol.
	passThrough bool
	// namesAccount means that the seals are to name the upstream's account.
	namesAccount bool
	// batches means that the caller takes several events at once: those that match pattern.
	// batched is the number of events in the batch that next has found; 0 for a single event.
	batches  bool
	pattern  pattern
	batched  int
	upstream *Upstream
	// record gets the model of a stream that passes through, and the usage of any stream. flow is the
	// number of bytes of text so far in a stream that passes through.
	record *call.Record
	flow   atomic.Int64
	// started means that the decoder has given the beginning of the answer, with the usage in opening.
	// final means that a failure has told the usage of the call.
	started, final bool
	opening        *genwayv1.Usage
	// completed means that the decoder has given the end of the answer.
	completed bool
	// watcher reads a stream that passes through, from the first event that the decoder could
	// not read.
	watcher codec.StreamWatcher
	// failed is a failure that the upstream has reported in a stream that passes through: the
	// caller has got its frame. failing is set with it.
	failed  error
	failing bool
	// progress means that the last event had content of the answer or information about it,
	// heartbeat that it was none but a heartbeat.
	progress, heartbeat bool
}

// unreadable reports whether an error is that of a frame which could not be read, and not
// one that the upstream reports.
func unreadable(err error) bool {
	return err != nil && fault.From(err).Reason == fault.ReasonMalformedAnswer
}

// isFailure reports whether a frame is, as a whole, the failure that was read from it.
func isFailure(f codec.Frame, err error) bool {
	return bytes.Equal(fault.From(err).Wire.GetJson(), bytes.TrimSpace(f.Data))
}

// finished reports whether the answer has ended, even if the upstream still sends something.
func (s *forwarder) finished() bool {
	if f, ok := s.decoder.(finisher); ok && f.Finished() {
		return true
	}
	return s.completed || s.failing
}

// next takes the next event, or a batch of those that need not be decoded: then the frame has no
// data, and raw is the batch.
func (s *forwarder) next(in *events, ended bool) (f codec.Frame, raw []byte, ok bool) {
	if s.batches && in.atEvent() {
		if n, count, text := s.pattern.batch(in.buf); n > 0 {
			raw = in.buf[:n]
			in.skip(n)
			in.withoutContent, s.batched = 0, count
			s.flow.Add(int64(text))
			return codec.Frame{}, raw, true
		}
	}
	return in.next(ended)
}

// forward sends one event, or the batch that raw is.
func (s *forwarder) forward(f codec.Frame, raw []byte) error {
	if count := s.batched; count > 0 {
		s.out.ends(false)
		s.batched, s.progress, s.heartbeat = 0, true, false
		return s.out.add(batchEvent(s.protocol, raw, count), true)
	}
	s.progress, s.heartbeat = false, true
	if len(f.Data) == 0 {
		// An id or a retry without data is no event (WHATWG HTML, 9.2.6).
		return nil
	}
	events, content, err := s.read(f)
	s.heartbeat = isPing(events)
	s.progress = content || len(events) > 0 && !s.heartbeat
	if !content && s.upstream.protocol.Upstream.BindsSeals {
		noteTransformations(s.record, f.Data)
	}
	if err != nil {
		if !s.started || !unreadable(err) {
			s.record.Accepted = false
		}
		f.Data, err = s.upstream.redact(f.Data), s.upstream.redactFault(err)
	}
	if s.batches {
		if err != nil {
			events = nil
		}
		s.pattern.learn(raw, events)
	}
	if s.passThrough && err != nil && s.out.isReleased() && isFailure(f, err) {
		// The caller, which has the beginning of the stream, gets the failure in the upstream's own
		// frame, and the frames after it.
		s.failing = true
		s.failed, err = s.failure(err), nil
	}
	s.note(events)
	if s.passThrough && err == nil {
		s.out.ends(s.atEnd(events))
		// The frame goes ahead of the completed event that may be made of it.
		frame := codec.Event(&genwayv1.WireFrame{Protocol: s.protocol, Event: f.Event, Data: f.Data, Unasked: s.upstream.config.LeaveUsage})
		if err := s.out.add(frame, content); err != nil {
			return err
		}
	}
	return s.send(events, err)
}

// batchEvent gives an event with a copy of a batch. Its messages are one allocation.
func batchEvent(protocol genwayv1.Protocol, batch []byte, count int) *genwayv1.StreamGenerateTextResponse {
	e := &struct {
		event   genwayv1.StreamGenerateTextResponse
		payload genwayv1.StreamGenerateTextResponse_Wire
		frame   genwayv1.WireFrame
		batch   transportv1.FrameBatch
	}{}
	e.batch.Events, e.batch.Count = bytes.Clone(batch), int32(count)
	e.frame.Protocol, e.frame.Batch = protocol, &e.batch
	e.payload.Wire, e.event.Payload = &e.frame, &e.payload
	return &e.event
}

// note notes the model, the usage and the text that events report, before they are sent.
func (s *forwarder) note(events []*genwayv1.StreamGenerateTextResponse) {
	for _, ev := range events {
		if started := ev.GetStarted(); started != nil {
			s.started, s.opening = true, started.GetUsage()
			s.record.RawModel = started.GetModel()
		}
		if s.passThrough {
			s.flow.Add(int64(upstream.FlowOf(ev)))
		}
	}
}

// atEnd reports whether a frame that was read to events belongs to the end of the answer.
func (s *forwarder) atEnd(events []*genwayv1.StreamGenerateTextResponse) bool {
	f, ok := s.decoder.(finisher)
	return ok && f.Finished() || slices.ContainsFunc(events, func(ev *genwayv1.StreamGenerateTextResponse) bool { return ev.GetCompleted() != nil })
}

// reported is the usage that the stream has reported so far.
func (s *forwarder) reported() *genwayv1.Usage {
	if r, ok := s.decoder.(reporter); ok {
		return cmp.Or(r.Reported(), s.opening)
	}
	return s.opening
}

// noteEnd notes what is known of the usage when the call is over, be the answer whole or not.
func (s *forwarder) noteEnd() {
	f, ok := s.decoder.(finisher)
	s.record.RawUsage, s.record.RawFinal = s.reported(), s.completed || s.final || ok && f.Finished()
}

// end closes the decoder, unless the answer is complete already.
func (s *forwarder) end() error {
	if s.failed != nil {
		return s.failed
	}
	if s.completed {
		return nil
	}
	finished := s.finished()
	events, err := s.decoder.Close()
	if err != nil && !s.started {
		s.record.Accepted = false // it has ended without an answer
	}
	if s.passThrough && finished && unreadable(err) {
		// The caller has the end in the upstream's frames; only the canonical end is missing.
		usage := cmp.Or(fault.From(err).Usage, s.reported())
		events, err = []*genwayv1.StreamGenerateTextResponse{codec.Event(&genwayv1.TextCompleted{Usage: usage})}, nil
	}
	return s.send(events, s.upstream.redactFault(err))
}

// failure gives an error as the caller gets it. The upstream's own error body is kept only for
// callers of its protocol. The usage is that of the error, or else the last that the stream has
// reported.
func (s *forwarder) failure(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	noteRefusal(s.record, f)
	f.Usage = cmp.Or(f.Usage, s.upstream.cost(f))
	s.final = s.final || f.Usage != nil
	f.Usage = cmp.Or(f.Usage, s.reported())
	if !s.passThrough {
		f.Wire = nil
	}
	return f
}

// send sends the decoder's events, and then gives its error. A caller of the same protocol gets
// only the end of the canonical events.
func (s *forwarder) send(events []*genwayv1.StreamGenerateTextResponse, err error) error {
	if err == nil && !s.passThrough {
		events, err = s.calls.Events(events)
	}
	events = s.custom.Events(s.names.Events(events))
	for _, ev := range events {
		if s.namesAccount {
			u := s.upstream
			u.named(ev.GetPartStarted().GetPart())
			u.name(ev.GetPartDelta().GetSignature())
			u.name(ev.GetPartDelta().GetEncryptedContent())
			u.name(ev.GetPartDelta().GetThoughtSignature())
		}
		if started := ev.GetStarted(); started != nil {
			started.Losses = append(s.losses, started.Losses...)
		}
		completed := ev.GetCompleted()
		s.completed = s.completed || completed != nil
		if s.passThrough && completed == nil {
			continue
		}
		if s.passThrough {
			// The caller has all that the upstream sent. The decoder has not: it misses batches.
			completed.Losses = s.losses
		}
		if err := s.out.add(ev, hasContent(events)); err != nil {
			return err
		}
	}
	return s.failure(err)
}
