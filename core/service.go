package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/identifier"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/telemetry/instrument"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Config is what a Service is made of. Only Upstream must be set.
type Config struct {
	// Upstream answers the requests.
	Upstream upstream.Upstream
	// Ledger accounts for them; nil does not.
	Ledger *ledger.Recorder
	// ReportCost says whether answers tell what they cost; nil is never.
	ReportCost func() bool
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
	// Background is how many responses one key may have in the background at once; 0 runs none there.
	Background int
	// Logger has a line for each of those that ends. Default: none.
	Logger *slog.Logger
	// Clock is time.Now unless set.
	Clock func() time.Time
	// NewID makes an identifier that begins with prefix. Default: 32
	// hexadecimal digits follow it.
	NewID func(prefix string) string
}

// Service is the Generation service.
type Service struct {
	genwayv1.UnimplementedGenerationServer
	edgev1.UnimplementedAccessServer
	config  Config
	started time.Time
	runs    runs
	// captures returns the rule of a request's route for capturing; nil where there are no routes.
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
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{config: config, started: config.Clock()}
	s.runs.service, s.runs.stopped, s.runs.draining = s, make(chan struct{}), make(chan struct{})
	if routes, ok := config.Upstream.(interface {
		Capture(protocol genwayv1.Protocol, model string) *capture.Rule
	}); ok {
		s.captures = routes.Capture
	}
	return s, nil
}

// GenerateText returns one complete answer.
func (s *Service) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	ctx, record := begin(ctx, "GenerateText", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkText(req); err != nil {
		return nil, err
	}
	if isBackground(req) {
		return s.queueText(ctx, record, req)
	}
	c, err := s.continued(ctx, record, req)
	if err != nil {
		return nil, err
	}
	record.Deferred = c.asked.Deferred()
	resp, err := answer(ctx, s, record, textRequest{c.req}, func(ctx context.Context, held *admission) (*genwayv1.GenerateTextResponse, error) {
		return s.generateText(ctx, held, c)
	})
	record.BodyUnreferenced = err == nil && unreferenced(c.asked)
	return resp, err
}

func (s *Service) generateText(ctx context.Context, held *admission, c conversation) (*genwayv1.GenerateTextResponse, error) {
	req, err := s.resolved(ctx, held.record.Caller, c.req)
	if err != nil {
		return nil, err
	}
	c.resolved(req)
	if req, err = c.withoutWire(req); err != nil {
		return nil, err
	}
	resp, err := s.config.Upstream.GenerateText(ctx, req)
	if err != nil {
		return nil, c.refused(err)
	}
	kept := s.keeper(held, c)
	if resp.GetWire() != nil {
		kept.made(resp.GetId())
	}
	if resp.Id == "" {
		resp.Id = s.config.NewID("gen_")
	}
	if resp.CreateTime == nil {
		resp.CreateTime = timestamppb.New(s.config.Clock())
	}
	resp.Model = cmp.Or(resp.Model, req.Head().GetModel())
	answered(held.record, resp.GetModel(), resp.GetUsage())
	held.answer = resp
	held.completed(resp, &resp.Usage, &resp.Losses)
	kept.unary(resp)
	return resp, nil
}

// answer runs a request that has one answer, from its admission to its settlement. ask gets the answer.
func answer[A any](ctx context.Context, s *Service, record *call.Record, req request, ask func(context.Context, *admission) (A, error)) (A, error) {
	var resp, none A
	err := s.account(ctx, record, req, func(ctx context.Context, held *admission) (err error) {
		resp, err = ask(ctx, held)
		return err
	})
	if err != nil {
		return none, err
	}
	s.tellCost(record, resp)
	return resp, nil
}

// completed takes a whole answer. Figures that cannot be true are left out of one that is translated.
func (a *admission) completed(resp message, usage **genwayv1.Usage, losses *[]*genwayv1.Loss) {
	a.complete = true
	lost(a.record, *losses)
	if resp.GetWire() != nil {
		return
	}
	if !plausible(*usage) {
		*usage, *losses = nil, append(*losses, implausible())
	}
	if c := a.record.Capture; c != nil {
		c.Message(capture.ContractAnswer, "", resp)
	}
}

// TryText sends a request to one upstream on behalf of the caller of ctx. The request is admitted, metered and
// recorded in the ledger like a direct caller's. The record describes the result. It is not Admitted if the
// request was refused before the upstream was called.
func (s *Service) TryText(ctx context.Context, upstream string, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, *call.Record, error) {
	ctx, record := s.pinned(ctx, upstream)
	resp, err := s.GenerateText(ctx, req)
	return resp, record, err
}

// pinned begins the record of a request to one upstream, beside that of the administrator's call.
func (s *Service) pinned(ctx context.Context, upstream string) (context.Context, *call.Record) {
	by := call.Of(ctx)
	record := &call.Record{ID: s.config.NewID("req_"), Start: time.Now(), Span: by.Span, Tracer: by.Tracer, Metrics: by.Metrics, Pinned: upstream}
	record.Caller = call.Caller{Principal: by.Caller.Principal}
	return call.With(ctx, record), record
}

// CountTokens says what a request would put in.
func (s *Service) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (_ *genwayv1.CountTokensResponse, err error) {
	ctx, record := begin(ctx, "CountTokens", req.GetRequest().GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	// A direct caller's members are inside of the member request; those of a JSON caller
	// are not.
	inside := record.Caller.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED
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
	if req.GetWire() == nil {
		if err := checkDirect(req.GetRequest()); err != nil {
			return nil, err
		}
	}
	// The wire message of a count is its own, never one of the request inside.
	req.Request.Wire = nil
	if req, err = s.continueCount(ctx, record, req); err != nil {
		return nil, err
	}
	return answer(ctx, s, record, countRequest{CountTokensRequest: req}, func(ctx context.Context, _ *admission) (*genwayv1.CountTokensResponse, error) {
		return s.config.Upstream.CountTokens(ctx, req)
	})
}

// CheckAccess says whether the caller's key may be used at all.
func (s *Service) CheckAccess(ctx context.Context, _ *edgev1.CheckAccessRequest) (*edgev1.CheckAccessResponse, error) {
	if err := permit(ctx, call.Of(ctx).Caller, ""); err != nil {
		return nil, err
	}
	return &edgev1.CheckAccessResponse{}, nil
}

// trusted returns a caller's own body, if an edge vouches that it is one of the
// protocol the call came in by.
func trusted(caller call.Caller, wire *genwayv1.WireMessage) *genwayv1.WireMessage {
	if !caller.Edge || wire.GetProtocol() != caller.Protocol {
		return nil
	}
	return wire
}

// checkText demands what every upstream needs of a text request. A JSON caller's
// codec has checked as much in its own terms; this is for direct callers.
func checkText(req *genwayv1.GenerateTextRequest) error {
	if req.GetModel() == "" {
		return fault.Missing("model")
	}
	if req.GetCompact() && req.GetWire() == nil {
		return fault.Invalid("compact", "compact: is for edges; ask for a summary in a message instead")
	}
	if deferred.Is(req) || len(req.GetMessages()) == 0 && len(req.GetWire().GetJson()) > 0 {
		return nil // what the body may leave out is its protocol's to say
	}
	if err := checkMessages(req.GetMessages()); err != nil || req.GetWire() != nil {
		return err
	}
	return checkDirect(req)
}

func checkMessages(messages []*genwayv1.Message) error {
	if len(messages) == 0 {
		return fault.Missing("messages")
	}
	for i, m := range messages {
		if m.GetRole() == genwayv1.Role_ROLE_UNSPECIFIED && m.GetNativeRole() == "" {
			return fault.Missing(fmt.Sprintf("messages[%d].role", i))
		}
		for j, p := range m.GetParts() {
			if p.GetKind() == nil {
				return fault.Missing(fmt.Sprintf("messages[%d].parts[%d].kind", i, j))
			}
		}
	}
	return nil
}

// insideOf returns the failure of a message within a member of another: the member
// at fault is the outer message's.
func insideOf(member string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.InvalidRequest || f.Param == "" {
		return err
	}
	inside := *f
	inside.Param = member + "." + f.Param
	inside.Message = strings.Replace(f.Message, f.Param, inside.Param, 1)
	return &inside
}

const (
	// maxLosses bounds the lost members that are recorded of a call.
	maxLosses = 16
	// otherMember replaces every member that the contract does not have: callers choose
	// the names of those.
	otherMember = "other"
)

// lost records members that could not be carried, by the last name of their paths, each once.
func lost(r *call.Record, losses []*genwayv1.Loss) {
	for _, loss := range losses {
		member := memberOf(loss.GetMember())
		if len(r.Losses) < maxLosses && !slices.Contains(r.Losses, member) {
			r.Losses = append(r.Losses, member)
		}
	}
}

// lostMembers returns the members that were lost, and why reasoning of the request did not fit, as reasoning:REASON,
// separated by commas.
func lostMembers(r *call.Record) string {
	members := strings.Join(r.Losses, ",")
	if len(r.Mismatches) == 0 {
		return members
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Mismatches)) {
		if members != "" {
			members += ","
		}
		members += "reasoning:" + reason
	}
	return members
}

// memberOf returns the last name of a path (messages[0].parts[1].cache_control), if it is one
// of the contract's, else other.
func memberOf(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		path = path[i+1:]
	}
	if i := strings.IndexByte(path, '['); i >= 0 {
		path = path[:i]
	}
	if members()[path] {
		return path
	}
	return otherMember
}

// members are the names of all fields of the contract.
var members = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	seen := map[protoreflect.FullName]bool{}
	var walk func(protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		fields := m.Fields()
		for i := range fields.Len() {
			field := fields.Get(i)
			names[string(field.Name())] = true
			if field.Message() != nil {
				walk(field.Message())
			}
		}
	}
	for _, m := range []protoreflect.ProtoMessage{&genwayv1.GenerateTextRequest{}, &genwayv1.GenerateTextResponse{}, &genwayv1.StreamGenerateTextResponse{}, &genwayv1.GenerateImageRequest{}, &genwayv1.GenerateImageResponse{}} {
		walk(m.ProtoReflect().Descriptor())
	}
	return names
})

// The raw body of a request that an edge sends over a connection is in memory that is used again
// (arena.Body). A body of one caller in the request of another would be the worst of errors, so the memory
// is given back only where it is known who has seen the body: the call succeeded, its body was not decoded,
// which makes parts of it the messages', nothing captures it, and each call of an upstream has sent it to
// its end. All other bodies are left to the collector.

// unreferenced reports whether nothing of a request refers to its raw body once the request is answered.
func unreferenced(asked *deferred.Request) bool { return !asked.Decoded() && !mayRefer(asked) }

// releaseBody ends the call's own hold on the body of its request, if it can.
func releaseBody(record *call.Record, err error) {
	if record.Body == nil || err != nil || !record.BodyUnreferenced || record.Capture != nil || record.CallerLeft {
		return
	}
	if record.BodySent > 0 && record.BodySent == record.Calls {
		record.Body.Release()
	}
}
