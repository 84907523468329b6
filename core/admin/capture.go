package admin

import (
	"context"
	"errors"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Reasons of captured bodies.
const (
	ReasonNotForCaptures = "CAPTURES_NOT_PERMITTED"
	ReasonNoCapture      = "CAPTURE_NOT_FOUND"
	ReasonCaptureKey     = "CAPTURE_KEY_MISSING"
	ReasonCaptureDamaged = "CAPTURE_DAMAGED"
)

// What is done to captured bodies, as the audit names it. The names are stored: they never change.
const (
	ActionReadCapture   = "capture.read"
	ActionDeleteCapture = "capture.delete"
)

// Captures are the captured bodies. A vault.Vault has them.
type Captures interface {
	Read(ctx context.Context, process, number int64, reading audit.Change) (*vault.Row, []capture.Body, error)
	Has(ctx context.Context, process, number int64) (bool, error)
	Delete(ctx context.Context, which vault.Selection, changes ...audit.Change) (int64, error)
}

var bodyKinds = map[adminv1.BodyKind]capture.Kind{
	adminv1.BodyKind_BODY_KIND_CALLER_REQUEST:   capture.CallerRequest,
	adminv1.BodyKind_BODY_KIND_CONTRACT_REQUEST: capture.ContractRequest,
	adminv1.BodyKind_BODY_KIND_UPSTREAM_REQUEST: capture.UpstreamRequest,
	adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER:  capture.UpstreamAnswer,
	adminv1.BodyKind_BODY_KIND_CONTRACT_ANSWER:  capture.ContractAnswer,
}

// GetCapture returns the captured bodies of a request, once the audit has it.
func (s *Service) GetCapture(ctx context.Context, req *adminv1.GetCaptureRequest) (*adminv1.GetCaptureResponse, error) {
	if s.config.Captures == nil {
		return s.UnimplementedAdminServer.GetCapture(ctx, req)
	}
	process, number, err := located(req.GetId())
	if err != nil {
		return nil, err
	}
	row, bodies, err := s.config.Captures.Read(ctx, process, number, s.change(ctx, ActionReadCapture, req.GetId()))
	if missing, ok := errors.AsType[*vault.MissingKeyError](err); ok {
		return nil, fault.New(fault.Unprocessable, ReasonCaptureKey, "the bodies are encrypted by the key %q, which the core's key file does not have", missing.Name)
	}
	switch {
	case errors.Is(err, vault.ErrDamaged):
		return nil, fault.New(fault.Unprocessable, ReasonCaptureDamaged, "the stored bodies are damaged, or were encrypted by another key of the same name")
	case err != nil:
		return nil, unavailable(ctx, err)
	case row == nil:
		f := fault.New(fault.NotFound, ReasonNoCapture, "no bodies of that request were captured, or they were removed")
		f.Param = "id"
		return nil, f
	}
	resp := &adminv1.GetCaptureResponse{KeyId: row.KeyID, StartTime: timestamppb.New(row.Start), ExpireTime: timestamppb.New(row.Expires), SealedBy: row.SealedBy}
	for _, b := range bodies {
		resp.Bodies = append(resp.Bodies, &adminv1.CapturedBody{
			Kind: inverse(bodyKinds, b.Kind), Call: int32(b.Call), Upstream: b.Upstream, Protocol: protocolOf(b.Protocol), Size: b.Size, Redacted: b.Redacted, Cut: b.Cut, Data: b.Data,
		})
	}
	return resp, nil
}

// DeleteCaptures deletes captured bodies.
func (s *Service) DeleteCaptures(ctx context.Context, req *adminv1.DeleteCapturesRequest) (*adminv1.DeleteCapturesResponse, error) {
	if s.config.Captures == nil {
		return s.UnimplementedAdminServer.DeleteCaptures(ctx, req)
	}
	if req.GetId() == "" && req.GetKeyId() == "" && !req.GetAll() {
		return nil, fault.Invalid("id", "expected one of id, key_id and all")
	}
	which, subject := vault.Selection{KeyID: req.GetKeyId(), All: req.GetAll()}, req.GetKeyId()
	if req.GetId() != "" {
		var err error
		if which.Process, which.Number, err = located(req.GetId()); err != nil {
			return nil, err
		}
		subject = req.GetId()
	}
	deleted, err := s.config.Captures.Delete(ctx, which, s.change(ctx, ActionDeleteCapture, subject))
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return &adminv1.DeleteCapturesResponse{Deleted: deleted}, nil
}

// change is an entry of the audit in the caller's name.
func (s *Service) change(ctx context.Context, action, subject string) audit.Change {
	return audit.Change{Time: s.config.Clock().UTC().Truncate(time.Microsecond), Actor: audit.ActorOf(acting(ctx)), Action: action, Subject: subject}
}

// captureRule reads a rule at a path. Package keys validates it.
func captureRule(from *adminv1.CaptureRule, at string) (*capture.Rule, error) {
	if from == nil {
		return nil, nil
	}
	rule := &capture.Rule{Share: from.GetShare(), MaxBytes: from.GetMaxBytes(), Redact: from.GetRedact()}
	if from.Share != nil && from.GetShare() == 0 {
		return nil, fault.Invalid(at+".share", "%s.share: expected a number above 0 and up to 1, got 0", at)
	}
	if from.GetUntil() != nil {
		if err := from.Until.CheckValid(); err != nil {
			return nil, fault.Invalid(at+".until", "%s.until: expected a time from year 1 to 9999", at)
		}
		rule.Until = from.Until.AsTime()
	}
	return rule, nil
}

// CaptureMessage is a rule as the contract has it; nil for none.
func CaptureMessage(rule *capture.Rule) *adminv1.CaptureRule {
	if rule == nil {
		return nil
	}
	m := &adminv1.CaptureRule{MaxBytes: rule.MaxBytes, Redact: rule.Redact, Until: timestamppb.New(rule.Until)}
	if rule.Share != 0 {
		m.Share = &rule.Share
	}
	return m
}

// permitReading refuses to give the right to read captured bodies to settings that had it not
// before, unless the caller has it.
func permitReading(ctx context.Context, before, after *keys.Settings) error {
	policy := call.Of(ctx).Caller.Policy
	if !after.Policy.ReadCaptures || before.Policy.ReadCaptures || policy != nil && policy.ReadCaptures {
		return nil
	}
	return fault.New(fault.PermissionDenied, ReasonNotForCaptures, "only a key with read_captures can give it to another; so can `genway keys` on the core's host")
}

// ListCaptureRules lists the rules that hold now. A rule whose end is further ahead than any may be captures
// nothing: the clock was put back.
func (s *Service) ListCaptureRules(ctx context.Context, _ *adminv1.ListCaptureRulesRequest) (*adminv1.ListCaptureRulesResponse, error) {
	now, resp := s.config.Clock(), &adminv1.ListCaptureRulesResponse{}
	for key, err := range s.config.Keys.All(ctx, keys.Query{LiveAt: now}) {
		if err != nil {
			return nil, failure(ctx, err, inSession)
		}
		if rule := key.Policy.Capture; rule != nil && runs(rule.Until, now) {
			resp.Rules = append(resp.Rules, &adminv1.RunningCapture{KeyId: key.ID, KeyName: key.Name, Rule: CaptureMessage(rule)})
		}
	}
	if s.config.Topology == nil {
		return resp, nil
	}
	for _, route := range s.config.Topology.Routes() {
		if rule := route.GetCapture(); rule != nil && runs(rule.GetUntil().AsTime(), now) {
			resp.Rules = append(resp.Rules, &adminv1.RunningCapture{Route: route.GetModel(), Protocols: route.GetProtocols(), Rule: rule})
		}
	}
	return resp, nil
}

// runs reports whether a rule that ends then captures bodies now.
func runs(until, now time.Time) bool { return until.After(now) && until.Sub(now) <= capture.MaxAhead }
