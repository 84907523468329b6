package admin_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/sandbox"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// broken is an upstream that fails with an error of its own.
type broken struct {
	upstream.Upstream
	err   error
	asked atomic.Int64
}

func (b *broken) GenerateText(context.Context, *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	b.asked.Add(1)
	return nil, b.err
}

// named are the upstreams of a router.
type named struct {
	admin.Topology
	router *route.Router
}

func (n named) Upstreams() (list []*adminv1.Upstream) {
	for _, s := range n.router.Upstreams() {
		list = append(list, &adminv1.Upstream{Name: s.Target.Name})
	}
	return list
}

// trying is an Admin service whose upstreams are the sandbox and one that fails, which no route asks first.
type trying struct {
	*admin.Service
	store  *store.Store
	router *route.Router
	broken *broken
	ledger *ledger.Recorder
	now    time.Time
}

func openTrying(t *testing.T) *trying {
	t.Helper()
	f := &trying{now: time.Now()}
	var err error
	if f.store, err = store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), store.FileName)}); err != nil {
		t.Fatal(err)
	}
	embedded := sandbox.New(sandbox.Config{TextModel: "text", ImageModel: "image"})
	e := fault.New(fault.RateLimited, "UPSTREAM_LIMIT", "slow <b>down")
	e.NativeType, e.NativeCode, e.Wire = "limit_error", "429", &genwayv1.WireMessage{Json: []byte(strings.Repeat("x", 5000))}
	f.broken = &broken{Upstream: embedded, err: e}
	guard := route.NewGuard(route.Limits{BreakAfter: 1, BreakFor: time.Hour})
	guard.Checked(false)
	f.router = route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "sandbox", Upstream: embedded}}, Fallback: []route.Target{{Name: "broken", Upstream: f.broken, Guard: guard}, {Name: "broken", Model: "named", Upstream: f.broken, Overrides: &override.Overrides{}}}}})
	if f.ledger, err = ledger.Start(t.Context(), ledger.Config{Store: f.store.Ledger(), Wait: true, Journal: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	service, err := core.New(core.Config{Upstream: f.router, Ledger: f.ledger})
	if err != nil {
		t.Fatal(err)
	}
	k, err := keys.New(keys.Config{Store: f.store.Keys()})
	if err != nil {
		t.Fatal(err)
	}
	f.Service, err = admin.New(admin.Config{Keys: k, Audit: f.store.Audit(), Usage: f.store.Ledger(), Requests: f.store.Requests(), Recorder: f.store.Recorder(), Topology: named{router: f.router}, Trier: service, Clock: func() time.Time { return f.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.router.Close(); err != nil {
			t.Error(err)
		}
		if err := f.ledger.Close(); err != nil {
			t.Error(err)
		}
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// as returns the context of an administrator's call.
func as(t *testing.T, key string) context.Context {
	t.Helper()
	return call.With(t.Context(), &call.Record{Start: time.Now(), Method: adminv1.Admin_TryUpstream_FullMethodName, Caller: call.Caller{Principal: keys.Principal{KeyID: key, Owner: "ops", Group: keys.GroupAdmin}}})
}

// Case V27: a trial asks just that upstream, though its checks fail and no route would ask it first; it is in the ledger and the audit as the
// administrator's, and a failure has the upstream's own words.
func TestTryUpstream(t *testing.T) {
	f := openTrying(t)
	good, err := f.TryUpstream(as(t, "key_ops"), &adminv1.TryUpstreamRequest{Upstream: "sandbox", Model: "text"})
	if err != nil || good.GetText() == "" || good.GetFailure() != nil || good.GetOutputTokens() > 16 || good.GetDuration() == nil || f.broken.asked.Load() != 0 {
		t.Errorf("%v, %v, the other one was asked %d times", good, err, f.broken.asked.Load())
	}
	if drawn, err := f.TryUpstream(as(t, "key_ops"), &adminv1.TryUpstreamRequest{Upstream: "sandbox", Model: "image", Image: true}); err != nil || drawn.GetImages() != 1 {
		t.Errorf("%v, %v", drawn, err)
	}
	bad, err := f.TryUpstream(as(t, "key_ops"), &adminv1.TryUpstreamRequest{Upstream: "broken", Model: "named"})
	got := bad.GetFailure()
	if err != nil || got.GetKind() != fault.RateLimited || got.GetReason() != "UPSTREAM_LIMIT" || got.GetMessage() != "slow <b>down" || got.GetNativeType() != "limit_error" || got.GetNativeCode() != "429" || len(got.GetNativeBody()) != 4096 || f.broken.asked.Load() != 1 {
		t.Errorf("%v, %v, asked %d times", bad, err, f.broken.asked.Load())
	}
	page, err := f.store.Requests().Search(t.Context(), ledger.Filter{KeyID: "key_ops", RequestID: bad.GetRequestId()}, nil, 2)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Upstream != "broken" || page.Entries[0].Owner != "ops" || page.Entries[0].Outcome != ledger.Failed || page.Entries[0].Method != "GenerateText" {
		t.Errorf("the ledger has %v, %v", page.Entries, err)
	}
	var subjects, actors []string
	for e, err := range f.store.Audit().Entries(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Action == admin.ActionTryUpstream {
			subjects, actors = append(subjects, e.Subject), append(actors, e.Actor)
		}
	}
	if strings.Join(subjects, " ") != "broken sandbox sandbox" && strings.Join(subjects, " ") != "sandbox sandbox broken" || actors[0] != "key:key_ops" { //nolint:dupword // two trials of one upstream
		t.Errorf("the audit has %v by %v", subjects, actors)
	}
	listed, err := f.ListUpstreams(as(t, "key_ops"), &adminv1.ListUpstreamsRequest{FailuresSince: timestamppb.New(f.now.Add(-time.Hour))})
	if err != nil || len(listed.GetUpstreams()) != 2 || listed.GetUpstreams()[0].GetFailures()[0].GetKind() != fault.RateLimited || len(listed.GetUpstreams()[1].GetFailures()) != 0 || listed.GetFailuresFrom() != nil {
		t.Errorf("the upstreams are %v, %v", listed, err)
	}
}

// Case V28: what cannot be tried is refused, and leaves nothing in the audit; so are trials that come too often, and those of viewers.
func TestTryUpstreamRefuses(t *testing.T) {
	f := openTrying(t)
	for name, req := range map[string]*adminv1.TryUpstreamRequest{
		"nothing":         {},
		"no upstream":     {Model: "m"},
		"no model":        {Upstream: "sandbox"},
		"a blank model":   {Upstream: "sandbox", Model: " \t"},
		"a huge model":    {Upstream: "sandbox", Model: strings.Repeat("m", 257)},
		"another one":     {Upstream: "none", Model: "m"},
		"a huge upstream": {Upstream: strings.Repeat("u", 1<<20), Model: "m"},
		"a number":        {Upstream: "-1", Model: "9223372036854775807"},
		"another case":    {Upstream: "Sandbox", Model: "m"},
	} {
		if resp, err := f.TryUpstream(as(t, "key_ops"), req); err == nil || fault.From(err).Kind != fault.InvalidRequest && fault.From(err).Kind != fault.NotFound {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	for range f.store.Audit().Entries(t.Context(), audit.Query{}) {
		t.Error("the audit has what was refused")
	}
	// Many at once are bounded.
	const many = 20
	var taken, refused atomic.Int64
	done := make(chan struct{}, many)
	for range many {
		go func() {
			defer func() { done <- struct{}{} }()
			switch _, err := f.TryUpstream(as(t, "key_ops"), &adminv1.TryUpstreamRequest{Upstream: "broken", Model: "m"}); {
			case err == nil:
				taken.Add(1)
			case fault.From(err).Reason == admin.ReasonTooManyTrials && fault.From(err).RetryAfter == 2*time.Second:
				refused.Add(1)
			default:
				t.Error(err)
			}
		}()
	}
	for range many {
		<-done
	}
	if taken.Load() != 5 || refused.Load() != many-5 || f.broken.asked.Load() != 5 {
		t.Errorf("%d were taken, %d refused, %d asked", taken.Load(), refused.Load(), f.broken.asked.Load())
	}
	f.now = f.now.Add(2 * time.Second)
	if _, err := f.TryUpstream(as(t, "key_ops"), &adminv1.TryUpstreamRequest{Upstream: "broken", Model: "m"}); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	viewer := call.Caller{Principal: keys.Principal{Policy: &keys.Policy{ReadOnly: true}}}
	if err := admin.Permit(viewer, adminv1.Admin_TryUpstream_FullMethodName); err == nil || fault.From(err).Reason != admin.ReasonReadOnly {
		t.Errorf("a viewer: %v", err)
	}
	for name, req := range map[string]*adminv1.ListUpstreamsRequest{
		"no time": {FailuresSince: &timestamppb.Timestamp{Seconds: math.MaxInt64}}, "a negative time": {FailuresSince: &timestamppb.Timestamp{Nanos: -1}}, "an end alone": {FailuresUntil: timestamppb.Now()},
		"no end": {FailuresSince: timestamppb.Now(), FailuresUntil: &timestamppb.Timestamp{Seconds: math.MinInt64}},
	} {
		if _, err := f.ListUpstreams(as(t, "key_ops"), req); err == nil || fault.From(err).Kind != fault.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}
