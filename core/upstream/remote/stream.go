package remote

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"github.com/go-json-experiment/json/jsontext"
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
	s := &forwarder{decoder: u.codec.NewStreamDecoder(), out: out, losses: losses, protocol: u.config.Protocol, upstream: u, record: record}
	if s.passThrough = u.speaks(req.GetWire()); s.passThrough {
		record.Flow = &s.flow
	} else {
		s.names, s.custom = u.names(req), codec.NewFreeForm(req.GetTools())
		s.decoder, s.namesAccount = codec.JoinHalves(s.decoder), u.namesAccount(record)
	}
	defer s.noteEnd()
	s.batches = s.passThrough && req.GetWire().GetExtension().GetAcceptsBatches()
	// heartbeats ends a stream that has nothing but heartbeats for too long.
	var heartbeats idleTimer
	heartbeats.start(u.config.FirstByte, func() { a.end(errIdle) })
	defer heartbeats.stop()
	grace := time.AfterFunc(u.config.Grace, func() { a.end(errKeptOpen) })
	grace.Stop()
	defer grace.Stop()
	in := a.events()
	if unary, err := a.isUnary(in); err == nil && unary {
		return s.unary(a, in)
	} else if err != nil && !errors.Is(err, io.EOF) {
		return s.failure(a.broken(err))
	}
	for finished, ended := false, false; ; {
		f, raw, ok := s.next(in, ended)
		switch {
		case ok:
		case ended:
			return s.end()
		default:
			out.flush()
			err := a.fill(in)
			switch {
			case errors.Is(err, io.EOF):
				ended = true
			case err != nil && (s.completed || s.failed != nil || errors.Is(a.cause(), errKeptOpen)):
				return s.end()
			case err != nil && finished && ctx.Err() == nil && req.GetSampling().GetCandidateCount() <= 1:
				// The connection broke after the end of the answer. With several candidates, one more
				// might have followed.
				return s.end()
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
				grace.Reset(u.config.Grace)
			}
		}
	}
}

// isPing reports whether events are one heartbeat.
func isPing(events []*genwayv1.StreamGenerateTextResponse) bool {
	return len(events) == 1 && events[0].GetPing() != nil
}

func textPing() *genwayv1.StreamGenerateTextResponse { return codec.Event(&genwayv1.Ping{}) }

// asksForUsage reports whether the body itself asks for usage.
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
