package admin_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// full returns settings each member of which is set.
func full() *adminv1.KeySettings {
	s := &adminv1.KeySettings{
		Name: "ci", Owner: "ada", Labels: map[string]string{"team": "search"},
		ExpireTime: timestamppb.New(time.Date(2999, 1, 31, 0, 0, 0, 123456000, time.UTC)),
		Models:     []string{"gpt-*"}, Addresses: []string{"10.0.0.0/8", "192.0.2.7/32"}, Certificates: []string{"dns:a.example"},
		Limits: &adminv1.Limits{
			Budgets: []*adminv1.Budget{{NanoDollars: 1, Period: adminv1.Period_PERIOD_DAY}, {NanoDollars: 2, Period: adminv1.Period_PERIOD_MONTH}},
		},
		Strict: true,
	}
	for i, kind := range limit.Kinds {
		setFigure(s, kind, 60+int64(i))
	}
	return s
}

// setFigure sets the limit of a kind, which the contract has by its name.
func setFigure(s *adminv1.KeySettings, kind limit.Kind, figure int64) {
	limits := s.Limits.ProtoReflect()
	limits.Set(limits.Descriptor().Fields().ByName(protoreflect.Name(kind.Name)), protoreflect.ValueOfInt64(figure))
}

func TestKeys(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	created, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: full()})
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Valid(created.GetRawKey()); err != nil {
		t.Errorf("%q: %v", created.GetRawKey(), err)
	}
	want := &adminv1.Key{
		Id: created.GetKey().GetId(), Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: full(), State: adminv1.KeyState_KEY_STATE_LIVE,
		CreateTime: created.GetKey().GetCreateTime(), Secrets: []*adminv1.Secret{{CreateTime: created.GetKey().GetCreateTime()}},
	}
	same := func(when string, got *adminv1.Key) {
		t.Helper()
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	same("created", created.GetKey())
	for _, ref := range []string{want.GetId(), "ci"} {
		got, err := f.GetKey(ctx, &adminv1.GetKeyRequest{Key: ref})
		if err != nil {
			t.Fatal(err)
		}
		same("by "+ref, got.GetKey())
	}
	if p, err := f.keys.Authenticate(t.Context(), created.GetRawKey()); err != nil || p.Owner != "ada" || !p.Policy.AllowsModel("gpt-5") || p.Policy.AllowsModel("o") {
		t.Errorf("authenticate: %+v, %v", p, err)
	}

	rotated, err := f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: "ci", Grace: durationpb.New(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	secrets := rotated.GetKey().GetSecrets()
	if len(secrets) != 2 || secrets[0].GetExpireTime() != nil ||
		secrets[1].GetExpireTime().AsTime().Sub(secrets[0].GetCreateTime().AsTime()) != time.Hour {
		t.Errorf("secrets: %v", secrets)
	}
	for _, raw := range []string{created.GetRawKey(), rotated.GetRawKey()} {
		if _, err := f.keys.Authenticate(t.Context(), raw); err != nil {
			t.Errorf("within the grace: %v", err)
		}
	}
	again, err := f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	secrets = again.GetKey().GetSecrets()
	if d := secrets[1].GetExpireTime().AsTime().Sub(secrets[0].GetCreateTime().AsTime()); d != 24*time.Hour {
		t.Errorf("the grace is %s unless it is said", d)
	}

	revoked, err := f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: "ci"})
	if err != nil || revoked.GetKey().GetRevokeTime() == nil || revoked.GetKey().GetState() != adminv1.KeyState_KEY_STATE_REVOKED {
		t.Errorf("revoked: %v, %v", revoked, err)
	}
	for _, raw := range []string{created.GetRawKey(), rotated.GetRawKey(), again.GetRawKey()} {
		if _, err := f.keys.Authenticate(t.Context(), raw); err == nil {
			t.Error("a revoked key is accepted")
		}
	}
}

// Each path of a mask changes its member and no other.
func TestUpdateKey(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	paths := map[string]func(*adminv1.KeySettings){
		"name":           func(s *adminv1.KeySettings) { s.Name = "" },
		"owner":          func(s *adminv1.KeySettings) { s.Owner = "" },
		"labels":         func(s *adminv1.KeySettings) { s.Labels = nil },
		"expire_time":    func(s *adminv1.KeySettings) { s.ExpireTime = nil },
		"models":         func(s *adminv1.KeySettings) { s.Models = nil },
		"addresses":      func(s *adminv1.KeySettings) { s.Addresses = nil },
		"certificates":   func(s *adminv1.KeySettings) { s.Certificates = nil },
		"strict":         func(s *adminv1.KeySettings) { s.Strict = false },
		"limits":         func(s *adminv1.KeySettings) { s.Limits = &adminv1.Limits{} },
		"limits.budgets": func(s *adminv1.KeySettings) { s.Limits.Budgets = nil },
		"*":              func(s *adminv1.KeySettings) { proto.Reset(s); s.Limits = &adminv1.Limits{} },
	}
	for _, kind := range limit.Kinds {
		paths["limits."+kind.Name] = func(s *adminv1.KeySettings) { setFigure(s, kind, 0) }
	}
	for path, empty := range paths {
		key, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: full()})
		if err != nil {
			t.Fatal(err)
		}
		want := full()
		empty(want)
		got, err := f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{
			Key: key.GetKey().GetId(), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{path}},
		})
		if diff := cmp.Diff(want, got.GetKey().GetSettings(), protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("%s cleared (-want +got): %v\n%s", path, err, diff)
		}
		got, err = f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{
			Key: key.GetKey().GetId(), Settings: full(), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{path}},
		})
		if diff := cmp.Diff(full(), got.GetKey().GetSettings(), protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("%s set (-want +got): %v\n%s", path, err, diff)
		}
		if _, err := f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: key.GetKey().GetId()}); err != nil { // its name is free again
			t.Fatal(err)
		}
	}
}

func TestListKeys(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	var want []string
	for i := range 5 {
		owner := []string{"ada", "bob"}[i%2]
		key, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: &adminv1.KeySettings{Owner: owner}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, key.GetKey().GetId())
	}
	if _, err := f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: want[0]}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		req  *adminv1.ListKeysRequest
		want []string
	}{
		"all":         {&adminv1.ListKeysRequest{}, append([]string{f.rootID}, want...)},
		"two a page":  {&adminv1.ListKeysRequest{PageSize: 2}, append([]string{f.rootID}, want...)},
		"by owner":    {&adminv1.ListKeysRequest{PageSize: 1, Owner: "ada"}, []string{want[0], want[2], want[4]}},
		"by group":    {&adminv1.ListKeysRequest{Group: adminv1.Group_GROUP_ADMIN}, []string{f.rootID}},
		"live":        {&adminv1.ListKeysRequest{PageSize: 2, Live: true, Owner: "ada"}, []string{want[2], want[4]}},
		"nobody's":    {&adminv1.ListKeysRequest{Owner: "eve"}, nil},
		"exactly one": {&adminv1.ListKeysRequest{PageSize: 3, Owner: "ada"}, []string{want[0], want[2], want[4]}},
	} {
		var got []string
		for pages := 1; ; pages++ {
			resp, err := f.ListKeys(ctx, c.req)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, key := range resp.GetKeys() {
				got = append(got, key.GetId())
			}
			if c.req.PageToken = resp.GetNextPageToken(); c.req.PageToken == "" {
				break
			}
			if len(resp.GetKeys()) != int(c.req.PageSize) || pages > len(c.want) {
				t.Fatalf("%s: page %d has %d keys", name, pages, len(resp.GetKeys()))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestImportKeys(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	req := &adminv1.ImportKeysRequest{ValidateOnly: true, Keys: []*adminv1.CreateKeyRequest{
		{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: &adminv1.KeySettings{Name: "one"}}, {Groups: []adminv1.Group{adminv1.Group_GROUP_MESSAGES}},
	}}
	resp, err := f.ImportKeys(ctx, req)
	if err != nil || len(resp.GetKeys()) != 2 || resp.GetKeys()[0].GetRawKey() != "" || resp.GetKeys()[0].GetKey().GetId() != "" {
		t.Errorf("validated: %v, %v", resp, err)
	}
	req.ValidateOnly = false
	if resp, err = f.ImportKeys(ctx, req); err != nil || len(resp.GetKeys()) != 2 {
		t.Fatalf("%v, %v", resp, err)
	}
	for _, made := range resp.GetKeys() {
		if p, err := f.keys.Authenticate(t.Context(), made.GetRawKey()); err != nil || p.KeyID != made.GetKey().GetId() {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if list, err := f.keys.List(t.Context(), keys.Query{Limit: 10}); err != nil || len(list) != 3 {
		t.Errorf("%d keys, %v", len(list), err)
	}
}

func TestAudit(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	for range 3 {
		if _, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}}); err != nil {
			t.Fatal(err)
		}
	}
	var entries []*adminv1.AuditEntry
	req := &adminv1.ListAuditEntriesRequest{PageSize: 3}
	for {
		resp, err := f.ListAuditEntries(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, resp.GetEntries()...)
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if len(entries) != 4 {
		t.Fatalf("%d entries, want 4", len(entries))
	}
	last := entries[3]
	if last.GetActor() != "key:"+f.rootID || last.GetAction() != keys.ActionCreate || last.GetDetailJson() != `{"group":"chat"}` || last.GetNumber() != 4 {
		t.Errorf("got %v", last)
	}
	if entries[0].GetActor() != "genway" || !bytes.Equal(entries[0].GetPreviousHash(), make([]byte, sha256.Size)) {
		t.Errorf("got %v", entries[0])
	}
	one, err := f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{Subject: last.GetSubject()})
	if err != nil || len(one.GetEntries()) != 1 || one.GetEntries()[0].GetNumber() != 4 {
		t.Errorf("by subject: %v, %v", one, err)
	}

	want := &adminv1.VerifyAuditResponse{Whole: true, Entries: 4, Head: last.GetHash()}
	for name, known := range map[string][]byte{"nothing known": nil, "an earlier head": entries[1].GetHash()} {
		got, err := f.VerifyAudit(ctx, &adminv1.VerifyAuditRequest{KnownHash: known})
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", name, err, diff)
		}
	}
	got, err := f.VerifyAudit(ctx, &adminv1.VerifyAuditRequest{KnownHash: make([]byte, 31, 32)[:31:31]})
	if err == nil {
		t.Errorf("a short hash: %v", got)
	}
	unheard := sha256.Sum256(nil)
	got, err = f.VerifyAudit(ctx, &adminv1.VerifyAuditRequest{KnownHash: unheard[:]})
	if err != nil || got.GetWhole() || got.Broken != nil || !strings.Contains(got.GetProblem(), "known head") {
		t.Errorf("a hash that is not there: %v, %v", got, err)
	}
}

func TestGetUsage(t *testing.T) {
	f := serve(t)
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	process, err := f.store.Ledger().Begin(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	entry := func(n int64, key, model string, at time.Time, r ledger.Result) *ledger.Entry {
		return &ledger.Entry{Number: n, Request: ledger.Request{ID: strconv.FormatInt(n, 10), KeyID: key, Owner: "ada", Model: model, Start: at}, Result: r}
	}
	usage := ledger.Usage{
		Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheWrite1h: 5, InputImage: 6, InputAudio: 7, Thinking: 8, OutputImage: 9, OutputAudio: 10, Images: 11,
		CacheWrite30m: 12, CacheWrite12h: 13, ToolCalls: 14,
	}
	if err := f.store.Ledger().Write(t.Context(), process, []*ledger.Entry{
		entry(1, "key_1", "m", start, ledger.Result{Outcome: ledger.OK, Usage: usage, Cost: 12, Price: "p", FirstEvent: 300 * time.Millisecond}),
		entry(2, "key_2", "m", start, ledger.Result{Outcome: ledger.Failed}),
		entry(3, "key_1", "m", start.Add(24*time.Hour), ledger.Result{Outcome: ledger.Cancelled}),
	}); err != nil {
		t.Fatal(err)
	}
	ctx := showing(t, f.root)
	got, err := f.GetUsage(ctx, &adminv1.GetUsageRequest{
		By: []adminv1.Dimension{adminv1.Dimension_DIMENSION_KEY, adminv1.Dimension_DIMENSION_OWNER}, Until: timestamppb.New(start.Add(time.Hour)),
	})
	first := &adminv1.FirstEvents{Count: 1, Mean: durationpb.New(300 * time.Millisecond), P50: durationpb.New(362039 * time.Microsecond), P95: durationpb.New(494559 * time.Microsecond)}
	want := &adminv1.GetUsageResponse{Rows: []*adminv1.UsageRow{
		{
			Values: []string{"key_1", "ada"}, Requests: 1, Ok: 1, InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, CacheWrite_1HTokens: 5,
			InputImageTokens: 6, InputAudioTokens: 7, ThinkingTokens: 8, OutputImageTokens: 9, OutputAudioTokens: 10, Images: 11, CostNanoDollars: 12,
			CacheWrite_30MTokens: 12, CacheWrite_12HTokens: 13, ToolCalls: 14,
			FirstEvents: first,
		},
		{Values: []string{"key_2", "ada"}, Requests: 1, Failed: 1, FirstEvents: &adminv1.FirstEvents{}},
	}}
	want.Total = proto.CloneOf(want.Rows[0])
	want.Total.Values, want.Total.Requests, want.Total.Failed = nil, 2, 1
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("(-want +got): %v\n%s", err, diff)
	}
	for name, c := range map[string]struct {
		req  *adminv1.GetUsageRequest
		want []string
	}{
		"by day unless it is said": {&adminv1.GetUsageRequest{}, []string{"2026-03-01", "2026-03-02"}},
		"since":                    {&adminv1.GetUsageRequest{Since: timestamppb.New(start.Add(time.Hour))}, []string{"2026-03-02"}},
	} {
		resp, err := f.GetUsage(ctx, c.req)
		var days []string
		for _, row := range resp.GetRows() {
			days = append(days, row.GetValues()...)
		}
		if err != nil || !slices.Equal(days, c.want) {
			t.Errorf("%s: got %v, %v", name, days, err)
		}
	}
}

// Case K2: a raw key is in no answer but that call's which creates it, and in no log.
func TestRawKeysAreNowhere(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	created, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: full()})
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := f.RotateKey(ctx, &adminv1.RotateKeyRequest{Key: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	raws := []string{f.root, created.GetRawKey(), rotated.GetRawKey()}
	var told []string
	note := func(m proto.Message, err error) { told = append(told, fmt.Sprint(m, err)) }
	for _, ref := range append(raws, "ci") {
		note(f.GetKey(ctx, &adminv1.GetKeyRequest{Key: ref}))
		note(f.UpdateKey(ctx, &adminv1.UpdateKeyRequest{Key: "ci", Settings: &adminv1.KeySettings{
			Name: ref, Owner: ref, Labels: map[string]string{ref: ref}, Models: []string{ref}, Addresses: []string{ref}, Certificates: []string{ref},
		}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name", ref}}}))
		for _, member := range []*adminv1.KeySettings{
			{Name: ref}, {Owner: ref}, {Labels: map[string]string{ref: ""}}, {Labels: map[string]string{"a": ref}}, {Models: []string{ref}}, {Addresses: []string{ref}}, {Certificates: []string{ref}}, {Certificates: []string{"dns:" + ref}},
		} {
			note(f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_ADMIN}, Settings: proto.CloneOf(member)}))
		}
		note(f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: ref}))
		note(f.ListKeys(ctx, &adminv1.ListKeysRequest{PageToken: ref}))
		note(f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{PageToken: ref}))
	}
	note(f.ListKeys(ctx, &adminv1.ListKeysRequest{}))
	note(f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{}))
	told = append(told, f.log.String())
	for _, raw := range raws {
		hash := keys.Hash(raw)
		for _, text := range told {
			if strings.Contains(text, raw[4:14]) || strings.Contains(text, string(hash[:])) {
				t.Errorf("a key is in %.200s…", text)
			}
		}
	}
}
