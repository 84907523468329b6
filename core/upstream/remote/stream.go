package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

// StreamGenerateText makes one streamed call. It sends nothing before the answer has content or
// Config.Hold is over.
func (u *Upstream) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, body, losses, err := u.textBody(ctx, asked, true)
	if err != nil {
		return err
	}
	record := call.Of(ctx)
	noteLeftOut(record, losses)
	record.Calls++
	record.Gathers = true
	out := newHoldBack(send, textPing, u.config.Hold, record)
	defer out.close()
	a, err := u.call(ctx, protocol.Stream, req.GetModel(), body, req.GetWire())
	if err != nil {
		return err
	}
	defer a.close()
	s := &textStream{upstream: u, record: record, answer: a, in: a.events(), out: out, losses: losses, passThrough: u.speaks(req.GetWire())}
	decoder := u.codec.NewStreamDecoder()
	if s.passThrough {
		record.Flow = &s.flow
		s.batches = req.GetWire().GetExtension().GetAcceptsBatches()
	} else {
		decoder = codec.JoinHalves(decoder)
		s.names, s.custom = u.names(req), codec.NewFreeForm(req.GetTools())
		s.caller = fit.NewCallerCalls(req.GetTools(), u.config.Protocol)
		s.namesAccount = u.namesAccount(record)
	}
	s.decoder = decoder
	s.finisher, _ = decoder.(finisher)
	s.reporter, _ = decoder.(reporter)
	defer s.noteEnd()
	// With several candidates, one more might follow the end of those that have come.
	return s.run(ctx, req.GetSampling().GetCandidateCount() <= 1)
}

func textPing() *genwayv1.StreamGenerateTextResponse { return codec.Event(&genwayv1.Ping{}) }

// finisher is a stream decoder that knows the end of the answer before the protocol's terminal
// event: only usage can follow.
type finisher interface{ Finished() bool }

// reporter is a stream decoder that knows the usage that the upstream has reported so far; nil for none.
type reporter interface{ Reported() *genwayv1.Usage }

// textStream is a streamed answer on its way from the upstream to the caller, who gets it as canonical
// events, or if it speaks the upstream's protocol as the upstream's own frames.
type textStream struct {
	upstream *Upstream
	answer   *answer
	in       *events
	out      *holdBack[genwayv1.StreamGenerateTextResponse]
	decoder  codec.StreamDecoder
	finisher finisher // the decoder; nil if it is none
	reporter reporter // likewise
	losses   []*genwayv1.Loss
	// passThrough means that the caller speaks the upstream's protocol.
	passThrough bool
	// names, custom, caller and calls restore and check the tool calls of a translated stream.
	names  *fit.Names
	custom *codec.FreeForm
	caller *fit.CallerCalls
	calls  codec.Calls
	// namesAccount means that the seals are to name the upstream's account.
	namesAccount bool
	// batches means that the caller takes several events at once: those that match pattern.
	// batched is the number of events in the batch that next has found; 0 for a single event.
	batches bool
	pattern pattern
	batched int
	// record gets the model and the usage of the stream. flow is the
	// number of bytes of text so far in a stream that passes through.
	record *call.Record
	flow   atomic.Int64
	// started means that the decoder has returned the beginning of the answer, with the usage in opening.
	// final means that a failure has told the usage of the call.
	started, final bool
	opening        *genwayv1.Usage
	// completed means that the decoder has returned the end of the answer.
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

// run reads the upstream's events and forwards them. whole means that nothing can follow an answer that
// the decoder says is finished.
func (s *textStream) run(ctx context.Context, whole bool) error {
	a, in := s.answer, s.in
	// heartbeats ends a stream that has nothing but heartbeats for too long, and grace one that is kept
	// open after its end.
	var heartbeats idleTimer
	heartbeats.start(s.upstream.config.FirstByte, func() { a.end(errIdle) })
	defer heartbeats.stop()
	grace := time.AfterFunc(s.upstream.config.Grace, func() { a.end(errKeptOpen) })
	grace.Stop()
	defer grace.Stop()
	if unary, err := a.isUnary(in); err == nil && unary {
		return s.unary()
	} else if err != nil && !errors.Is(err, io.EOF) {
		return s.failure(a.broken(err))
	}
	for finished, ended := false, false; ; {
		f, raw, ok := s.next(ended)
		switch {
		case ok:
		case ended:
			return s.end()
		default:
			s.out.flush()
			err := a.fill(in)
			switch {
			case errors.Is(err, io.EOF):
				ended = true
			case err != nil && (s.completed || s.failed != nil || errors.Is(a.cause(), errKeptOpen)):
				return s.end()
			case err != nil && finished && ctx.Err() == nil && whole:
				return s.end() // the connection broke after the end of the answer
			case err != nil:
				return s.failure(a.broken(err))
			}
			continue
		}
		batch := s.batched > 0
		if err := a.weigh(f.Data); err != nil {
			return s.failure(err)
		}
		if err := s.forward(f, raw); err != nil {
			return err
		}
		if s.progress {
			in.withoutContent = 0
		}
		if !s.heartbeat {
			heartbeats.reset()
		}
		if batch {
			continue // the decoder has not read it: whether the answer is finished has not changed
		}
		if was := finished; s.finished() != was {
			finished = !was
			grace.Stop()
			if finished {
				grace.Reset(s.upstream.config.Grace)
			}
		}
	}
}

// next takes the next event, or a batch of those that need not be decoded: then the frame has no
// data, and raw is the batch.
func (s *textStream) next(ended bool) (f codec.Frame, raw []byte, ok bool) {
	if s.batches && s.in.atEvent() {
		if n, count, text := s.pattern.batch(s.in.buf); n > 0 {
			raw = s.in.buf[:n]
			s.in.skip(n)
			s.in.withoutContent, s.batched = 0, count
			s.flow.Add(int64(text))
			return codec.Frame{}, raw, true
		}
	}
	return s.in.next(ended)
}

// forward sends one event, or the batch that raw is.
func (s *textStream) forward(f codec.Frame, raw []byte) error {
	if count := s.batched; count > 0 {
		s.batched, s.progress, s.heartbeat = 0, true, false
		return s.out.add(s.batchEvent(raw, count), true, false)
	}
	s.progress, s.heartbeat = false, true
	if len(f.Data) == 0 {
		// An id or a retry without data is no event (WHATWG HTML, 9.2.6).
		return nil
	}
	events, content, err := s.read(f)
	if err != nil {
		if !s.started || !unreadable(err) {
			s.record.Accepted = false
		}
		f.Data, err = s.upstream.redact(f.Data), s.upstream.redactFault(err)
	}
	found := s.look(events)
	if refused := s.withheld(found); refused != nil {
		return s.failure(refused)
	}
	found.content = found.content || content
	s.heartbeat = found.ping
	s.progress = found.content || len(events) > 0 && !found.ping
	if !found.content && s.upstream.protocol.Upstream.BindsSeals {
		noteTransformations(s.record, f.Data)
	}
	if s.batches {
		if err != nil {
			found.text = ""
		}
		s.pattern.learn(raw, found.text)
	}
	if s.passThrough && err != nil && s.out.isReleased() && isFailure(f, err) {
		// The caller, which has the beginning of the stream, gets the failure in the upstream's own
		// frame, and the frames after it.
		s.failing = true
		s.failed, err = s.failure(err), nil
	}
	if s.passThrough && err == nil {
		// The frame precedes the completed event that may be made of it.
		frame := codec.Event(&genwayv1.WireFrame{Protocol: s.upstream.config.Protocol, Event: f.Event, Data: f.Data, Unasked: s.upstream.config.LeaveUsage})
		if err := s.out.add(frame, found.content, found.completed != nil || s.ended()); err != nil {
			return err
		}
	}
	return s.send(events, found, err)
}

const (
	// An event that was not decoded counts as text of minFlow bytes, about a token, and of its
	// length beyond envelope, about the length of the members around a text.
	minFlow, envelope = 3, 256
)

// read returns the events of one frame, and whether it may have content of the answer beside them. A frame
// of a stream that passes through may be JSON that the decoder cannot read and the caller can: the
// stream goes on, and from there on only its end, its usage and its failures are read (case X2).
func (s *textStream) read(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error) {
	if s.watcher == nil {
		events, err = s.decoder.Decode(f)
		watcher, ok := s.decoder.(codec.StreamWatcher)
		if !ok || !s.passThrough || !unreadable(err) || !isJSON(f.Data) {
			return events, false, err
		}
		s.watcher = watcher
	}
	events, content, err = s.watcher.Watch(f)
	if content {
		s.flow.Add(int64(minFlow + max(len(f.Data)-envelope, 0)))
	}
	return events, content, err
}

// found is what the events of one frame are.
type found struct {
	// content means that one has content of the answer, and does not only announce it. ping means that
	// they are one heartbeat, and calls that they may belong to a tool's call.
	content, ping, calls bool
	// text is what the only event adds to a text or to thinking; empty for all others.
	text string
	// completed is the end of the answer; nil if it is not among them.
	completed *genwayv1.StreamGenerateTextResponse
}

// look finds out what events are, once for all that follows, and notes what they report. Seals that are to
// name the upstream's account do so from here on.
func (s *textStream) look(events []*genwayv1.StreamGenerateTextResponse) (f found) {
	for _, ev := range events {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_Started:
			s.started, s.opening = true, p.Started.GetUsage()
			s.record.RawModel, s.record.RawID = p.Started.GetModel(), p.Started.GetId()
			p.Started.Losses = append(s.losses, p.Started.Losses...)
		case *genwayv1.StreamGenerateTextResponse_PartStarted:
			f.calls, f.content = true, f.content || !codec.IsEmptyPart(p.PartStarted.GetPart())
			if s.namesAccount {
				s.upstream.named(p.PartStarted.GetPart())
			}
		case *genwayv1.StreamGenerateTextResponse_PartDelta:
			f.content = true
			switch d := p.PartDelta.GetDelta().(type) {
			case *genwayv1.PartDelta_Text:
				f.text = d.Text
			case *genwayv1.PartDelta_Thinking:
				f.text = d.Thinking
			case *genwayv1.PartDelta_ArgumentsJson:
				f.calls = true
			case *genwayv1.PartDelta_Signature:
				s.seal(d.Signature)
			case *genwayv1.PartDelta_EncryptedContent:
				s.seal(d.EncryptedContent)
			case *genwayv1.PartDelta_ThoughtSignature:
				s.seal(d.ThoughtSignature)
			}
			if s.passThrough {
				s.flow.Add(int64(len(codec.DeltaText(p.PartDelta))))
			}
		case *genwayv1.StreamGenerateTextResponse_PartCompleted:
			f.calls = true
		case *genwayv1.StreamGenerateTextResponse_ImagePreview:
			f.content = true
		case *genwayv1.StreamGenerateTextResponse_Completed:
			f.calls, f.content, f.completed = true, true, ev
		case *genwayv1.StreamGenerateTextResponse_Ping:
			f.ping = len(events) == 1
		}
	}
	if len(events) > 1 {
		f.text = ""
	}
	return f
}

func (s *textStream) seal(seal *genwayv1.Seal) {
	if s.namesAccount {
		s.upstream.name(seal)
	}
}

// send sends the decoder's events, and then returns its error. A caller of the same protocol gets
// only the end of the canonical events.
func (s *textStream) send(events []*genwayv1.StreamGenerateTextResponse, found found, err error) error {
	switch {
	case s.passThrough && found.completed == nil:
		return s.failure(err)
	case s.passThrough:
		// The caller has all that the upstream sent. The decoder has not: it misses batches.
		events = []*genwayv1.StreamGenerateTextResponse{found.completed}
		found.completed.GetCompleted().Losses = s.losses
	case found.calls, s.caller != nil:
		if err == nil {
			events, err = s.calls.Events(events)
		}
		events = s.caller.Events(s.custom.Events(s.names.Events(events)))
	}
	for _, ev := range events {
		s.completed = s.completed || ev == found.completed
		if err := s.out.add(ev, found.content, s.passThrough); err != nil {
			return err
		}
	}
	return s.failure(err)
}

// batchEvent returns an event with a copy of a batch. Its messages are one allocation.
func (s *textStream) batchEvent(batch []byte, count int) *genwayv1.StreamGenerateTextResponse {
	e := &struct {
		event   genwayv1.StreamGenerateTextResponse
		payload genwayv1.StreamGenerateTextResponse_Wire
		frame   genwayv1.WireFrame
		batch   edgev1.FrameBatch
	}{}
	e.batch.Events, e.batch.Count = bytes.Clone(batch), int32(count)
	e.frame.Protocol, e.frame.Batch = s.upstream.config.Protocol, &e.batch
	e.payload.Wire, e.event.Payload = &e.frame, &e.payload
	return &e.event
}

// ended reports whether the decoder has read the end of the answer.
func (s *textStream) ended() bool { return s.finisher != nil && s.finisher.Finished() }

// finished reports whether the answer has ended, even if the upstream still sends something.
func (s *textStream) finished() bool { return s.completed || s.failing || s.ended() }

// reported is the usage that the stream has reported so far.
func (s *textStream) reported() *genwayv1.Usage {
	if s.reporter == nil {
		return s.opening
	}
	return cmp.Or(s.reporter.Reported(), s.opening)
}

// noteEnd notes what is known of the usage when the call is over, be the answer whole or not.
func (s *textStream) noteEnd() {
	s.record.RawUsage, s.record.RawFinal = s.reported(), s.completed || s.final || s.ended()
}

// end closes the decoder, unless the answer is complete already.
func (s *textStream) end() error {
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
	found := s.look(events)
	if refused := s.withheld(found); refused != nil {
		return s.failure(refused)
	}
	return s.send(events, found, s.upstream.redactFault(err))
}

// unary sends a unary answer as the events of a stream.
func (s *textStream) unary() error {
	a := s.answer
	a.body = io.MultiReader(bytes.NewReader(bytes.Clone(s.in.buf)), a.body)
	raw, err := a.whole(true)
	if err != nil {
		return s.failure(err)
	}
	resp, err := s.upstream.codec.DecodeResponse(raw)
	if err != nil {
		declined(s.record, raw, err)
		return s.failure(s.upstream.redactFault(err))
	}
	s.passThrough = false // the caller asked for events, and the upstream has sent none
	events := codec.Events(resp, nil)
	return s.send(events, s.look(events), nil)
}

// withheld returns the fault of an answer that a vendor's policy ends before it has content, where another target follows; nil
// for all others.
func (s *textStream) withheld(f found) error {
	if f.completed == nil || !s.record.PolicyFallback || s.out.isReleased() {
		return nil
	}
	end := f.completed.GetCompleted()
	return upstream.Withheld(end.GetPromptFeedback(), end.GetCandidates(), end.GetUsage())
}

// isFailure reports whether a frame is, as a whole, the failure that was read from it.
func isFailure(f codec.Frame, err error) bool {
	return bytes.Equal(fault.From(err).Wire.GetJson(), bytes.TrimSpace(f.Data))
}

// failure returns an error as the caller gets it. The upstream's own error body is kept only for
// callers of its protocol. The usage is the error's, or else the last that the stream has
// reported.
func (s *textStream) failure(err error) error {
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

// holdBack buffers the events before an answer's first content. Upstreams that are about to
// fail often send a first event: while nothing was sent to the caller, a failure is a plain error
// with a status of its own, and another upstream can still be called (case S6). The buffer is
// released after a time even without content, since proxies end connections that are silent
// (case S2).
type holdBack[E any] struct {
	timer *time.Timer

	// mu guards all below, and the Ending of the record: the timer releases the buffer from a goroutine of
	// its own.
	mu   sync.Mutex
	send func(*E) error
	ping func() *E
	held []*E
	// record is the call's: it notes the first event, which may be held, and flushes gathered events.
	record *call.Record
	// released means that events are sent at once, closed that none is sent any more.
	released, closed bool
	err              error
}

// maxHeld is the most events that are held.
const maxHeld = 1024

// newHoldBack makes a buffer that is released after limit at the latest. If it is empty by then,
// the event that ping makes is sent.
func newHoldBack[E any](send func(*E) error, ping func() *E, limit time.Duration, record *call.Record) *holdBack[E] {
	b := &holdBack[E]{send: send, ping: ping, record: record}
	// The timer may expire before the field is set.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(limit, b.expire)
	return b
}

// add sends an event, or holds it until one with content comes. ending means that it belongs to the end of
// the answer.
func (b *holdBack[E]) add(ev *E, content, ending bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record.Ending = ending
	switch {
	case b.err != nil:
		return b.err
	case b.released:
		return b.send(ev)
	}
	if len(b.held) == 0 {
		b.record.FirstContent()
	}
	b.held = append(b.held, ev)
	if content || len(b.held) >= maxHeld {
		b.release()
	}
	return b.err
}

// release sends the events that are held. From then on none is held.
func (b *holdBack[E]) release() {
	b.released = true
	b.timer.Stop()
	for _, ev := range b.held {
		if b.err = b.send(ev); b.err != nil {
			break
		}
	}
	b.held = nil
}

// expire releases the buffer, with a ping if it is empty.
func (b *holdBack[E]) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released || b.closed {
		return
	}
	if len(b.held) == 0 {
		b.held = append(b.held, b.ping())
	}
	b.release()
	b.record.Flush()
}

// flush has the events that were sent reach the caller, before the adapter waits for more.
func (b *holdBack[E]) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record.Flush()
}

// isReleased reports whether the caller was sent anything.
func (b *holdBack[E]) isReleased() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.released
}

// close drops the events that are held. Nothing is sent after it returns.
func (b *holdBack[E]) close() {
	b.timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
