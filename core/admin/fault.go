package admin

import (
	"context"
	"errors"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/keys"
)

// Reasons of this service, besides those of all.
const (
	ReasonKeyNotFound  = "KEY_NOT_FOUND"
	ReasonKeyAmbiguous = "KEY_AMBIGUOUS"
	ReasonKeyRevoked   = "KEY_REVOKED"
	ReasonKeyExpired   = "KEY_EXPIRED"
	ReasonLinkUsed     = "LINK_USED"
	ReasonStore        = "STORE_UNAVAILABLE"
)

// failure makes a fault of an error of the keys. at is the path under which the
// request has the settings, "settings" or "keys[2].settings".
func failure(ctx context.Context, err error, at func(*keys.InvalidError, keys.FieldError) string) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if invalid, ok := errors.AsType[*keys.InvalidError](err); ok {
		f := fault.Invalid("", "")
		for _, field := range invalid.Fields {
			f.Fields = append(f.Fields, fault.Field{Param: at(invalid, field), Message: field.Reason})
		}
		f.Param, f.Message = f.Fields[0].Param, f.Fields[0].Param+": "+f.Fields[0].Message
		return f
	}
	var f *fault.Error
	switch {
	case errors.Is(err, keys.ErrNotFound):
		f = fault.New(fault.NotFound, ReasonKeyNotFound, "no key has that id, and no key that is not revoked has that name")
		f.Param = "key"
	case errors.Is(err, keys.ErrAmbiguous):
		f = fault.New(fault.InvalidRequest, ReasonKeyAmbiguous, "several keys have that name; name it by its id, or as GROUP/NAME")
		f.Param = "key"
	case errors.Is(err, keys.ErrRaw):
		f = fault.Invalid("key", "%v", keys.ErrRaw)
	case errors.Is(err, keys.ErrRevoked):
		f = fault.New(fault.Unprocessable, ReasonKeyRevoked, "the key is revoked")
	case errors.Is(err, keys.ErrLinkUsed):
		f = fault.New(fault.Unprocessable, ReasonLinkUsed, "the sign-in link was used; make another, or sign in with an admin key")
	case errors.Is(err, keys.ErrExpired):
		f = fault.New(fault.Unprocessable, ReasonKeyExpired, "the key has expired; give it more time first")
	default:
		return unavailable(ctx, err)
	}
	return f
}

// unavailable is a store that does not answer, or a caller who does not wait.
func unavailable(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "DEADLINE_EXCEEDED", "the answer was not ready in time")
	case ctx.Err() != nil:
		return fault.Wrap(err, fault.Cancelled, "CANCELLED", "the call was cancelled")
	}
	return fault.Wrap(err, fault.Unavailable, ReasonStore, "the store does not answer; try again")
}

// inSettings are the paths of a request with one key's settings.
func inSettings(_ *keys.InvalidError, field keys.FieldError) string {
	switch field.Field {
	case "group", "grace", "key_id", "secret_sha256":
		return field.Field
	}
	return "settings." + field.Field
}
