package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// Client is the keys of a core elsewhere: it does by the Admin service what
// *keys.Service does on a store. Secrets have no hashes here. Errors are as from the
// service in one line, and *keys.InvalidError where members are at fault.
type Client struct {
	Admin adminv1.AdminClient
}

// Create makes a key.
func (c Client) Create(ctx context.Context, params keys.CreateParams) (raw string, key keys.Key, err error) {
	resp, err := c.Admin.CreateKey(ctx, createRequest(params))
	if err != nil {
		return "", keys.Key{}, clientError("create key", err)
	}
	return keyAnd(resp.GetRawKey(), resp.GetKey())
}

// CanCreate reports what Create would refuse now, and makes nothing.
func (c Client) CanCreate(ctx context.Context, params keys.CreateParams) error {
	_, err := c.Admin.ImportKeys(ctx, &adminv1.ImportKeysRequest{Keys: []*adminv1.CreateKeyRequest{createRequest(params)}, ValidateOnly: true})
	if err != nil {
		return clientError("create key", err)
	}
	return nil
}

// Import makes many keys, all or none; at most 1000.
func (c Client) Import(ctx context.Context, params []keys.CreateParams, dry bool) ([]keys.Created, error) {
	req := &adminv1.ImportKeysRequest{ValidateOnly: dry}
	for _, p := range params {
		req.Keys = append(req.Keys, createRequest(p))
	}
	resp, err := c.Admin.ImportKeys(ctx, req)
	if err != nil {
		return nil, clientError("import keys", err)
	}
	made := make([]keys.Created, len(resp.GetKeys()))
	for i, m := range resp.GetKeys() {
		if made[i].Raw, made[i].Key, err = keyAnd(m.GetRawKey(), m.GetKey()); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// ImportAll makes what a caller reads part by part, all or none; at most 1000 keys, since they
// go in one call.
func (c Client) ImportAll(ctx context.Context, of keys.Importing) error {
	var params []keys.CreateParams
	for p, err := range of.Params {
		if err != nil {
			return fmt.Errorf("import keys: %w", err)
		}
		if len(params) == maxPage {
			return fmt.Errorf("import keys: a server takes at most %d keys at once, and there are more; import parts of them, or all on the store itself", maxPage)
		}
		params = append(params, p)
	}
	made, err := c.Import(ctx, params, of.Dry)
	if err != nil {
		return err
	}
	if of.Made == nil {
		return nil
	}
	return of.Made(made)
}

// All yields every key that the query asks for, the oldest first, page by page. It ends with
// the first error.
func (c Client) All(ctx context.Context, query keys.Query) iter.Seq2[keys.Key, error] {
	return func(yield func(keys.Key, error) bool) {
		req := &adminv1.ListKeysRequest{PageSize: maxPage, PageToken: query.After, Owner: query.Owner, Group: inverse(groups, query.Group), Live: !query.LiveAt.IsZero()}
		for {
			resp, err := c.Admin.ListKeys(ctx, req)
			if err != nil {
				yield(keys.Key{}, clientError("list keys", err))
				return
			}
			for _, m := range resp.GetKeys() {
				_, key, err := keyAnd("", m)
				if !yield(key, err) || err != nil {
					return
				}
			}
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				return
			}
		}
	}
}

// Get returns a key.
func (c Client) Get(ctx context.Context, ref string) (keys.Key, error) {
	resp, err := c.Admin.GetKey(ctx, &adminv1.GetKeyRequest{Key: ref})
	if err != nil {
		return keys.Key{}, clientError("find key", err)
	}
	_, key, err := keyAnd("", resp.GetKey())
	return key, err
}

// Update changes the settings that change alters, and no others: what somebody else
// changes meanwhile of the rest stays.
func (c Client) Update(ctx context.Context, ref string, change func(*keys.Settings) error) (keys.Key, error) {
	key, err := c.Get(ctx, ref)
	if err != nil {
		return keys.Key{}, err
	}
	before, after := settingsMessage(key.Settings), key.Settings.Clone()
	if err := change(&after); err != nil {
		return keys.Key{}, err
	}
	req := &adminv1.UpdateKeyRequest{Key: key.ID, Settings: settingsMessage(after), UpdateMask: &fieldmaskpb.FieldMask{}}
	was, is := before.ProtoReflect(), req.GetSettings().ProtoReflect()
	for i := range was.Descriptor().Fields().Len() {
		if field := was.Descriptor().Fields().Get(i); !same(was, is, field) {
			req.UpdateMask.Paths = append(req.UpdateMask.Paths, string(field.Name()))
		}
	}
	if len(req.GetUpdateMask().GetPaths()) == 0 {
		return key, nil
	}
	resp, err := c.Admin.UpdateKey(ctx, req)
	if err != nil {
		return keys.Key{}, clientError("update key "+key.ID, err)
	}
	_, key, err = keyAnd("", resp.GetKey())
	return key, err
}

func same(a, b protoreflect.Message, field protoreflect.FieldDescriptor) bool {
	return a.Has(field) == b.Has(field) && a.Get(field).Equal(b.Get(field))
}

// Rotate replaces the secret of a key. The server decides whether that is permitted.
func (c Client) Rotate(ctx context.Context, ref string, how keys.Rotation) (keys.Created, error) {
	resp, err := c.Admin.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: ref, Grace: durationpb.New(how.Grace), SecretSha256: digestBytes(how.Secret), ValidateOnly: how.Dry})
	if err != nil {
		return keys.Created{}, clientError("rotate key", err)
	}
	raw, key, err := keyAnd(resp.GetRawKey(), resp.GetKey())
	return keys.Created{Raw: raw, Key: key}, err
}

// Revoke ends a key for good.
func (c Client) Revoke(ctx context.Context, ref string) (keys.Key, error) {
	resp, err := c.Admin.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: ref})
	if err != nil {
		return keys.Key{}, clientError("revoke key", err)
	}
	_, key, err := keyAnd("", resp.GetKey())
	return key, err
}

func createRequest(params keys.CreateParams) *adminv1.CreateKeyRequest {
	return &adminv1.CreateKeyRequest{Groups: groupValues(params.Group), Settings: settingsMessage(params.Settings), KeyId: params.Drawn.ID, SecretSha256: digestBytes(params.Drawn.Secret)}
}

// digestBytes is a digest as the contract has it; nil for the zero one.
func digestBytes(d keys.Digest) []byte {
	if d == (keys.Digest{}) {
		return nil
	}
	return d[:]
}

// keyAnd returns a key of the contract's, and the raw one that came with it.
func keyAnd(raw string, m *adminv1.Key) (string, keys.Key, error) {
	with, err := settings(m.GetSettings(), "settings")
	if err != nil {
		return "", keys.Key{}, fmt.Errorf("the server's answer: %w", err)
	}
	key := keys.Key{ID: m.GetId(), Settings: with, CreateTime: m.GetCreateTime().AsTime()}
	var list []keys.Group
	for _, group := range m.GetGroups() {
		list = append(list, groups[group])
	}
	if key.Group, err = keys.Join(list...); err != nil {
		return "", keys.Key{}, fmt.Errorf("the server's answer: %w", err)
	}
	if m.GetRevokeTime() != nil {
		at := m.GetRevokeTime().AsTime()
		key.RevokeTime = &at
	}
	for _, s := range m.GetSecrets() {
		secret := keys.Secret{CreateTime: s.GetCreateTime().AsTime()}
		if s.GetExpireTime() != nil {
			at := s.GetExpireTime().AsTime()
			secret.ExpireTime = &at
		}
		key.Secrets = append(key.Secrets, secret)
	}
	return raw, key, nil
}

// ErrUnanswered is returned if the server may have done a call, but its answer was lost.
var ErrUnanswered = errors.New("it is not known whether the server has done it")

// clientError returns the service's error with its own text, and ErrUnanswered where that applies.
func clientError(doing string, err error) error {
	st := status.Convert(err)
	for _, d := range st.Details() {
		request, ok := d.(*errdetails.BadRequest)
		if !ok {
			continue
		}
		invalid := &keys.InvalidError{}
		for _, v := range request.GetFieldViolations() {
			field := v.GetField()
			if _, err := fmt.Sscanf(field, "keys[%d].", &invalid.Index); err == nil {
				_, field, _ = strings.Cut(field, ".")
			}
			invalid.Fields = append(invalid.Fields, keys.FieldError{Field: strings.TrimPrefix(field, "settings."), Reason: v.GetDescription()})
		}
		if len(invalid.Fields) > 0 {
			return fmt.Errorf("%s: %w", doing, invalid)
		}
	}
	switch st.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Internal, codes.Unavailable, codes.Unknown:
		return fmt.Errorf("%s: %s: %w", doing, st.Message(), ErrUnanswered)
	default:
		return fmt.Errorf("%s: %w", doing, errors.New(st.Message()))
	}
}
