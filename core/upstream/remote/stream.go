package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/go-json-experiment/json/jsontext"
)

// StreamGenerateText makes one streamed call. Until the answer has content, or
// Config.Hold is over, nothing is sent.
func (u *Upstream) StreamGenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest, send upstream.Send) error {
	return u.StreamDeferred(ctx, deferred.New(req), send)
}

// StreamDeferred makes one streamed call for a request that may be deferred.
func (u *Upstream) StreamDeferred(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, body, losses, err := u.textBody(ctx, asked, true)
	if err != nil {
		return err
	}
	record := call.Of(ctx)
	record.Calls++
	record.Gathers = true
	o := newOpening(send, textPing, u.config.Hold, record)
	defer o.close()
	a, err := u.call(ctx, stream, req.GetModel(), body, req.GetWire())
	if err != nil {
		return err
	}
	defer a.close()
	s := &relay{decoder: u.codec.NewStreamDecoder(), opening: o, losses: losses, protocol: u.config.Protocol, upstream: u, record: record}
	if s.wired = u.speaks(req.GetWire()); s.wired {
		record.Flow = &s.flow
	} else {
		s.names, s.custom = u.names(req), codec.NewFreeForm(req.GetTools())
	}
	s.runs = s.wired && req.GetWire().GetExtension().GetAcceptsBatches()
	var eventless patience
	eventless.begin(u.config.FirstByte, func() { a.end(errIdle) })
	defer eventless.end()
	lingers := time.AfterFunc(u.config.Grace, func() { a.end(errLingers) })
	lingers.Stop()
	defer lingers.Stop()
	in := a.events()
	if whole, err := a.isWhole(in); err == nil && whole {
		return s.whole(a, in)
	} else if err != nil && !errors.Is(err, io.EOF) {
		return s.own(a.broken(err))
	}
	for finished, ended := false, false; ; {
		f, raw, ok := s.next(in, ended)
		switch {
		case ok:
		case ended:
			return s.end()
		default:
			o.flush()
			err := a.fill(in)
			switch {
			case errors.Is(err, io.EOF):
				ended = true
			case err != nil && (s.completed || s.failed != nil || errors.Is(a.cause(), errLingers)):
				return s.end()
			case err != nil && finished && ctx.Err() == nil && req.GetSampling().GetCandidateCount() <= 1:
				// What broke off after the answer's end is no part of it. Of several
				// candidates one more might have come.
				return s.end()
			case err != nil:
				return s.own(a.broken(err))
			}
			continue
		}
		run := s.count > 0
		if err := a.weigh(f.Data); err != nil {
			return s.own(err)
		}
		if err := s.frame(f, raw); err != nil {
			return err
		}
		if s.told {
			in.idle = 0
		}
		if !s.pinged {
			eventless.hear()
		}
		if run {
			continue // the decoder has not read it, and says what it said
		}
		if was := finished; s.finished() != was {
			finished = !was
			lingers.Stop()
			if finished {
				lingers.Reset(u.config.Grace)
			}
		}
	}
}

// isPing reports whether events say only that the upstream is alive.
func isPing(events []*genwayv1.StreamGenerateTextResponse) bool {
	return len(events) == 1 && events[0].GetPing() != nil
}

func textPing() *genwayv1.StreamGenerateTextResponse { return codec.Event(&genwayv1.Ping{}) }

// finisher is a stream decoder that knows that the answer has ended before the
// protocol's terminal event: nothing but usage can follow.
type finisher interface{ Finished() bool }

// relay passes an upstream's stream on: as canonical events, or to a caller of
// the same protocol as the frames themselves.
type relay struct {
	decoder  codec.StreamDecoder
	names    *fit.Names
	custom   *codec.FreeForm
	opening  *opening[genwayv1.StreamGenerateTextResponse]
	protocol genwayv1.Protocol
	losses   []*genwayv1.Loss
	wired    bool
	// runs says that the caller takes several events at once, and pattern is which.
	runs     bool
	pattern  pattern
	count    int // of the events of a run that is to be passed on
	upstream *Upstream
	// record gets the model and the usage of a stream that passes through; flow is its bytes of
	// text so far, and usage what any stream has reported.
	record *call.Record
	usage  *genwayv1.Usage
	flow   atomic.Int64
	// completed says that the answer has been told to its end.
	completed bool
	// watcher reads a stream that passes through from the first event on that the decoder
	// could not read.
	watcher codec.StreamWatcher
	// failed is the failure that the upstream has told of a stream that is passed through.
	failed  error
	failing bool
	// told says that the last event told something of the answer, pinged that it was a
	// heartbeat.
	told, pinged bool
}

// unreadable reports whether an error is of a frame that could not be read, and not
// the upstream's own.
func unreadable(err error) bool {
	return err != nil && fault.From(err).Reason == fault.ReasonMalformedAnswer
}

// says reports whether a frame is itself the failure that was read from it.
func says(f codec.Frame, err error) bool {
	return bytes.Equal(fault.From(err).Wire.GetJson(), bytes.TrimSpace(f.Data))
}

// finished reports whether the answer has ended, whatever the upstream still sends.
func (s *relay) finished() bool {
	if f, ok := s.decoder.(finisher); ok && f.Finished() {
		return true
	}
	return s.completed || s.failing
}

// next takes the next event, or a run of those that need not be decoded: then the frame
// has no data, and raw is the run.
func (s *relay) next(in *events, ended bool) (f codec.Frame, raw []byte, ok bool) {
	if s.runs && in.whole() {
		if n, count, text := s.pattern.run(in.buf); n > 0 {
			raw = in.buf[:n]
			in.skip(n)
			in.idle, s.count = 0, count
			s.flow.Add(int64(text))
			return codec.Frame{}, raw, true
		}
	}
	return in.next(ended)
}

// frame passes one event on, or the run that raw is.
func (s *relay) frame(f codec.Frame, raw []byte) error {
	if count := s.count; count > 0 {
		s.count, s.told, s.pinged = 0, true, false
		return s.opening.pass(batched(s.protocol, raw, count), true)
	}
	s.told, s.pinged = false, true
	if len(f.Data) == 0 {
		// An id or a retry alone is no event (WHATWG HTML, 9.2.6).
		return nil
	}
	events, content, err := s.read(f)
	s.pinged = isPing(events)
	s.told = content || len(events) > 0 && !s.pinged
	if err != nil {
		f.Data, err = s.upstream.redact(f.Data), s.upstream.redactFault(err)
	}
	if s.runs {
		if err != nil {
			events = nil
		}
		s.pattern.learn(raw, events)
	}
	if s.wired && err != nil && s.opening.isOpen() && says(f, err) {
		// The caller, who has seen the beginning, hears of the failure as the
		// upstream put it, and of what the upstream says after that.
		s.failing = true
		s.failed, err = s.own(err), nil
	}
	s.heard(events)
	if s.wired && err == nil {
		// The frame goes before the completed event that it may amount to.
		frame := codec.Event(&genwayv1.WireFrame{Protocol: s.protocol, Event: f.Event, Data: f.Data, Unasked: s.upstream.config.LeaveUsage})
		if err := s.opening.pass(frame, content); err != nil {
			return err
		}
	}
	return s.pass(events, err)
}

// batched gives a copy of a run as an event, all of whose messages are one piece of memory.
func batched(protocol genwayv1.Protocol, run []byte, count int) *genwayv1.StreamGenerateTextResponse {
	e := &struct {
		event   genwayv1.StreamGenerateTextResponse
		payload genwayv1.StreamGenerateTextResponse_Wire
		frame   genwayv1.WireFrame
		batch   transportv1.FrameBatch
	}{}
	e.batch.Events, e.batch.Count = bytes.Clone(run), int32(count)
	e.frame.Protocol, e.frame.Batch = protocol, &e.batch
	e.payload.Wire, e.event.Payload = &e.frame, &e.payload
	return &e.event
}

// heard notes what events say of usage and output, ahead of whatever becomes of them.
func (s *relay) heard(events []*genwayv1.StreamGenerateTextResponse) {
	for _, ev := range events {
		if started := ev.GetStarted(); started != nil {
			s.usage = started.GetUsage()
			s.record.RawModel, s.record.RawUsage = started.GetModel(), s.usage
		}
		if s.wired {
			s.flow.Add(int64(upstream.FlowOf(ev)))
		}
	}
}

// end closes the decoder, unless the answer is complete already.
func (s *relay) end() error {
	if s.failed != nil {
		return s.failed
	}
	if s.completed {
		return nil
	}
	finished := s.finished()
	events, err := s.decoder.Close()
	if s.wired && finished && unreadable(err) {
		// The caller has the end; only what the codec makes of the answer is missing.
		events, err = []*genwayv1.StreamGenerateTextResponse{codec.Event(&genwayv1.TextCompleted{Usage: s.usage})}, nil
	}
	return s.pass(events, s.upstream.redactFault(err))
}

// own keeps an upstream's error body for callers of its protocol only, and notes
// what the failed answer cost: what the failure says, else what the stream has said.
func (s *relay) own(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	if f.Usage = s.upstream.cost(f); f.Usage == nil {
		f.Usage = s.usage
	}
	if !s.wired {
		f.Wire = nil
	}
	return f
}

// pass sends the decoder's events on, then gives its error.
func (s *relay) pass(events []*genwayv1.StreamGenerateTextResponse, err error) error {
	events = s.custom.Events(s.names.Events(events))
	for _, ev := range events {
		if started := ev.GetStarted(); started != nil {
			started.Losses = append(s.losses, started.Losses...)
		}
		s.completed = s.completed || ev.GetCompleted() != nil
		if s.wired && ev.GetCompleted() == nil {
			continue
		}
		if err := s.opening.pass(ev, contentful(events)); err != nil {
			return err
		}
	}
	return s.own(err)
}

// asksForUsage reports whether a body asks for the usage itself.
func asksForUsage(body []byte) bool {
	return string(member.Value(member.Value(body, "stream_options"), "include_usage")) == "true"
}

// askForUsage sets stream_options.include_usage, which metering needs, and keeps
// the other options.
func askForUsage(body []byte) ([]byte, error) {
	options := jsontext.Value(member.Value(body, "stream_options"))
	if len(options) == 0 || options.Kind() != '{' {
		options = jsontext.Value(`{}`)
	}
	options, err := member.Patch(options, member.Member{Name: "include_usage", Value: jsontext.Value("true")})
	if err != nil {
		return nil, err
	}
	return member.Patch(body, member.Member{Name: "stream_options", Value: options})
}
