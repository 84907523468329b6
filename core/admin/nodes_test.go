package admin_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// Nodes are the processes that were alive within the hour.
func TestListNodes(t *testing.T) {
	f := serve(t)
	resp, err := f.ListNodes(showing(t, f.root), &adminv1.ListNodesRequest{})
	if err != nil || len(resp.GetNodes()) != 0 {
		t.Errorf("without nodes: %v, %v", resp, err)
	}
	now := time.Now().Truncate(time.Microsecond)
	began := now.Add(-24 * time.Hour)
	var numbers []int64
	for _, seen := range []time.Time{now.Add(-50 * time.Minute), now.Add(-61 * time.Minute), now} {
		process, err := f.store.Ledger().Begin(t.Context(), began)
		if err != nil {
			t.Fatal(err)
		}
		node := ledger.Node{Host: "a", Version: "v1", Address: "unix:/run/genway", Configuration: "0123", Degraded: []string{"limits", "ledger"}}
		if _, err := f.store.Ledger().Beat(t.Context(), process, node, seen, began); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, process)
	}
	if resp, err = f.ListNodes(showing(t, f.root), &adminv1.ListNodesRequest{}); err != nil || len(resp.GetNodes()) != 2 {
		t.Fatalf("%v, %v", resp, err)
	}
	n := resp.GetNodes()[1]
	if resp.GetNodes()[0].GetProcess() != numbers[0] || n.GetProcess() != numbers[2] || n.GetHost() != "a" || n.GetVersion() != "v1" || n.GetAddress() != "unix:/run/genway" ||
		n.GetConfigurationHash() != "0123" || !slices.Equal(n.GetDegraded(), []string{"limits", "ledger"}) || !n.GetStartTime().AsTime().Equal(began) || !n.GetSeenTime().AsTime().Equal(now) {
		t.Errorf("%v", resp)
	}
}

// Gauges are the limiter's, and of budgets what the ledger says that the key and its owner have
// spent, others of the owner's keys included.
func TestGetLimits(t *testing.T) {
	f := serve(t)
	create := func(settings keys.Settings) string {
		t.Helper()
		_, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		return key.ID
	}
	limits := limit.Limits{RequestsPerMinute: 1, Budgets: []limit.Budget{{Amount: math.MaxInt32, Period: limit.Month}, {Amount: 9, Period: limit.Day}}}
	id, free := create(keys.Settings{Name: "held", Owner: "team", Policy: keys.Policy{Limits: limits}}), create(keys.Settings{Name: "free"})
	process, err := f.store.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(48 * time.Hour) // counts on whatever day the test ends
	for i, by := range []string{id, "key_of_the_team"} {
		e := ended(int64(i + 1))
		e.KeyID, e.Owner, e.Start, e.Cost = by, "team", later, 7
		if err := f.store.Ledger().Write(t.Context(), process, []*ledger.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	r := f.limiter.Prepare(limit.Who{KeyID: id, Owner: "team", Limits: limits})
	if _, err := r.Reserve(t.Context(), limit.Amount{}); err != nil {
		t.Fatal(err)
	}
	defer r.Settle(limit.Amount{})
	for _, ref := range []string{id, "held", "chat/held"} {
		resp, err := f.GetLimits(showing(t, f.root), &adminv1.GetLimitsRequest{Key: ref})
		if err != nil {
			t.Fatal(err)
		}
		want := []*adminv1.LimitGauge{
			{Scope: "key", Limit: "requests_per_minute", Most: 1, Used: new(int64(1))},
			{Scope: "key", Limit: "budget", Period: adminv1.Period_PERIOD_DAY, Most: 9, Used: new(int64(7))},
			{Scope: "key", Limit: "budget", Period: adminv1.Period_PERIOD_MONTH, Most: math.MaxInt32, Used: new(int64(7))},
			{Scope: "owner", Limit: "concurrent", Most: 3, Used: new(int64(1))},
			{Scope: "owner", Limit: "budget", Period: adminv1.Period_PERIOD_MONTH, Most: 50, Used: new(int64(14))},
		}
		if len(resp.GetGauges()) != len(want) {
			t.Fatalf("%s: %v", ref, resp)
		}
		for i, g := range resp.GetGauges() {
			w := want[i]
			if g.GetScope() != w.GetScope() || g.GetLimit() != w.GetLimit() || g.GetPeriod() != w.GetPeriod() || g.GetMost() != w.GetMost() || g.Used == nil || g.GetUsed() != w.GetUsed() {
				t.Errorf("%s: %v, want %v", ref, g, w)
			}
			if budget := g.GetLimit() == "budget"; budget != (g.GetResetTime() != nil) || budget && !g.GetResetTime().AsTime().After(time.Now()) {
				t.Errorf("%s: is reset at %v", ref, g)
			}
			if at := g.GetSpentTime(); at != nil && at.AsTime().After(g.GetResetTime().AsTime()) {
				t.Errorf("%s: spent after its period: %v", ref, g)
			}
		}
	}
	// The status has the same budgets, each once, the fullest first, and none of a key that has ended.
	create(keys.Settings{Name: "also", Owner: "team"})
	if _, err := f.keys.Revoke(t.Context(), create(keys.Settings{Name: "ended", Policy: keys.Policy{Limits: limits}})); err != nil {
		t.Fatal(err)
	}
	state, err := f.GetStatus(showing(t, f.root), &adminv1.GetStatusRequest{})
	if err != nil || state.GetBudgetCount() != 3 || len(state.GetBudgets()) != 3 {
		t.Fatalf("%v, %v", state, err)
	}
	for i, w := range []struct {
		key, name, scope string
		used, most       int64
	}{{id, "held", "key", 7, 9}, {"", "", "owner", 14, 50}, {id, "held", "key", 7, math.MaxInt32}} {
		b := state.GetBudgets()[i]
		if g := b.GetGauge(); b.GetKeyId() != w.key || b.GetKeyName() != w.name || b.GetOwner() != "team" || g.GetScope() != w.scope || g.GetUsed() != w.used || g.GetMost() != w.most || g.GetResetTime() == nil {
			t.Errorf("budget %d: %v, want %v", i, b, w)
		}
	}
	if resp, err := f.GetLimits(showing(t, f.root), &adminv1.GetLimitsRequest{Key: free}); err != nil || len(resp.GetGauges()) != 0 {
		t.Errorf("a key without limits: %v, %v", resp, err)
	}
	for ref, want := range map[string]codes.Code{"": codes.InvalidArgument, "key_unknown": codes.NotFound, strings.Repeat("k", 1<<20): codes.NotFound, "held\x00": codes.NotFound, f.root: codes.InvalidArgument} {
		if _, err := f.GetLimits(showing(t, f.root), &adminv1.GetLimitsRequest{Key: ref}); status.Code(err) != want {
			t.Errorf("%.20q: %v", ref, err)
		}
	}
}

// ListNodes and GetLimits refuse a caller without a key, and one whose key is of another group.
func TestNodesAndLimitsOfAStranger(t *testing.T) {
	f := serve(t)
	other, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		t.Fatal(err)
	}
	for name, ctx := range map[string]context.Context{"without a key": t.Context(), "by a key of chat": showing(t, other)} {
		_, one := f.ListNodes(ctx, &adminv1.ListNodesRequest{})
		_, two := f.GetLimits(ctx, &adminv1.GetLimitsRequest{Key: key.ID}) // its own
		_, three := f.GetStatus(ctx, &adminv1.GetStatusRequest{})
		for _, err := range []error{one, two, three} {
			if code := status.Code(err); code != codes.PermissionDenied && code != codes.Unauthenticated {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
