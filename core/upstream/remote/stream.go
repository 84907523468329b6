package remote

import (
	"context"
	"encoding/json"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tmaxmax/go-sse"
)

// StreamGenerateText makes one streamed call.
func (u *Upstream) StreamGenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest, send upstream.Send) error {
	body, losses, err := u.textBody(req, true)
	if err != nil {
		return err
	}
	a, err := u.call(ctx, stream, req.GetModel(), body, req.GetWire())
	if err != nil {
		return err
	}
	defer a.body.Close()
	s := &relay{decoder: u.codec.NewStreamDecoder(), send: send, losses: losses, protocol: u.config.Protocol}
	s.wired = u.speaks(req.GetWire())
	for event, err := range sse.Read(a.body, &sse.ReadConfig{MaxEventSize: int(u.config.MaxAnswerBytes)}) {
		if err != nil {
			if ctx.Err() != nil {
				return u.interrupted(ctx, err)
			}
			return fault.Wrap(err, fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream was cut off")
		}
		if err := s.frame(codec.Frame{Event: event.Type, Data: []byte(event.Data)}); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return u.interrupted(ctx, ctx.Err())
	}
	return s.end()
}

// relay passes an upstream's stream on: as canonical events, or to a caller of
// the same protocol as the frames themselves.
type relay struct {
	decoder  codec.StreamDecoder
	send     upstream.Send
	protocol genwayv1.Protocol
	losses   []*genwayv1.Loss
	wired    bool
}

func (s *relay) frame(f codec.Frame) error {
	events, err := s.decoder.Decode(f)
	if s.wired && err == nil {
		// The frame goes before the completed event that it may amount to.
		if err := s.send(codec.Event(&genwayv1.WireFrame{Protocol: s.protocol, Event: f.Event, Data: f.Data})); err != nil {
			return err
		}
	}
	if sendErr := s.pass(events); sendErr != nil {
		return sendErr
	}
	return s.own(err)
}

func (s *relay) end() error {
	events, err := s.decoder.Close()
	if sendErr := s.pass(events); sendErr != nil {
		return sendErr
	}
	return s.own(err)
}

// own keeps an upstream's error body for callers of its protocol only.
func (s *relay) own(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	if !s.wired {
		f.Wire = nil
	}
	return f
}

func (s *relay) pass(events []*genwayv1.StreamGenerateTextResponse) error {
	for _, ev := range events {
		if started := ev.GetStarted(); started != nil {
			started.Losses = append(s.losses, started.Losses...)
		}
		if s.wired && ev.GetCompleted() == nil {
			continue
		}
		if err := s.send(ev); err != nil {
			return err
		}
	}
	return nil
}

// askForUsage sets stream_options.include_usage, which metering needs, and keeps
// the other options.
func askForUsage(body []byte) ([]byte, error) {
	var asked struct {
		StreamOptions jsontext.Value `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, fault.Invalid("stream_options", "stream_options: expected an object")
	}
	options := asked.StreamOptions
	if len(options) == 0 || options.Kind() != '{' {
		options = jsontext.Value(`{}`)
	}
	options, err := member.Patch(options, member.Member{Name: "include_usage", Value: jsontext.Value("true")})
	if err != nil {
		return nil, err
	}
	return member.Patch(body, member.Member{Name: "stream_options", Value: options})
}
