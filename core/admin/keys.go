package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// CreateKey makes a key.
func (s *Service) CreateKey(ctx context.Context, req *adminv1.CreateKeyRequest) (*adminv1.CreateKeyResponse, error) {
	params, err := createParams(req, "")
	if err != nil {
		return nil, err
	}
	if err := permitReading(ctx, &keys.Settings{}, &params.Settings); err != nil {
		return nil, err
	}
	raw, key, err := s.config.Keys.Create(acting(ctx), params)
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	return &adminv1.CreateKeyResponse{Key: s.message(key), RawKey: raw}, nil
}

// createParams reads a request that stands at a path: empty, or keys[2] and a point.
func createParams(req *adminv1.CreateKeyRequest, at string) (keys.CreateParams, error) {
	of, err := group(req.GetGroup(), at+"group")
	if err != nil {
		return keys.CreateParams{}, err
	}
	with, err := settings(req.GetSettings(), at+"settings")
	if err != nil {
		return keys.CreateParams{}, err
	}
	params := keys.CreateParams{Group: of, Settings: with, Drawn: keys.Drawn{ID: req.GetKeyId()}}
	params.Drawn.Secret, err = digest(req.GetSecretSha256(), at+"secret_sha256")
	return params, err
}

// digest reads the digest of a secret, which stands at a path; zero for none.
func digest(from []byte, at string) (d keys.Digest, err error) {
	if len(from) == 0 {
		return d, nil
	}
	if copy(d[:], from); len(from) != len(d) || d == (keys.Digest{}) {
		return d, fault.Invalid(at, "%s: expected the %d bytes of a SHA-256", at, len(d))
	}
	return d, nil
}

// ImportKeys makes many keys, all or none.
func (s *Service) ImportKeys(ctx context.Context, req *adminv1.ImportKeysRequest) (*adminv1.ImportKeysResponse, error) {
	if n := len(req.GetKeys()); n > maxPage {
		return nil, fault.Invalid("keys", "keys: at most %d, not %d", maxPage, n)
	}
	params := make([]keys.CreateParams, len(req.GetKeys()))
	for i, one := range req.GetKeys() {
		var err error
		if params[i], err = createParams(one, fmt.Sprintf("keys[%d].", i)); err != nil {
			return nil, err
		}
		if err := permitReading(ctx, &keys.Settings{}, &params[i].Settings); err != nil {
			return nil, err
		}
	}
	made, err := s.config.Keys.Import(acting(ctx), params, req.GetValidateOnly())
	if err != nil {
		return nil, failure(ctx, err, func(e *keys.InvalidError, field keys.FieldError) string {
			return fmt.Sprintf("keys[%d].%s", e.Index, inSettings(e, field))
		})
	}
	resp := &adminv1.ImportKeysResponse{}
	for _, c := range made {
		resp.Keys = append(resp.Keys, &adminv1.CreateKeyResponse{Key: s.message(c.Key), RawKey: c.Raw})
	}
	return resp, nil
}

// GetKey returns what is known of a key.
func (s *Service) GetKey(ctx context.Context, req *adminv1.GetKeyRequest) (*adminv1.GetKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Get(ctx, req.GetKey())
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	return &adminv1.GetKeyResponse{Key: s.message(key)}, nil
}

// UpdateKey changes the settings that the mask names.
func (s *Service) UpdateKey(ctx context.Context, req *adminv1.UpdateKeyRequest) (*adminv1.UpdateKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	change, err := masked(req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	next, err := settings(req.GetSettings(), "settings")
	if err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Update(acting(ctx), req.GetKey(), func(to *keys.Settings) error {
		before := to.Clone()
		change(to, next.Clone())
		return permitReading(ctx, &before, to)
	})
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	return &adminv1.UpdateKeyResponse{Key: s.message(key)}, nil
}

// defaultGrace is how long the secret before stays good unless a rotation says.
const defaultGrace = 24 * time.Hour

// RotateKey gives a key a new secret.
func (s *Service) RotateKey(ctx context.Context, req *adminv1.RotateKeyRequest) (*adminv1.RotateKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	grace := defaultGrace
	if req.GetGrace() != nil {
		if err := req.Grace.CheckValid(); err != nil {
			return nil, fault.Invalid("grace", "grace: it is no duration")
		}
		grace = req.Grace.AsDuration()
	}
	secret, err := digest(req.GetSecretSha256(), "secret_sha256")
	if err != nil {
		return nil, err
	}
	made, err := s.config.Keys.Rotate(acting(ctx), req.GetKey(), keys.Rotation{
		Grace: grace, Secret: secret, Dry: req.GetValidateOnly(),
		// The new secret is the caller's, with all that the key may do.
		Permit: func(with keys.Settings) error { return permitReading(ctx, &keys.Settings{}, &with) },
	})
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	return &adminv1.RotateKeyResponse{Key: s.message(made.Key), RawKey: made.Raw}, nil
}

// RevokeKey ends a key for good.
func (s *Service) RevokeKey(ctx context.Context, req *adminv1.RevokeKeyRequest) (*adminv1.RevokeKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Revoke(acting(ctx), req.GetKey())
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	if key.Group == keys.GroupAdmin {
		if err := s.config.Keys.EndSessions(acting(ctx), key.ID); err != nil {
			return nil, failure(ctx, err, inSettings)
		}
	}
	return &adminv1.RevokeKeyResponse{Key: s.message(key)}, nil
}

func named(key string) error {
	if key == "" {
		return fault.Missing("key")
	}
	return nil
}

func (s *Service) message(key keys.Key) *adminv1.Key {
	return keyMessage(key, s.config.Clock())
}
