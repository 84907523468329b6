package admin_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

func session(t *testing.T, f *fixture, by string, req *adminv1.CreateSessionRequest) *adminv1.CreateSessionResponse {
	t.Helper()
	made, err := f.CreateSession(showing(t, by), req)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A session is a key that ends, with the rights of the key it is made by and no others. It
// ends when it says so, and with that key.
func TestSessions(t *testing.T) {
	f := serve(t)
	one := session(t, f, f.root, &adminv1.CreateSessionRequest{})
	if who, err := f.GetSession(showing(t, one.GetRawKey()), &adminv1.GetSessionRequest{}); err != nil || who.GetKey().GetId() != one.GetKey().GetId() {
		t.Errorf("whose session: %v, %v", who, err)
	}
	labels := one.GetKey().GetSettings().GetLabels()
	if labels["console"] != "session" || labels["console.by"] != f.rootID {
		t.Errorf("labels %v", labels)
	}
	if left := time.Until(one.GetKey().GetSettings().GetExpireTime().AsTime()); left < 11*time.Hour || left > keys.MaxSession {
		t.Errorf("it lasts %v", left)
	}
	nested := session(t, f, one.GetRawKey(), &adminv1.CreateSessionRequest{Lifetime: durationpb.New(time.Minute)})
	if by := nested.GetKey().GetSettings().GetLabels()["console.by"]; by != f.rootID {
		t.Errorf("a session's session is by %s", by)
	}
	if _, err := f.EndSession(showing(t, one.GetRawKey()), &adminv1.EndSessionRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ListKeys(showing(t, one.GetRawKey()), &adminv1.ListKeysRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("an ended session: %v", err)
	}
	if _, err := f.EndSession(showing(t, f.root), &adminv1.EndSessionRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a key that is no session: %v", err)
	}
	other, err := f.CreateKey(showing(t, f.root), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_ADMIN}})
	if err != nil {
		t.Fatal(err)
	}
	of := session(t, f, other.GetRawKey(), &adminv1.CreateSessionRequest{})
	if _, err := f.RevokeKey(showing(t, f.root), &adminv1.RevokeKeyRequest{Key: other.GetKey().GetId()}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ListKeys(showing(t, of.GetRawKey()), &adminv1.ListKeysRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a session whose key is revoked: %v", err)
	}
	if _, err := f.ListKeys(showing(t, nested.GetRawKey()), &adminv1.ListKeysRequest{}); err != nil {
		t.Errorf("a session of another key: %v", err)
	}
	for _, lifetime := range []*durationpb.Duration{durationpb.New(0), durationpb.New(-1), durationpb.New(12*time.Hour + 1), {Seconds: 1<<63 - 1}, {Nanos: 1 << 30, Seconds: 1}} {
		if _, err := f.CreateSession(showing(t, f.root), &adminv1.CreateSessionRequest{Lifetime: lifetime}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("lifetime %v: %v", lifetime, err)
		}
	}
}

// Of many that use a link at once, one gets a session, with the link's rights.
func TestALinkIsUsedOnce(t *testing.T) {
	f := serve(t)
	link := session(t, f, f.root, &adminv1.CreateSessionRequest{Link: true, ReadOnly: true})
	var group sync.WaitGroup
	var won atomic.Pointer[adminv1.CreateSessionResponse]
	var count atomic.Int64
	for range 20 {
		group.Go(func() {
			made, err := f.CreateSession(showing(t, link.GetRawKey()), &adminv1.CreateSessionRequest{})
			switch code := status.Code(err); {
			case err == nil:
				count.Add(1)
				won.Store(made)
			case code == codes.Unauthenticated: // it is revoked by then
			case detail(t, err).GetReason() != admin.ReasonLinkUsed:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if count.Load() != 1 {
		t.Fatalf("%d sessions of one link", count.Load())
	}
	if s := won.Load().GetKey().GetSettings(); !s.GetReadOnly() || s.GetLabels()["console.by"] != f.rootID {
		t.Errorf("the session is %v", s)
	}
}

// A read-only key reads, signs in and out, and changes nothing.
func TestReadOnly(t *testing.T) {
	f := serve(t)
	viewer, err := f.CreateKey(showing(t, f.root), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_ADMIN}, Settings: &adminv1.KeySettings{ReadOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	in := session(t, f, viewer.GetRawKey(), &adminv1.CreateSessionRequest{})
	if !in.GetKey().GetSettings().GetReadOnly() {
		t.Error("its session is not read-only")
	}
	for _, raw := range []string{viewer.GetRawKey(), in.GetRawKey()} {
		ctx := showing(t, raw)
		for name, call := range map[string]func(context.Context) error{
			"CreateKey": func(ctx context.Context) error {
				_, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}})
				return err
			},
			"UpdateKey": func(ctx context.Context) error {
				_, err := f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{Key: viewer.GetKey().GetId(), Settings: &adminv1.KeySettings{}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"read_only"}}})
				return err
			},
			"RotateKey": func(ctx context.Context) error {
				_, err := f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: f.rootID})
				return err
			},
			"RevokeKey": func(ctx context.Context) error {
				_, err := f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: f.rootID})
				return err
			},
			"ImportKeys": func(ctx context.Context) error {
				_, err := f.ImportKeys(ctx, &adminv1.ImportKeysRequest{})
				return err
			},
		} {
			if err := call(ctx); status.Code(err) != codes.PermissionDenied || detail(t, err).GetReason() != admin.ReasonReadOnly {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, call := range map[string]func(context.Context) error{
			"ListKeys": func(ctx context.Context) error { _, err := f.ListKeys(ctx, &adminv1.ListKeysRequest{}); return err },
			"GetUsage": func(ctx context.Context) error { _, err := f.GetUsage(ctx, &adminv1.GetUsageRequest{}); return err },
			"VerifyAudit": func(ctx context.Context) error {
				_, err := f.VerifyAudit(ctx, &adminv1.VerifyAuditRequest{})
				return err
			},
		} {
			if err := call(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := f.EndSession(showing(t, in.GetRawKey()), &adminv1.EndSessionRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := f.CreateKey(showing(t, f.root), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: &adminv1.KeySettings{ReadOnly: true}}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a read-only key that generates: %v", err)
	}
}
