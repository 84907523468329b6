package admin_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/servers"
)

// Case K11: only a key of the group admin administrates, it does nothing else, and
// there is none until an operator makes one.
func TestAccess(t *testing.T) {
	f := serve(t)
	generation := genwayv1.NewGenerationClient(f.conn)
	raws := map[keys.Group]string{keys.GroupAdmin: f.root}
	for _, group := range keys.Groups() {
		if group == keys.GroupAdmin {
			continue
		}
		raw, _, err := f.keys.Create(t.Context(), keys.CreateParams{Group: group})
		if err != nil {
			t.Fatal(err)
		}
		raws[group] = raw
	}
	calls := map[string]struct {
		by   keys.Group
		more []string
		call func(context.Context) error
	}{
		"the Admin service": {keys.GroupAdmin, nil, func(ctx context.Context) error {
			_, err := f.ListKeys(ctx, &adminv1.ListKeysRequest{})
			return err
		}},
		"the Admin service, through an edge": {keys.GroupAdmin, []string{"genway-protocol", "chat_completions", "genway-edge-secret", secret}, func(ctx context.Context) error {
			_, err := f.ListKeys(ctx, &adminv1.ListKeysRequest{})
			return err
		}},
		"direct generation": {keys.GroupInternal, nil, func(ctx context.Context) error {
			_, err := generation.ListModels(ctx, &genwayv1.ListModelsRequest{})
			return err
		}},
		"generation through an edge": {keys.GroupChat, []string{"genway-protocol", "chat_completions", "genway-edge-secret", secret}, func(ctx context.Context) error {
			_, err := generation.ListModels(ctx, &genwayv1.ListModelsRequest{})
			return err
		}},
	}
	for name, c := range calls {
		for group, raw := range raws {
			err := c.call(showing(t, raw, c.more...))
			if group == c.by {
				if err != nil {
					t.Errorf("%s by %s: %v", name, group, err)
				}
				continue
			}
			if status.Code(err) != codes.PermissionDenied || detail(t, err).GetReason() != fault.ReasonWrongGroup {
				t.Errorf("%s by %s: %v", name, group, err)
			}
		}
		if err := c.call(showing(t, "gwk_nobody", c.more...)); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s by nobody: %v", name, err)
		}
		if err := c.call(t.Context()); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s without a key: %v", name, err)
		}
	}
}

// An admin key is good from its addresses alone: those of connections, whatever a caller
// or an edge says.
func TestAddresses(t *testing.T) {
	f := serve(t)
	said := []string{"genway-client", "10.0.0.1", "x-forwarded-for", "10.0.0.1"}
	for _, c := range []struct {
		name, block string
		more        []string
		want        codes.Code
	}{
		{"here", "127.0.0.0/8", nil, codes.OK},
		{"elsewhere", "10.0.0.0/8", nil, codes.PermissionDenied},
		{"elsewhere, by its own word", "10.0.0.0/8", said, codes.PermissionDenied},
		{"elsewhere, by an edge's word", "10.0.0.0/8", append(said, "genway-protocol", "chat_completions", "genway-edge-secret", secret), codes.PermissionDenied},
	} {
		raw, _, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupAdmin, Settings: keys.Settings{
			Policy: keys.Policy{Addresses: []netip.Prefix{netip.MustParsePrefix(c.block)}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.ListKeys(showing(t, raw, c.more...), &adminv1.ListKeysRequest{})
		if status.Code(err) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && detail(t, err).GetReason() != core.ReasonAddressNotAllowed {
			t.Errorf("%s: %v", c.name, detail(t, err))
		}
	}
}

func detail(t *testing.T, err error) *genwayv1.ErrorDetail {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(*genwayv1.ErrorDetail); ok {
			return d
		}
	}
	return nil
}

func fields(err error) []string {
	var fields []string
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(*errdetails.BadRequest); ok {
			for _, violation := range d.GetFieldViolations() {
				fields = append(fields, violation.GetField())
			}
		}
	}
	return fields
}

// Each refusal has its code, its reason, and the members at fault.
func TestErrors(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	newKey := func(name string, group adminv1.Group) string {
		key, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{group}, Settings: &adminv1.KeySettings{Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		return key.GetKey().GetId()
	}
	newKey("twin", adminv1.Group_GROUP_CHAT)
	newKey("twin", adminv1.Group_GROUP_MESSAGES)
	revoked := newKey("", adminv1.Group_GROUP_CHAT)
	if _, err := f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: revoked}); err != nil {
		t.Fatal(err)
	}
	owner := &fieldmaskpb.FieldMask{Paths: []string{"owner"}}
	chat := adminv1.Group_GROUP_CHAT
	create := func(s *adminv1.KeySettings) error {
		_, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{chat}, Settings: s})
		return err
	}
	last := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name   string
		err    error
		code   codes.Code
		reason string
		fields []string
	}{
		{"no group", last(f.CreateKey(ctx, &adminv1.CreateKeyRequest{})), codes.InvalidArgument, fault.ReasonMissingMember, []string{"groups"}},
		{"unknown group", last(f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{77}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"groups[0]"}},
		{"several members", create(&adminv1.KeySettings{Name: "key_1", Owner: " ", Models: []string{"a", ""}, Limits: &adminv1.Limits{Concurrent: -1}}),
			codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.name", "settings.owner", "settings.models[1]", "settings.limits.concurrent"}},
		{"a name that is taken", create(&adminv1.KeySettings{Name: "twin"}), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.name"}},
		{"a new name that is taken", last(f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{Key: newKey("", chat), Settings: &adminv1.KeySettings{Name: "twin"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name"}}})),
			codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.name"}},
		{"certificate", create(&adminv1.KeySettings{Certificates: []string{"a.example"}}), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.certificates[0]"}},
		{"address", create(&adminv1.KeySettings{Addresses: []string{"10.0.0.1/8"}}), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.addresses[0]"}},
		{"no time", create(&adminv1.KeySettings{ExpireTime: &timestamppb.Timestamp{Nanos: -1}}), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.expire_time"}},
		{"past", create(&adminv1.KeySettings{ExpireTime: timestamppb.New(time.Unix(1, 0))}), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.expire_time"}},
		{"budget's period", create(&adminv1.KeySettings{Limits: &adminv1.Limits{Budgets: []*adminv1.Budget{{NanoDollars: 1}}}}), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"settings.limits.budgets[0].period"}},
		{"import", last(f.ImportKeys(ctx, &adminv1.ImportKeysRequest{Keys: []*adminv1.CreateKeyRequest{{Groups: []adminv1.Group{chat}}, {Groups: []adminv1.Group{chat}, Settings: &adminv1.KeySettings{Owner: " "}}}})),
			codes.InvalidArgument, fault.ReasonInvalidMember, []string{"keys[1].settings.owner"}},
		{"import of no group", last(f.ImportKeys(ctx, &adminv1.ImportKeysRequest{Keys: []*adminv1.CreateKeyRequest{{Groups: []adminv1.Group{chat}}, {}}})),
			codes.InvalidArgument, fault.ReasonMissingMember, []string{"keys[1].groups"}},
		{"import of too many", last(f.ImportKeys(ctx, &adminv1.ImportKeysRequest{Keys: slices.Repeat([]*adminv1.CreateKeyRequest{{Groups: []adminv1.Group{chat}}}, 1001)})),
			codes.InvalidArgument, fault.ReasonInvalidMember, []string{"keys"}},
		{"no key", last(f.GetKey(ctx, &adminv1.GetKeyRequest{})), codes.InvalidArgument, fault.ReasonMissingMember, []string{"key"}},
		{"unknown key", last(f.GetKey(ctx, &adminv1.GetKeyRequest{Key: "nobody"})), codes.NotFound, admin.ReasonKeyNotFound, nil},
		{"ambiguous", last(f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: "twin"})), codes.InvalidArgument, admin.ReasonKeyAmbiguous, []string{"key"}},
		{"a key itself", last(f.GetKey(ctx, &adminv1.GetKeyRequest{Key: f.root})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"key"}},
		{"no mask", last(f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{Key: revoked})), codes.InvalidArgument, fault.ReasonMissingMember, []string{"update_mask"}},
		{"unknown path", last(f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{Key: revoked, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "group"}}})),
			codes.InvalidArgument, fault.ReasonInvalidMember, []string{"update_mask.paths[1]"}},
		{"update of a revoked key", last(f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{Key: revoked, UpdateMask: owner})), codes.FailedPrecondition, admin.ReasonKeyRevoked, nil},
		{"rotation of a revoked key", last(f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: revoked})), codes.FailedPrecondition, admin.ReasonKeyRevoked, nil},
		{"long grace", last(f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: f.rootID, Grace: durationpb.New(keys.MaxGrace + 1)})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"grace"}},
		{"no duration", last(f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: f.rootID, Grace: &durationpb.Duration{Seconds: 1, Nanos: -1}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"grace"}},
		{"page size", last(f.ListKeys(ctx, &adminv1.ListKeysRequest{PageSize: 1001})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"page_size"}},
		{"page token", last(f.ListKeys(ctx, &adminv1.ListKeysRequest{PageToken: "nobody"})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"page_token"}},
		{"an unknown group among several", last(f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{chat, 2, 77}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"groups[2]"}},
		{"an unspecified group among several", last(f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{chat, 0}})), codes.InvalidArgument, fault.ReasonMissingMember, []string{"groups[1]"}},
		{"a group twice", last(f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{chat, chat}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"groups"}},
		{"admin with another group", last(f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{chat, adminv1.Group_GROUP_ADMIN}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"groups"}},
		{"import of a group twice", last(f.ImportKeys(ctx, &adminv1.ImportKeysRequest{Keys: []*adminv1.CreateKeyRequest{{Groups: []adminv1.Group{chat}}, {Groups: []adminv1.Group{chat, 2, 2}}}})),
			codes.InvalidArgument, fault.ReasonInvalidMember, []string{"keys[1].groups"}},
		{"list by group", last(f.ListKeys(ctx, &adminv1.ListKeysRequest{Group: 77})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"group"}},
		{"audit's page size", last(f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{PageSize: -1})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"page_size"}},
		{"audit's page token", last(f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{PageToken: "x"})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"page_token"}},
		{"known hash", last(f.VerifyAudit(ctx, &adminv1.VerifyAuditRequest{KnownHash: []byte("x")})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"known_hash"}},
		{"dimension", last(f.GetUsage(ctx, &adminv1.GetUsageRequest{By: []adminv1.Dimension{77}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"by[0]"}},
		{"dimension twice", last(f.GetUsage(ctx, &adminv1.GetUsageRequest{By: []adminv1.Dimension{1, 1}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"by[1]"}},
		{"since", last(f.GetUsage(ctx, &adminv1.GetUsageRequest{Since: &timestamppb.Timestamp{Nanos: -1}})), codes.InvalidArgument, fault.ReasonInvalidMember, []string{"since"}},
	} {
		d := detail(t, c.err)
		if status.Code(c.err) != c.code || d.GetReason() != c.reason || d.GetRequestId() == "" {
			t.Errorf("%s: %v, %v", c.name, c.err, d)
		}
		if got := fields(c.err); !slices.Equal(got, c.fields) {
			t.Errorf("%s: fields %v, want %v", c.name, got, c.fields)
		}
	}
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"keys": last(f.ListKeys(ctx, &adminv1.ListKeysRequest{})), "audit": last(f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{})),
		"verify": last(f.VerifyAudit(ctx, &adminv1.VerifyAuditRequest{})), "usage": last(f.GetUsage(ctx, &adminv1.GetUsageRequest{})),
	} {
		if status.Code(err) != codes.Unavailable || detail(t, err).GetReason() != admin.ReasonStore {
			t.Errorf("%s without a store: %v", name, err)
		}
	}
}

// What finds services finds this one.
func TestIsListed(t *testing.T) {
	f := serve(t)
	health, err := grpc_health_v1.NewHealthClient(f.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "genway.admin.v1.Admin"})
	if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
	stream, err := grpc_reflection_v1.NewServerReflectionClient(f.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(resp.GetListServicesResponse().GetService(), func(s *grpc_reflection_v1.ServiceResponse) bool {
		return s.GetName() == "genway.admin.v1.Admin"
	}) {
		t.Errorf("reflection lists %v", resp.GetListServicesResponse())
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// Calls have a request id, as all have.
func TestRequestID(t *testing.T) {
	f := serve(t)
	var header metadata.MD
	ctx := metadata.AppendToOutgoingContext(showing(t, f.root), "x-request-id", "mine")
	if _, err := f.ListKeys(ctx, &adminv1.ListKeysRequest{}, grpc.Header(&header)); err != nil {
		t.Fatal(err)
	}
	if got := header.Get("x-request-id"); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("got %v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := admin.New(admin.Config{}); err == nil {
		t.Error("no error")
	}
}

// A caller may draw a key itself: the service stores the digest of its secret, and shows no raw key. What is no draw is
// refused, and so are ids and secrets that exist.
func TestDrawnKeys(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	draw := func() (keys.Drawn, string) {
		t.Helper()
		drawn, raw, err := keys.Draw(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return drawn, raw
	}
	good := func(raw, id string) {
		t.Helper()
		if who, err := f.keys.Authenticate(t.Context(), raw); err != nil || who.KeyID != id {
			t.Errorf("%+v, %v", who, err)
		}
	}
	one, raw := draw()
	create := &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, KeyId: one.ID, SecretSha256: one.Secret[:]}
	made, err := f.CreateKey(ctx, create)
	if err != nil || made.GetRawKey() != "" || made.GetKey().GetId() != one.ID {
		t.Fatalf("%v, %v", made, err)
	}
	good(raw, one.ID)
	next, rotatedRaw := draw()
	if rotated, err := f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: one.ID, SecretSha256: next.Secret[:], Grace: durationpb.New(0)}); err != nil || rotated.GetRawKey() != "" {
		t.Errorf("%v, %v", rotated, err)
	}
	good(rotatedRaw, one.ID)
	many, manyRaw := draw()
	imported, err := f.ImportKeys(ctx, &adminv1.ImportKeysRequest{Keys: []*adminv1.CreateKeyRequest{{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}}, {Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, KeyId: many.ID, SecretSha256: many.Secret[:]}}})
	if err != nil || imported.GetKeys()[0].GetRawKey() == "" || imported.GetKeys()[1].GetRawKey() != "" {
		t.Errorf("%v, %v", imported, err)
	}
	good(manyRaw, many.ID)

	other, _ := draw()
	for name, c := range map[string]struct {
		id     string
		secret []byte
	}{
		"an id alone": {other.ID, nil}, "a secret alone": {"", other.Secret[:]}, "a short secret": {other.ID, other.Secret[:31]}, "a long one": {other.ID, append(other.Secret[:], 0)},
		"an empty one": {other.ID, make([]byte, 32)}, "an id that exists": {one.ID, other.Secret[:]}, "a secret that exists": {other.ID, next.Secret[:]}, "another form of id": {"key_x", other.Secret[:]},
		"an id with a zero byte": {"key_0123456789a\x00", other.Secret[:]}, "an id with more": {other.ID + "x", other.Secret[:]}, "an id of foreign letters": {"key_0123456789äb", other.Secret[:]},
		"a key as the id": {rotatedRaw, other.Secret[:]},
	} {
		request := &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, KeyId: c.id, SecretSha256: c.secret}
		_, created := f.CreateKey(ctx, request)
		_, imported := f.ImportKeys(ctx, &adminv1.ImportKeysRequest{Keys: []*adminv1.CreateKeyRequest{request}})
		for how, err := range map[string]error{"created": created, "imported": imported} {
			if status.Code(err) != codes.InvalidArgument || strings.Contains(err.Error(), "gwk_0") {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
	for name, secret := range map[string][]byte{"a short secret": {1}, "an empty one": make([]byte, 32), "one that exists": many.Secret[:], "its own": next.Secret[:]} {
		if _, err := f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: one.ID, SecretSha256: secret}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("rotated with %s: %v", name, err)
		}
	}
	before, err := f.keys.Get(t.Context(), one.ID)
	if err != nil {
		t.Fatal(err)
	}
	if checked, err := f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: one.ID, ValidateOnly: true}); err != nil || checked.GetRawKey() != "" || checked.GetKey().GetId() != one.ID {
		t.Errorf("checked: %v, %v", checked, err)
	}
	if after, err := f.keys.Get(t.Context(), one.ID); err != nil || after.Secrets[0] != before.Secrets[0] {
		t.Errorf("a check changed the key: %+v, %v", after, err)
	}
	good(rotatedRaw, one.ID)
}

// A zero byte in a text, which PostgreSQL cannot be asked for, is found nowhere or is refused by the name of its member, on
// both kinds of store and in every request.
func TestZeroBytes(t *testing.T) {
	for kind, location := range map[string]string{"SQLite": filepath.Join(t.TempDir(), store.FileName), "PostgreSQL": servers.NewPostgres(t).Database(t)} {
		f := serveOn(t, location)
		ctx := showing(t, f.reader(t, false))
		requests := 0
		for i := range adminv1.File_genway_admin_v1_admin_proto.Services().Get(0).Methods().Len() {
			method := adminv1.File_genway_admin_v1_admin_proto.Services().Get(0).Methods().Get(i)
			if method.IsStreamingServer() {
				continue
			}
			types, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
			if err != nil {
				t.Fatal(err)
			}
			answer, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
			if err != nil {
				t.Fatal(err)
			}
			for path, request := range zeroed(types, 4) {
				requests++
				err := f.conn.Invoke(ctx, "/genway.admin.v1.Admin/"+string(method.Name()), request.Interface(), answer.New().Interface())
				if code := status.Code(err); code != codes.InvalidArgument && code != codes.NotFound {
					t.Errorf("%s, %s of %s: %v", kind, path, method.Name(), err)
				}
			}
		}
		if requests < 55 {
			t.Errorf("%d requests", requests)
		}
		if list := f.actions(t, ""); len(list) != 2 {
			t.Errorf("%s: the audit has %v", kind, list)
		}
	}
}

// zeroed yields messages of a type, each with a zero byte in one of its texts, whose path it names.
func zeroed(of protoreflect.MessageType, deep int) iter.Seq2[string, protoreflect.Message] {
	return func(yield func(string, protoreflect.Message) bool) {
		for i := range of.Descriptor().Fields().Len() {
			field := of.Descriptor().Fields().Get(i)
			text := protoreflect.ValueOfString("a\x00b")
			switch {
			case field.IsMap():
				for _, entry := range [][2]string{{"a\x00b", "c"}, {"c", "a\x00b"}} {
					m := of.New()
					m.Mutable(field).Map().Set(protoreflect.ValueOfString(entry[0]).MapKey(), protoreflect.ValueOfString(entry[1]))
					if !yield(string(field.Name()), m) {
						return
					}
				}
			case field.Kind() == protoreflect.StringKind && field.IsList():
				m := of.New()
				m.Mutable(field).List().Append(text)
				if !yield(string(field.Name()), m) {
					return
				}
			case field.Kind() == protoreflect.StringKind:
				m := of.New()
				m.Set(field, text)
				if !yield(string(field.Name()), m) {
					return
				}
			case field.Kind() == protoreflect.MessageKind && deep > 0:
				if strings.HasPrefix(string(field.Message().FullName()), "google.") {
					continue
				}
				inner := of.New().NewField(field)
				var types protoreflect.MessageType
				if field.IsList() {
					types = inner.List().NewElement().Message().Type()
				} else {
					types = inner.Message().Type()
				}
				for path, value := range zeroed(types, deep-1) {
					m := of.New()
					if field.IsList() {
						m.Mutable(field).List().Append(protoreflect.ValueOfMessage(value))
					} else {
						m.Set(field, protoreflect.ValueOfMessage(value))
					}
					if !yield(string(field.Name())+"."+path, m) {
						return
					}
				}
			}
		}
	}
}
