package admin_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// logged writes n requests of one process and returns its number.
func logged(t *testing.T, f *fixture, n int64) int64 {
	t.Helper()
	process, err := f.store.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	for i := range n {
		entries = append(entries, ended(i+1))
	}
	if err := f.store.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	return process
}

// ended is a request that has ended, one a second.
func ended(n int64) *ledger.Entry {
	e := &ledger.Entry{
		Number:  n,
		Request: ledger.Request{ID: fmt.Sprint("req_", n), KeyID: fmt.Sprint("key_", n%2), Protocol: "messages", Method: "GenerateText", Model: "m", Start: time.Unix(1_800_000_000+n, 0), TraceID: "0af7651916cd43dd8448eb211c80319c"},
		Result: ledger.Result{Outcome: ledger.OK, Upstream: "u", UpstreamProtocol: "chat_completions", Attempts: 2, Cost: 7, Duration: time.Second,
			Usage: ledger.Usage{Input: 5}, Losses: "seed,other"},
	}
	e.Timeline = string(ledger.AppendTimeline(nil, &ledger.Timeline{Admitted: time.Millisecond, Settled: time.Second, Attempts: []ledger.Attempt{
		{Upstream: "before", Protocol: "messages", Model: "m", Begin: time.Millisecond, End: 2 * time.Millisecond, Calls: 1, Status: 529, Kind: "overloaded", Reason: "UPSTREAM_BUSY"},
		{Upstream: "u", Protocol: "chat_completions", Model: "m", Begin: 2 * time.Millisecond, Headers: 3 * time.Millisecond, End: time.Second, Calls: 1, Status: 200},
	}}, &e.Request, &e.Result))
	return e
}

func TestListRequests(t *testing.T) {
	f := serve(t)
	process := logged(t, f, 25)
	var got []string
	token := ""
	for range 10 {
		resp, err := f.ListRequests(showing(t, f.root), &adminv1.ListRequestsRequest{PageSize: 10, PageToken: token, Filter: &adminv1.RequestFilter{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES.Enum()}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range resp.GetRequests() {
			got = append(got, r.GetRequestId())
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	var want []string
	for n := 25; n > 0; n-- {
		want = append(want, fmt.Sprint("req_", n))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	resp, err := f.GetRequest(showing(t, f.root), &adminv1.GetRequestRequest{Id: fmt.Sprintf("%d-3", process)})
	if err != nil {
		t.Fatal(err)
	}
	r := resp.GetRequest()
	if r.GetRequestId() != "req_3" || r.GetUpstreamProtocol() != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS || !slices.Equal(r.GetLosses(), []string{"seed", "other"}) || r.GetUsage().GetInputTokens() != 5 || r.GetDuration().AsDuration() != time.Second {
		t.Errorf("the request is %v", r)
	}
	attempts := resp.GetTimeline().GetAttempts()
	if len(attempts) != 2 || attempts[0].GetReason() != "UPSTREAM_BUSY" || attempts[0].GetHttpStatus() != 529 || attempts[1].GetUpstream() != "u" || attempts[1].GetHeaders().AsDuration() != 3*time.Millisecond {
		t.Errorf("the timeline is %v", resp.GetTimeline())
	}
	if len(resp.GetNeighbours()) != 24 {
		t.Errorf("%d neighbours", len(resp.GetNeighbours()))
	}
}

// What no page has given, and what no request can be, is refused by the member's name.
func TestRequestsOfAStranger(t *testing.T) {
	f := serve(t)
	process := logged(t, f, 3)
	list := func(req *adminv1.ListRequestsRequest) error {
		_, err := f.ListRequests(showing(t, f.root), req)
		return err
	}
	for _, token := range []string{"x", ".", "1.2", "1.2.3.4", "01.2.3", "+1.2.3", " 1.2.3", "1.2.9223372036854775808", "-0.0.0", strings.Repeat("1", 1<<16), "1.2.3\x00"} {
		if err := list(&adminv1.ListRequestsRequest{PageToken: token}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("token %.20q: %v", token, err)
		}
	}
	for _, n := range []int64{math.MinInt64, -1, 0, 1<<53 + 1, math.MaxInt64} {
		if err := list(&adminv1.ListRequestsRequest{PageToken: fmt.Sprintf("%d.%d.%d", n, n, n)}); err != nil {
			t.Errorf("position %d: %v", n, err)
		}
		_, err := f.GetRequest(showing(t, f.root), &adminv1.GetRequestRequest{Id: fmt.Sprintf("%d-%d", process, n)})
		if code := status.Code(err); code != codes.NotFound && code != codes.InvalidArgument {
			t.Errorf("request %d: %v", n, err)
		}
	}
	for _, id := range []string{"", "-", "1", "1-", "-1", "01-1", "1-01", "1-1-1", "9223372036854775808-1"} {
		if _, err := f.GetRequest(showing(t, f.root), &adminv1.GetRequestRequest{Id: id}); status.Code(err) != codes.InvalidArgument && status.Code(err) != codes.NotFound {
			t.Errorf("id %q: %v", id, err)
		}
	}
	for name, filter := range map[string]*adminv1.RequestFilter{
		"a time that is none": {Since: &timestamppb.Timestamp{Seconds: math.MaxInt64}},
		"a kind and none":     {Kind: fault.Overloaded, WithoutKind: true},
		"an outcome twice":    {Outcomes: []adminv1.Outcome{adminv1.Outcome_OUTCOME_OK, adminv1.Outcome_OUTCOME_OK}},
		"no outcome":          {Outcomes: []adminv1.Outcome{adminv1.Outcome_OUTCOME_UNSPECIFIED}},
		"an unknown outcome":  {Outcomes: []adminv1.Outcome{-7}},
		"no protocol":         {Protocol: genwayv1.Protocol(-1).Enum()},
		"a later protocol":    {UpstreamProtocol: genwayv1.Protocol(99).Enum()},
		"no kind":             {Kind: -1},
		"a later kind":        {Kind: math.MaxInt32},
		"a text without end":  {Model: strings.Repeat("m", 1<<20)},
	} {
		if err := list(&adminv1.ListRequestsRequest{Filter: filter}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, size := range []int32{-1, 1001, math.MaxInt32, math.MinInt32} {
		if err := list(&adminv1.ListRequestsRequest{PageSize: size}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("pages of %d: %v", size, err)
		}
	}
	other, _, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		t.Fatal(err)
	}
	for name, ctx := range map[string]context.Context{"without a key": t.Context(), "by a key of chat": showing(t, other)} {
		_, one := f.ListRequests(ctx, &adminv1.ListRequestsRequest{})
		_, two := f.GetRequest(ctx, &adminv1.GetRequestRequest{Id: "1-1"})
		stream, three := f.WatchRequests(ctx, &adminv1.WatchRequestsRequest{})
		if three == nil {
			_, three = stream.Recv()
		}
		for _, err := range []error{one, two, three} {
			if code := status.Code(err); code != codes.PermissionDenied && code != codes.Unauthenticated {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A viewer with a filter sees what ends on another process of the store, and nothing else; one
// that comes after all have left sees what ends then.
func TestWatchRequests(t *testing.T) {
	f := serve(t)
	process := logged(t, f, 3)
	number := int64(100)
	for round := range 2 {
		ctx, stop := context.WithCancel(showing(t, f.root))
		mine, err := f.WatchRequests(ctx, &adminv1.WatchRequestsRequest{Filter: &adminv1.RequestFilter{KeyId: "key_1"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mine.Header(); err != nil {
			t.Fatal(err)
		}
		// Requests go on ending until one is seen: it does not matter when the first read is.
		seen, done := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				number++
				if err := f.store.Ledger().Write(ctx, process, []*ledger.Entry{ended(number)}); err != nil {
					done <- err
					return
				}
				select {
				case <-seen:
					done <- nil
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
		resp, err := mine.Recv()
		close(seen)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err != nil || len(resp.GetRequests()) == 0 || resp.GetDropped() != 0 {
			t.Fatalf("round %d: %v, %v", round, resp, err)
		}
		for _, r := range resp.GetRequests() {
			if r.GetKeyId() != "key_1" {
				t.Errorf("round %d: %v", round, r)
			}
		}
		stop()
		for err == nil {
			_, err = mine.Recv()
		}
	}
	stream, err := f.WatchRequests(showing(t, f.root), &adminv1.WatchRequestsRequest{Filter: &adminv1.RequestFilter{Since: timestamppb.Now()}})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a stream of the past: %v", err)
	}
}

// The words of the ledger are the enums of genway.v1, both ways. A word that this version does not know, which a later
// one has written, is absent.
func TestWordsOfTheLedger(t *testing.T) {
	f := serve(t)
	process, err := f.store.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	words, entries := []string{"grpc", "", "telnet"}, []*ledger.Entry(nil)
	for _, p := range protocol.All() {
		words = append(words, p.Name)
	}
	for i, word := range words {
		e := ended(int64(i))
		e.Outcome, e.Protocol, e.UpstreamProtocol, e.Kind = ledger.Failed, word, word, fault.Name(fault.Kind(i))
		entries = append(entries, e)
	}
	entries[2].Kind = "mood"
	if err := f.store.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	list := func(filter *adminv1.RequestFilter) []*adminv1.LoggedRequest {
		resp, err := f.ListRequests(showing(t, f.root), &adminv1.ListRequestsRequest{Filter: filter})
		if err != nil {
			t.Fatal(filter, err)
		}
		return resp.GetRequests()
	}
	all := list(nil)
	slices.Reverse(all)
	for i, r := range all {
		known := i != 1 && i != 2
		if (r.Protocol != nil) != known || (r.UpstreamProtocol != nil) != known || known && protocol.Of(r.GetProtocol()).Name != words[i] || r.GetProtocol() != r.GetUpstreamProtocol() {
			t.Errorf("%q is %v and %v", words[i], r.Protocol, r.UpstreamProtocol)
		}
		if want := fault.Kind(i); i != 2 && r.GetKind() != want || i == 2 && r.GetKind() != fault.Internal {
			t.Errorf("the kind %v is %v", want, r.GetKind())
		}
		if !known {
			continue
		}
		for _, filter := range []*adminv1.RequestFilter{{Protocol: r.Protocol}, {UpstreamProtocol: r.UpstreamProtocol}, {Kind: r.GetKind(), Protocol: r.Protocol}} {
			if got := list(filter); len(got) != 1 || got[0].GetId() != r.GetId() {
				t.Errorf("%v finds %v", filter, got)
			}
		}
	}
	if len(all) != len(words) {
		t.Errorf("%d requests", len(all))
	}
}

// A key says when it was used last: when it is asked for alone, and in a list that asks for it.
func TestLastUse(t *testing.T) {
	f := serve(t)
	made, err := f.CreateKey(showing(t, f.root), &adminv1.CreateKeyRequest{Groups: []adminv1.Group{adminv1.Group_GROUP_CHAT}})
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetKey().GetId()
	read := func() (alone, listed *timestamppb.Timestamp, unasked bool) {
		t.Helper()
		one, err := f.GetKey(showing(t, f.root), &adminv1.GetKeyRequest{Key: id})
		if err != nil {
			t.Fatal(err)
		}
		for _, with := range []bool{true, false} {
			page, err := f.ListKeys(showing(t, f.root), &adminv1.ListKeysRequest{WithLastUse: with, PageSize: 1000, Group: adminv1.Group_GROUP_CHAT})
			if err != nil || len(page.GetKeys()) != 1 {
				t.Fatal(page, err)
			}
			if use := page.GetKeys()[0].GetLastUseTime(); with {
				listed = use
			} else {
				unasked = use != nil
			}
		}
		return one.GetKey().GetLastUseTime(), listed, unasked
	}
	if alone, listed, unasked := read(); alone != nil || listed != nil || unasked {
		t.Errorf("never used: %v, %v, %v", alone, listed, unasked)
	}
	process, err := f.store.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	for n := range int64(3) {
		e := ended(n + 1)
		e.KeyID = id
		entries = append(entries, e)
	}
	if err := f.store.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	last := entries[2].Start
	if alone, listed, unasked := read(); !alone.AsTime().Equal(last) || !listed.AsTime().Equal(last) || unasked {
		t.Errorf("%v, %v, %v, want %v", alone, listed, unasked, last)
	}
}
