package core

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/identifier"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/telemetry/instrument"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Config is what a Service is made of. Only Upstream must be set.
type Config struct {
	// Upstream answers the requests.
	Upstream upstream.Upstream
	// Ledger accounts for them; nil does not.
	Ledger *ledger.Recorder
	// Prices say what requests cost; without them the ledger has no costs.
	Prices Pricer
	// Limiter holds callers to their limits; nil does not.
	Limiter *limit.Limiter
	// Metrics count requests; nil does not.
	Metrics *instrument.Core
	// Captures keep the bodies of requests that are to be captured, which must be in the Ledger; nil
	// captures none.
	Captures *vault.Vault
	// Items keep what callers may refer to later; nil keeps nothing.
	Items *items.Keeper
	// Clock is time.Now unless set.
	Clock func() time.Time
	// NewID makes an identifier that begins with prefix. Default: 32
	// hexadecimal digits follow it.
	NewID func(prefix string) string
}

// Service is the Generation service.
type Service struct {
	genwayv1.UnimplementedGenerationServer
	config  Config
	started time.Time
	// captures gives the rule of a request's route for capturing; nil where there are no routes.
	captures func(genwayv1.Protocol, string) *capture.Rule
}

var _ genwayv1.GenerationServer = (*Service)(nil)

// New makes the service.
func New(config Config) (*Service, error) {
	if config.Upstream == nil {
		return nil, errors.New("core: no upstream")
	}
	if config.Clock == nil {
		config.Clock = time.Now
	}
	if config.NewID == nil {
		config.NewID = identifier.New
	}
	s := &Service{config: config, started: config.Clock()}
	if routes, ok := config.Upstream.(interface {
		Capture(protocol genwayv1.Protocol, model string) *capture.Rule
	}); ok {
		s.captures = routes.Capture
	}
	return s, nil
}

// GenerateText gives one complete answer.
func (s *Service) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (resp *genwayv1.GenerateTextResponse, err error) {
	ctx, record := begin(ctx, "GenerateText", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkText(req); err != nil {
		return nil, err
	}
	asked := deferred.New(req)
	record.Deferred = asked.Deferred()
	err = s.account(ctx, record, asked, func(ctx context.Context, held *admission) error {
		resp, err = s.generateText(ctx, held, asked)
		return err
	})
	if err != nil {
		return nil, err
	}
	record.BodyUnreferenced = unreferenced(asked)
	return resp, nil
}

func (s *Service) generateText(ctx context.Context, held *admission, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := s.resolved(ctx, held.record.Caller, req)
	if err != nil {
		return nil, err
	}
	resp, err := s.config.Upstream.GenerateText(ctx, req)
	if err != nil {
		return nil, err
	}
	if resp.Id == "" {
		resp.Id = s.config.NewID("gen_")
	}
	if resp.CreateTime == nil {
		resp.CreateTime = timestamppb.New(s.config.Clock())
	}
	resp.Model = cmp.Or(resp.Model, req.Head().GetModel())
	answered(held.record, resp.GetModel(), resp.GetUsage())
	held.complete, held.answer = true, resp
	lost(held.record, resp.GetLosses())
	if resp.GetWire() == nil && !plausible(resp.GetUsage()) {
		resp.Usage, resp.Losses = nil, append(resp.GetLosses(), implausible())
	}
	s.keep(held.record.Caller, req, resp)
	if c := held.record.Capture; c != nil && resp.GetWire() == nil {
		c.Message(capture.ContractAnswer, "", resp)
	}
	return resp, nil
}

// StreamGenerateText gives the answer as events, and an error when the upstream
// ends without the completed one.
func (s *Service) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	ctx := stream.Context()
	ctx, record := begin(ctx, "StreamGenerateText", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkText(req); err != nil {
		return err
	}
	asked := deferred.New(req)
	record.Deferred = asked.Deferred()
	err := s.account(ctx, record, asked, func(ctx context.Context, held *admission) error {
		return s.streamText(ctx, held, asked, stream)
	})
	record.BodyUnreferenced = unreferenced(asked)
	return err
}

func (s *Service) streamText(ctx context.Context, held *admission, req *deferred.Request, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	out := newGatherer(req.Head(), held.record, stream)
	req, err := s.resolved(ctx, held.record.Caller, req)
	if err != nil {
		return err
	}
	completed, passes := false, false // passes: the upstream's own frames pass through
	record, items := held.record, s.recorder(held.record.Caller, req)
	answer := tail[genwayv1.StreamGenerateTextResponse]{admission: held, send: stream.Send}
	if out != nil {
		answer.send = out.send
	}
	err = s.config.Upstream.StreamGenerateText(ctx, req, func(ev *genwayv1.StreamGenerateTextResponse) error {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_Started:
			s.name(p.Started, req.Head().GetModel())
			begun(record)
			answered(record, p.Started.GetModel(), p.Started.GetUsage())
			lost(record, p.Started.GetLosses())
			if !plausible(p.Started.GetUsage()) {
				p.Started.Usage = nil
			}
		case *genwayv1.StreamGenerateTextResponse_Wire:
			begun(record)
		case *genwayv1.StreamGenerateTextResponse_Completed:
			if completed {
				return nil
			}
			completed = true
			answered(record, "", p.Completed.GetUsage())
			lost(record, p.Completed.GetLosses())
			held.complete = true
			if !plausible(p.Completed.GetUsage()) {
				p.Completed.Usage = nil
				if !passes { // a caller of the upstream's protocol has the figures in its frames
					p.Completed.Losses = append(p.Completed.GetLosses(), implausible())
				}
			}
		}
		held.sample.add(ev)
		held.flowed(ev)
		items = items.add(s, req, ev)
		passes = passes || ev.GetWire() != nil
		if c := record.Capture; c != nil && !passes && ev.GetPing() == nil {
			c.Message(capture.ContractAnswer, "", ev)
		}
		return answer.add(ctx, ev, record.Ending, ev.GetCompleted() != nil)
	})
	if err == nil && !completed {
		err = fault.StreamCut()
	}
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

// CheckAccess says whether the caller's key may be used at all.
func (s *Service) CheckAccess(ctx context.Context, _ *genwayv1.CheckAccessRequest) (*genwayv1.CheckAccessResponse, error) {
	if err := permit(ctx, call.Of(ctx).Caller, ""); err != nil {
		return nil, err
	}
	return &genwayv1.CheckAccessResponse{}, nil
}

// trusted gives a caller's own body, if an edge vouches that it is one of the
// protocol the call came in by.
func trusted(caller call.Caller, wire *genwayv1.WireMessage) *genwayv1.WireMessage {
	if !caller.Edge || wire.GetProtocol() != caller.Protocol {
		return nil
	}
	return wire
}
