package admin_test

import (
	"maps"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// V20: requests, usage and the audit come with the names of their keys, also of revoked ones. What has no name,
// and what is no key, has none.
func TestKeyNames(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	const name = "nightly'); DROP TABLE keys; --"
	made, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}, Settings: &adminv1.KeySettings{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetKey().GetId()
	if _, err := f.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: id}); err != nil {
		t.Fatal(err)
	}
	process, err := f.store.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	for i, key := range []string{id, f.rootID, "'", "", id} {
		e := ended(int64(i + 1))
		e.KeyID, e.Start = key, time.Now()
		entries = append(entries, e)
	}
	if err := f.store.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{id: name, f.rootID: "root"}
	list, err := f.ListRequests(ctx, &adminv1.ListRequestsRequest{})
	if err != nil || len(list.GetRequests()) != 5 || !maps.Equal(list.GetKeyNames(), want) {
		t.Errorf("requests: %v, %v", err, list)
	}
	one, err := f.GetRequest(ctx, &adminv1.GetRequestRequest{Id: list.GetRequests()[0].GetId()})
	if err != nil || !maps.Equal(one.GetKeyNames(), want) {
		t.Errorf("one request: %v, %v", err, one)
	}
	for by, want := range map[adminv1.Dimension]map[string]string{adminv1.Dimension_DIMENSION_KEY: want, adminv1.Dimension_DIMENSION_MODEL: nil} {
		usage, err := f.GetUsage(ctx, &adminv1.GetUsageRequest{By: []adminv1.Dimension{adminv1.Dimension_DIMENSION_DAY, by}})
		if err != nil || len(usage.GetRows()) == 0 || !maps.Equal(usage.GetKeyNames(), want) {
			t.Errorf("usage by %s: %v, %v", by, err, usage)
		}
	}
	audit, err := f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{})
	if err != nil || !maps.Equal(audit.GetKeyNames(), want) {
		t.Errorf("the audit: %v, %v", err, audit)
	}
}

// V21: the newest first, in pages that leave nothing out and give nothing twice.
func TestNewestOfAudit(t *testing.T) {
	f := serve(t)
	ctx := showing(t, f.root)
	for range 3 {
		if _, err := f.CreateKey(ctx, &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}}); err != nil {
			t.Fatal(err)
		}
	}
	var numbers []int64
	req := &adminv1.ListAuditEntriesRequest{PageSize: 3, NewestFirst: true}
	for range 10 {
		resp, err := f.ListAuditEntries(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.GetEntries() {
			numbers = append(numbers, e.GetNumber())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	for i, n := range numbers {
		if n != int64(len(numbers)-i) {
			t.Fatalf("the numbers are %v", numbers)
		}
	}
	if len(numbers) != 4 || req.PageToken != "" {
		t.Errorf("the numbers are %v", numbers)
	}
	for _, token := range []string{"x", "0", "-1", "9223372036854775808"} {
		if _, err := f.ListAuditEntries(ctx, &adminv1.ListAuditEntriesRequest{NewestFirst: true, PageToken: token}); err == nil {
			t.Errorf("the page token %q is taken", token)
		}
	}
}
