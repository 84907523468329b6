package admin_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// reader is a key of the group admin that reads captured bodies.
func (f *fixture) reader(t *testing.T, readOnly bool) string {
	t.Helper()
	raw, _, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupAdmin, Settings: keys.Settings{Policy: keys.Policy{ReadCaptures: true, ReadOnly: readOnly}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// capture captures a request, and waits until its bodies are in the store.
func (f *fixture) capture(t *testing.T, number int64, keyID, body string) {
	t.Helper()
	c := f.vault.Begin(&capture.Rule{Until: time.Now().Add(time.Hour)})
	c.Add(capture.CallerRequest, "chat_completions", []byte(body))
	answer := c.Call("up", "messages", []byte(`{"to":"upstream"}`), nil)
	if _, err := answer(strings.NewReader("\xff\x00")).Read(make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	f.vault.Keep(c, 7, number, keyID)
	for deadline := time.Now().Add(time.Minute); ; {
		if has, err := f.vault.Has(t.Context(), 7, number); has || err != nil || time.Now().After(deadline) {
			if !has {
				t.Fatalf("it is not in the store: %v", err)
			}
			return
		}
	}
}

// actions are the audit's actions about a subject.
func (f *fixture) actions(t *testing.T, subject string) (list []string) {
	t.Helper()
	resp, err := f.ListAuditEntries(showing(t, f.root), &adminv1.ListAuditEntriesRequest{Subject: subject})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range resp.GetEntries() {
		list = append(list, e.GetAction()+" "+e.GetActor())
	}
	return list
}

// Case X81: captured bodies are read by those alone who have that right, be they admin or viewer,
// and each reading is in the audit, in the reader's name.
func TestGetCapture(t *testing.T) {
	f := serve(t)
	f.capture(t, 8, "key_1", "the prompt\xff")
	viewer, err := f.CreateKey(showing(t, f.root), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_ADMIN}, Settings: &adminv1.KeySettings{ReadOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{"an admin": f.root, "a viewer": viewer.GetRawKey()} {
		_, err := f.GetCapture(showing(t, raw), &adminv1.GetCaptureRequest{Id: "7-8"})
		if status.Code(err) != codes.PermissionDenied || detail(t, err).GetReason() != admin.ReasonNotForCaptures {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.GetCapture(t.Context(), &adminv1.GetCaptureRequest{Id: "7-8"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("nobody: %v", err)
	}
	chat, _, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.GetCapture(showing(t, chat), &adminv1.GetCaptureRequest{Id: "7-8"}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a key of chat: %v", err)
	}
	if got := f.actions(t, "7-8"); len(got) != 0 {
		t.Errorf("refused readings are in the audit: %v", got)
	}
	for i, raw := range []string{f.reader(t, false), f.reader(t, true)} {
		got, err := f.GetCapture(showing(t, raw), &adminv1.GetCaptureRequest{Id: "7-8"})
		if err != nil {
			t.Fatal(err)
		}
		first := got.GetBodies()[0]
		if len(got.GetBodies()) != 3 || first.GetKind() != adminv1.BodyKind_BODY_KIND_CALLER_REQUEST || string(first.GetData()) != "the prompt\xff" || first.GetSize() != 11 || first.GetProtocol() != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS {
			t.Errorf("%v", got)
		}
		if answer := got.GetBodies()[2]; answer.GetKind() != adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER || answer.GetUpstream() != "up" || answer.GetCall() != 1 || got.GetKeyId() != "key_1" || got.GetSealedBy() != "" {
			t.Errorf("%v", got)
		}
		who, err := f.GetSession(showing(t, raw), &adminv1.GetSessionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.actions(t, "7-8"); len(got) != i+1 || got[i] != "capture.read key:"+who.GetKey().GetId() {
			t.Errorf("the audit has %v", got)
		}
	}
	raw := f.reader(t, true)
	for _, id := range []string{"", "7", "7-", "-8", "07-8", "7-8-9", "9223372036854775808-1", "-1--1", "7-8 ", "req_1", strings.Repeat("7", 1<<16)} {
		if _, err := f.GetCapture(showing(t, raw), &adminv1.GetCaptureRequest{Id: id}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("id %.20q: %v", id, err)
		}
	}
	for _, id := range []string{"7-9", "0-0", "9223372036854775807-9223372036854775807"} {
		if _, err := f.GetCapture(showing(t, raw), &adminv1.GetCaptureRequest{Id: id}); status.Code(err) != codes.NotFound || detail(t, err).GetReason() != admin.ReasonNoCapture {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

// The right is given by who has it, or on the core's host; a session has it if its key has, and a
// link only if that is asked for.
func TestReadCapturesIsGiven(t *testing.T) {
	f := serve(t)
	reader := f.reader(t, false)
	settings := &adminv1.KeySettings{ReadCaptures: true}
	create := &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_ADMIN}, Settings: settings}
	update := &adminv1.UpdateKeyRequest{Key: f.rootID, Settings: settings, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"read_captures"}}}
	_, created := f.CreateKey(showing(t, f.root), create)
	_, imported := f.ImportKeys(showing(t, f.root), &adminv1.ImportKeysRequest{Keys: []*adminv1.CreateKeyRequest{create}})
	_, updated := f.UpdateKey(showing(t, f.root), update)
	for name, err := range map[string]error{"create": created, "import": imported, "update": updated} {
		if status.Code(err) != codes.PermissionDenied || detail(t, err).GetReason() != admin.ReasonNotForCaptures {
			t.Errorf("%s: %v", name, err)
		}
	}
	made, err := f.CreateKey(showing(t, reader), create)
	if err != nil || !made.GetKey().GetSettings().GetReadCaptures() {
		t.Fatalf("%v, %v", made, err)
	}
	rename := &adminv1.UpdateKeyRequest{Key: made.GetKey().GetId(), Settings: &adminv1.KeySettings{Name: "reads"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name"}}}
	if _, err := f.UpdateKey(showing(t, f.root), rename); err != nil {
		t.Errorf("a key that has the right is renamed by one that has it not: %v", err)
	}
	if _, err := f.CreateKey(showing(t, reader), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: settings}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a key of chat: %v", err)
	}
	for name, key := range map[string]string{"rotate": made.GetKey().GetId(), "rotate a session": session(t, f, reader, &adminv1.CreateSessionRequest{}).GetKey().GetId()} {
		for _, dry := range []bool{true, false} {
			rotated, err := f.RotateKey(showing(t, f.root), &adminv1.RotateKeyRequest{Key: key, ValidateOnly: dry})
			if status.Code(err) != codes.PermissionDenied || detail(t, err).GetReason() != admin.ReasonNotForCaptures || rotated.GetRawKey() != "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := f.keys.Get(t.Context(), key); err != nil || len(got.Secrets) != 1 {
			t.Errorf("%s: %+v, %v", name, got.Secrets, err)
		}
		if rotated, err := f.RotateKey(showing(t, reader), &adminv1.RotateKeyRequest{Key: key}); err != nil || rotated.GetRawKey() == "" {
			t.Errorf("%s, by one that has the right: %v", name, err)
		}
	}
	reads := func(raw string, want bool) {
		t.Helper()
		_, err := f.GetCapture(showing(t, raw), &adminv1.GetCaptureRequest{Id: "1-1"})
		if (status.Code(err) == codes.NotFound) != want {
			t.Errorf("%v", err)
		}
	}
	reads(session(t, f, reader, &adminv1.CreateSessionRequest{}).GetRawKey(), true)
	reads(session(t, f, reader, &adminv1.CreateSessionRequest{ReadOnly: true}).GetRawKey(), true)
	reads(session(t, f, f.root, &adminv1.CreateSessionRequest{ReadCaptures: true}).GetRawKey(), false)
	link := func(by string, asked bool) string {
		link := session(t, f, by, &adminv1.CreateSessionRequest{Link: true, ReadCaptures: asked})
		return session(t, f, link.GetRawKey(), &adminv1.CreateSessionRequest{}).GetRawKey()
	}
	reads(link(reader, true), true)
	reads(link(reader, false), false)
	reads(link(f.root, true), false)
}

// allCaptures asks to delete all, captured the bodies of a request.
var allCaptures = &adminv1.DeleteCapturesRequest{Which: &adminv1.DeleteCapturesRequest_All{All: true}}

func captured(id string) *adminv1.DeleteCapturesRequest {
	return &adminv1.DeleteCapturesRequest{Which: &adminv1.DeleteCapturesRequest_Id{Id: id}}
}

// Only sessions that may change something delete captures. Deleted ones cannot be read, and the audit names the deletion.
func TestDeleteCaptures(t *testing.T) {
	f := serve(t)
	for n := range int64(4) {
		f.capture(t, n, []string{"key_1", "key_2"}[n%2], "x")
	}
	viewer := f.reader(t, true)
	for name, req := range map[string]*adminv1.DeleteCapturesRequest{"nothing": {}, "an empty id": captured(""), "no key": {Which: &adminv1.DeleteCapturesRequest_KeyId{}}, "not all": {Which: &adminv1.DeleteCapturesRequest_All{}}, "no id": captured("7")} {
		if _, err := f.DeleteCaptures(showing(t, f.root), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.DeleteCaptures(showing(t, viewer), allCaptures); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a viewer: %v", err)
	}
	for _, c := range []struct {
		req     *adminv1.DeleteCapturesRequest
		want    int64
		subject string
	}{
		{captured("7-0"), 1, "7-0"}, {captured("7-0"), 0, "7-0"},
		{&adminv1.DeleteCapturesRequest{Which: &adminv1.DeleteCapturesRequest_KeyId{KeyId: "key_2"}}, 2, "key_2"}, {allCaptures, 1, ""},
	} {
		got, err := f.DeleteCaptures(showing(t, f.root), c.req)
		if err != nil || got.GetDeleted() != c.want {
			t.Errorf("%v: %v, %v", c.req, got, err)
		}
		if c.subject != "" && len(f.actions(t, c.subject)) == 0 {
			t.Errorf("%v is not in the audit", c.req)
		}
	}
	if whole, err := f.VerifyAudit(showing(t, f.root), &adminv1.VerifyAuditRequest{}); err != nil || !whole.GetWhole() {
		t.Errorf("%v, %v", whole, err)
	}
}

// Bodies whose key is not in the key file are not shown, and the answer says which key it takes.
func TestCaptureKeyMissing(t *testing.T) {
	f := serve(t)
	ring, err := vault.ParseRing([]byte("k2026 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
	if err != nil {
		t.Fatal(err)
	}
	other, err := vault.ParseRing([]byte("k2026 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="))
	if err != nil {
		t.Fatal(err)
	}
	f.vault.Use(ring, time.Hour)
	f.capture(t, 1, "key_1", "x")
	raw := f.reader(t, true)
	get := func() (*adminv1.GetCaptureResponse, error) {
		return f.GetCapture(showing(t, raw), &adminv1.GetCaptureRequest{Id: "7-1"})
	}
	if got, err := get(); err != nil || got.GetSealedBy() != "k2026" {
		t.Errorf("%v, %v", got, err)
	}
	f.vault.Use(nil, time.Hour)
	if _, err := get(); status.Code(err) != codes.FailedPrecondition || detail(t, err).GetReason() != admin.ReasonCaptureKey || !strings.Contains(err.Error(), "k2026") {
		t.Errorf("%v", err)
	}
	f.vault.Use(other, time.Hour)
	if _, err := get(); status.Code(err) != codes.FailedPrecondition || detail(t, err).GetReason() != admin.ReasonCaptureDamaged {
		t.Errorf("%v", err)
	}
}

// A key's rule comes back as it was given; a wrong one is refused by the member at fault.
func TestCaptureRule(t *testing.T) {
	f := serve(t)
	soon := timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Microsecond))
	good := &adminv1.CaptureRule{Share: new(0.25), MaxBytes: 1000, Redact: []string{"content", "/a/*"}, Until: soon}
	made, err := f.CreateKey(showing(t, f.root), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: &adminv1.KeySettings{Capture: good}})
	if err != nil || !proto.Equal(made.GetKey().GetSettings().GetCapture(), good) {
		t.Fatalf("%v, %v", made, err)
	}
	for name, c := range map[string]struct {
		rule   *adminv1.CaptureRule
		member string
	}{
		"no end":            {&adminv1.CaptureRule{}, "until"},
		"an end that is no": {&adminv1.CaptureRule{Until: &timestamppb.Timestamp{Nanos: -1}}, "until"},
		"has ended":         {&adminv1.CaptureRule{Until: timestamppb.New(time.Now().Add(-time.Second))}, "until"},
		"too far ahead":     {&adminv1.CaptureRule{Until: timestamppb.New(time.Now().Add(8 * 24 * time.Hour))}, "until"},
		"no share":          {&adminv1.CaptureRule{Share: proto.Float64(0), Until: soon}, "share"},
		"share below 0":     {&adminv1.CaptureRule{Share: proto.Float64(-1), Until: soon}, "share"},
		"share NaN":         {&adminv1.CaptureRule{Share: new(math.NaN()), Until: soon}, "share"},
		"bytes below 0":     {&adminv1.CaptureRule{MaxBytes: -1, Until: soon}, "max_bytes"},
		"bytes absurd":      {&adminv1.CaptureRule{MaxBytes: math.MaxInt64, Until: soon}, "max_bytes"},
		"redact nothing":    {&adminv1.CaptureRule{Redact: []string{""}, Until: soon}, "redact[0]"},
	} {
		_, err := f.UpdateKey(showing(t, f.root), &adminv1.UpdateKeyRequest{Key: made.GetKey().GetId(), Settings: &adminv1.KeySettings{Capture: c.rule}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"capture"}}})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(detail(t, err).GetParam(), "settings.capture."+c.member) {
			t.Errorf("%s: %v %v", name, err, detail(t, err))
		}
	}
	if _, err := f.CreateKey(showing(t, f.root), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_ADMIN}, Settings: &adminv1.KeySettings{Capture: good}}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an admin key: %v", err)
	}
	off, err := f.UpdateKey(showing(t, f.root), &adminv1.UpdateKeyRequest{Key: made.GetKey().GetId(), Settings: &adminv1.KeySettings{}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"capture"}}})
	if err != nil || off.GetKey().GetSettings().GetCapture() != nil {
		t.Errorf("%v, %v", off, err)
	}
}

// Case U39: rules are listed while they run: not those that have ended, nor those of keys that have.
func TestListCaptureRules(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	rule := &adminv1.CaptureRule{Share: new(0.25), Redact: []string{"content"}, Until: timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Microsecond))}
	var ids []string
	for _, name := range []string{"runs", "revoked", "none"} {
		with := &adminv1.KeySettings{Name: name}
		if name != "none" {
			with.Capture = rule
		}
		made, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: with})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.GetKey().GetId())
	}
	if _, err := f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: ids[1]}); err != nil {
		t.Fatal(err)
	}
	got, err := f.ListCaptureRules(ctx, &adminv1.ListCaptureRulesRequest{})
	want := &adminv1.ListCaptureRulesResponse{Rules: []*adminv1.RunningCapture{{KeyId: ids[0], KeyName: "runs", Rule: rule}}}
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := f.ListCaptureRules(t.Context(), &adminv1.ListCaptureRulesRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a key: %v", err)
	}
}
