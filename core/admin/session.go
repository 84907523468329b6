package admin

import (
	"context"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// ReasonReadOnly is a change that a read-only key asks for.
const ReasonReadOnly = "READ_ONLY"

// reads are how the names of methods begin that read-only keys may call.
var reads = []string{"Get", "List", "Watch", "Explain", "Verify", "CreateSession", "EndSession"}

// Permit holds a caller to what its key may do of this service. method is the full name.
func Permit(caller call.Caller, method string) error {
	name := method[strings.LastIndexByte(method, '/')+1:]
	if name == "GetCapture" && (caller.Policy == nil || !caller.Policy.ReadCaptures) {
		return fault.New(fault.PermissionDenied, ReasonNotForCaptures, "this key may not read captured bodies; %s needs a key with read_captures", name)
	}
	if caller.Policy == nil || !caller.Policy.ReadOnly {
		return nil
	}
	for _, prefix := range reads {
		if strings.HasPrefix(name, prefix) {
			return nil
		}
	}
	return fault.New(fault.PermissionDenied, ReasonReadOnly, "this key is read-only; %s needs a key that is not", name)
}

// CreateSession makes a session, or a link that makes one.
func (s *Service) CreateSession(ctx context.Context, req *adminv1.CreateSessionRequest) (*adminv1.CreateSessionResponse, error) {
	params := keys.SessionParams{By: call.Of(ctx).Caller.KeyID, ReadOnly: req.GetReadOnly(), ReadCaptures: req.GetReadCaptures(), Link: req.GetLink()}
	if req.GetLifetime() != nil {
		if err := req.Lifetime.CheckValid(); err != nil || req.Lifetime.AsDuration() <= 0 {
			return nil, fault.Invalid("lifetime", "lifetime: expected more than 0 and up to %s", keys.MaxSession)
		}
		params.Lifetime = req.Lifetime.AsDuration()
	}
	made, err := s.config.Keys.StartSession(acting(ctx), params)
	if err != nil {
		return nil, failure(ctx, err, inSession)
	}
	return &adminv1.CreateSessionResponse{Key: s.message(made.Key), RawKey: made.Raw}, nil
}

// GetSession returns the key that the caller shows.
func (s *Service) GetSession(ctx context.Context, _ *adminv1.GetSessionRequest) (*adminv1.GetSessionResponse, error) {
	key, err := s.config.Keys.Get(ctx, call.Of(ctx).Caller.KeyID)
	if err != nil {
		return nil, failure(ctx, err, inSession)
	}
	return &adminv1.GetSessionResponse{Key: s.message(key)}, nil
}

// EndSession ends the session of the caller.
func (s *Service) EndSession(ctx context.Context, _ *adminv1.EndSessionRequest) (*adminv1.EndSessionResponse, error) {
	id := call.Of(ctx).Caller.KeyID
	key, err := s.config.Keys.Get(ctx, id)
	if err != nil {
		return nil, failure(ctx, err, inSession)
	}
	if key.Labels[keys.LabelConsole] == "" {
		return nil, fault.Invalid("authorization", "the key shown is no session; RevokeKey ends it")
	}
	if _, err := s.config.Keys.Revoke(acting(ctx), id); err != nil {
		return nil, failure(ctx, err, inSession)
	}
	return &adminv1.EndSessionResponse{}, nil
}

// inSession are the paths of a request for a session.
func inSession(_ *keys.InvalidError, field keys.FieldError) string { return field.Field }
