package core

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
	// Items keep what callers may refer to later; nil keeps nothing.
	Items *items.Keeper
	// Clock is time.Now unless set.
	Clock func() time.Time
	// NewID makes an identifier that begins with prefix. Default: 26 random
	// characters behind it.
	NewID func(prefix string) string
}

// Service is the Generation service.
type Service struct {
	genwayv1.UnimplementedGenerationServer
	config  Config
	started time.Time
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
		config.NewID = func(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
	}
	return &Service{config: config, started: config.Clock()}, nil
}

// GenerateText gives one complete answer.
func (s *Service) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (resp *genwayv1.GenerateTextResponse, err error) {
	asking(ctx, req.GetModel())
	req.Wire = trusted(ctx, req.GetWire())
	if err := checkText(req); err != nil {
		return nil, err
	}
	asked := textRequest(ctx, req)
	err = s.account(ctx, ask{"GenerateText", req.GetModel(), asked}, func(ctx context.Context) error {
		resp, err = s.generateText(ctx, asked)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Service) generateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := s.resolved(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, err := upstream.GenerateText(ctx, s.config.Upstream, req)
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
	call := outcomeOf(ctx)
	call.answered(resp.GetModel(), resp.GetUsage())
	call.complete, call.answer = true, resp
	call.lost(resp.GetLosses())
	if resp.GetWire() == nil && !plausible(resp.GetUsage()) {
		resp.Usage, resp.Losses = nil, append(resp.GetLosses(), implausible())
	}
	s.keep(ctx, req, resp)
	return resp, nil
}

// StreamGenerateText gives the answer as events, and an error when the upstream
// ends without the completed one.
func (s *Service) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	ctx := stream.Context()
	asking(ctx, req.GetModel())
	req.Wire = trusted(ctx, req.GetWire())
	if err := checkText(req); err != nil {
		return err
	}
	asked := textRequest(ctx, req)
	return s.account(ctx, ask{"StreamGenerateText", req.GetModel(), asked}, func(ctx context.Context) error {
		return s.streamText(ctx, asked, stream)
	})
}

func (s *Service) streamText(ctx context.Context, req *deferred.Request, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	req, err := s.resolved(ctx, req)
	if err != nil {
		return err
	}
	completed := false
	call, items := outcomeOf(ctx), s.recorder(ctx, req)
	err = upstream.StreamGenerateText(ctx, s.config.Upstream, req, func(ev *genwayv1.StreamGenerateTextResponse) error {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_Started:
			s.name(p.Started, req.Head().GetModel())
			call.begun()
			call.answered(p.Started.GetModel(), p.Started.GetUsage())
			call.lost(p.Started.GetLosses())
			if !plausible(p.Started.GetUsage()) {
				p.Started.Usage = nil
			}
		case *genwayv1.StreamGenerateTextResponse_Wire:
			call.begun()
		case *genwayv1.StreamGenerateTextResponse_Completed:
			if completed {
				return nil
			}
			completed = true
			call.answered("", p.Completed.GetUsage())
			call.lost(p.Completed.GetLosses())
			call.complete = true
			if !plausible(p.Completed.GetUsage()) {
				p.Completed.Usage, p.Completed.Losses = nil, append(p.Completed.GetLosses(), implausible())
			}
		}
		call.said.hear(ev)
		call.held.flowed(ev)
		items = items.add(ctx, s, req, ev)
		return stream.Send(ev)
	})
	if err == nil && !completed {
		return fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before its end")
	}
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

// CountTokens says what a request would put in.
func (s *Service) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (resp *genwayv1.CountTokensResponse, err error) {
	asking(ctx, req.GetRequest().GetModel())
	req.Wire = trusted(ctx, req.GetWire())
	// A direct caller's members are inside of the member request; those of a JSON caller
	// are not.
	inside := auth.CallerOf(ctx).Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED
	defer func() {
		if inside {
			err = insideOf("request", err)
		}
	}()
	if req.GetRequest().GetModel() == "" {
		return nil, fault.Missing("model")
	}
	if err := checkMessages(req.GetRequest().GetMessages()); err != nil {
		return nil, err
	}
	// The wire message of a count is its own, never one of the request inside.
	req.Request.Wire = nil
	err = s.account(ctx, ask{"CountTokens", req.GetRequest().GetModel(), req}, func(ctx context.Context) error {
		resp, err = s.config.Upstream.CountTokens(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// CheckAccess says whether the caller's key may be used at all.
func (s *Service) CheckAccess(ctx context.Context, _ *genwayv1.CheckAccessRequest) (*genwayv1.CheckAccessResponse, error) {
	if err := permit(ctx, auth.CallerOf(ctx), ""); err != nil {
		return nil, err
	}
	return &genwayv1.CheckAccessResponse{}, nil
}

// trusted gives a caller's own body, if an edge vouches that it is one of the
// protocol the call came in by.
func trusted(ctx context.Context, wire *genwayv1.WireMessage) *genwayv1.WireMessage {
	caller := auth.CallerOf(ctx)
	if !caller.Edge || wire.GetProtocol() != caller.Protocol {
		return nil
	}
	return wire
}
