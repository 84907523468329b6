package remote

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
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

// batchEvent returns an event with a copy of a batch. Its messages are one allocation.
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
			s.flow.Add(int64(len(codec.DeltaText(ev.GetPartDelta()))))
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

// failure returns an error as the caller gets it. The upstream's own error body is kept only for
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

const (
	// An event that was not decoded counts as text of minFlow bytes, about a token, and of its
	// length beyond envelope, about the length of the members around a text.
	minFlow, envelope = 3, 256
)

// read returns the events of one frame, and whether it may have content of the answer. A frame of
// a stream that passes through may be JSON that the decoder cannot read and the caller can: the
// stream goes on, and from there on only its end, its usage and its failures are read (case X2).
func (s *forwarder) read(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error) {
	if s.watcher == nil {
		events, err = s.decoder.Decode(f)
		watcher, ok := s.decoder.(codec.StreamWatcher)
		if !ok || !s.passThrough || !unreadable(err) || !isJSON(f.Data) {
			return events, hasContent(events), err
		}
		s.watcher = watcher
	}
	events, content, err = s.watcher.Watch(f)
	if content {
		s.flow.Add(int64(minFlow + max(len(f.Data)-envelope, 0)))
	}
	return events, content || hasContent(events), err
}

// isJSON reports whether a body or a frame is JSON as the most lenient client reads it.
func isJSON(data []byte) bool {
	return jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// isObject reports whether a body is a JSON object as the most lenient client reads it.
func isObject(raw []byte) bool { return jsontext.Value(raw).Kind() == '{' && isJSON(raw) }

// partialAnswer returns the parts that can be read of an answer which the codec cannot read as a whole;
// nil for a failure. It is for callers of the upstream's protocol, which get the raw body.
func (u *Upstream) partialAnswer(raw []byte) *genwayv1.GenerateTextResponse {
	watcher, ok := u.codec.(codec.ResponseWatcher)
	if !ok || !isObject(raw) {
		return nil
	}
	resp, ok := watcher.WatchResponse(raw)
	if !ok {
		return nil
	}
	return resp
}

// readImages reads an answer with images for a caller of the upstream's protocol, which gets the
// images in the raw body. Of an answer that cannot be read as a whole it reads what it can.
func readImages(raw []byte) (*genwayv1.GenerateImageResponse, error) {
	resp, err := images.Codec{}.DecodeResponse(raw)
	if unreadable(err) && isJSON(raw) {
		if fitting, ok := (images.Codec{}).WatchResponse(raw); ok {
			return fitting, nil
		}
	}
	for _, image := range resp.GetImages() {
		image.Source = nil
	}
	return resp, err
}

// holdBack buffers the events ahead of an answer's first content. Upstreams that are about to
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

// add sends an event, or holds it until one with content comes.
func (b *holdBack[E]) add(ev *E, content bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
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

// ends notes whether the events that are added from now on are those of the end of the answer.
func (b *holdBack[E]) ends(end bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record.Ending = end
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

// hasContent reports whether one of the events has content of the answer, and does not only
// announce it.
func hasContent(events []*genwayv1.StreamGenerateTextResponse) bool {
	for _, ev := range events {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_PartDelta, *genwayv1.StreamGenerateTextResponse_Completed:
			return true
		case *genwayv1.StreamGenerateTextResponse_PartStarted:
			if !isEmptyPart(p.PartStarted.GetPart()) {
				return true
			}
		}
	}
	return false
}

// isEmptyPart reports whether a part has nothing but its kind.
func isEmptyPart(part *genwayv1.Part) bool {
	if part.GetThoughtSignature() != nil {
		return false
	}
	switch k := part.GetKind().(type) {
	case nil:
		return true
	case *genwayv1.Part_Text:
		return k.Text.GetText() == ""
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText() == ""
	case *genwayv1.Part_Thinking:
		t := k.Thinking
		return t.GetText() == "" && len(t.GetSummary()) == 0 && t.GetSignature() == nil && t.GetEncryptedContent() == nil
	}
	return false
}
