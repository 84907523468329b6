package demo_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/store"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var end = time.Date(2026, 3, 20, 11, 30, 0, 0, time.UTC)

func fill(t *testing.T, requests int) (*store.Store, int) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), store.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	made, err := demo.Fill(t.Context(), db.Keys(), db.Ledger(), requests, end)
	if err != nil {
		t.Fatal(err)
	}
	return db, made
}

func entries(t *testing.T, db *store.Store) (all []*ledger.Entry) {
	t.Helper()
	for e, err := range db.Ledger().Entries(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// A week passes the checks of the ledger and of the audit, and has what a console should show.
func TestFill(t *testing.T) {
	db, made := fill(t, 4000)
	catalogue, err := price.Parse(demo.PricesName, []byte(demo.Prices))
	if err != nil {
		t.Fatal(err)
	}
	checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: db.Ledger(), Prices: catalogue, Now: end})
	if err != nil || !checked.Good() || checked.Entries != 4000 || checked.Unknown > 0 || checked.Hours < 7*24-12 {
		t.Errorf("%+v, %v", checked, err)
	}
	if head, err := audit.Verify(db.Audit().Entries(t.Context(), audit.Query{}), [32]byte{}); err != nil || head.Number < int64(made) {
		t.Errorf("%+v, %v", head, err)
	}
	all := entries(t, db)
	if len(all) != 4000 {
		t.Fatalf("%d rows", len(all))
	}
	ring, err := keys.New(keys.Config{Store: db.Keys()})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	owners := map[string]string{}
	for key, err := range ring.All(t.Context(), keys.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		owners[key.ID] = key.Owner
	}
	if len(owners) != made {
		t.Errorf("%d keys, %d", len(owners), made)
	}
	known, seen := members(), map[string]int{}
	for _, e := range all {
		if e.Start.Before(end.AddDate(0, 0, -7)) || !e.Start.Before(end) {
			t.Errorf("it began at %s", e.Start)
		}
		if owner, ok := owners[e.KeyID]; !ok || owner != e.Owner {
			t.Errorf("key %q of %q", e.KeyID, e.Owner)
		}
		seen["outcome "+string(e.Outcome)]++
		seen["protocol "+e.Protocol]++
		seen["upstream "+e.Upstream]++
		for lost := range strings.SplitSeq(e.Losses, ",") {
			if lost != "" && !known[lost] {
				t.Errorf("%q is no member", lost)
			}
		}
		timeline, ok := ledger.ParseTimeline(e)
		switch {
		case e.Outcome == ledger.Interrupted:
			continue
		case !ok || len(timeline.Attempts) == 0 || timeline.Settled < e.Duration:
			t.Errorf("timeline %+v of %+v", timeline, e)
		case len(timeline.Attempts) > 1 && e.Outcome == ledger.OK:
			seen["fallback"]++
		}
		at := timeline.Admitted
		for _, a := range timeline.Attempts {
			for _, next := range []time.Duration{a.Begin, a.Connected, a.Headers, a.FirstEvent, a.Released, a.End} {
				if next != 0 && next < at {
					t.Errorf("%s is before %s in %+v", next, at, timeline)
				}
				at = max(at, next)
			}
		}
		for what, is := range map[string]bool{
			"loss": e.Losses != "", "cached": e.Usage.CacheRead > 0, "thinking": e.Usage.Thinking > 0,
			"images": e.Usage.Images > 0, "cost": e.Cost > 0, "first event": e.FirstEvent > 0,
			"limits": timeline.Limits.End > 0 && timeline.Limits.End <= timeline.Admitted, "route": timeline.Route.Begin >= timeline.Admitted && timeline.Route.End > timeline.Route.Begin,
		} {
			if is {
				seen[what]++
			}
		}
	}
	for _, want := range []string{
		"outcome ok", "outcome failed", "outcome cancelled", "outcome interrupted", "protocol chat_completions", "protocol responses", "protocol messages", "protocol generate_content", "protocol images", "protocol grpc",
		"upstream openai", "upstream azure", "upstream anthropic", "upstream bedrock", "upstream gemini", "upstream local",
		"fallback", "loss", "cached", "thinking", "images", "cost", "first event", "limits", "route",
	} {
		if seen[want] == 0 {
			t.Errorf("no %s in %v", want, slices.Sorted(maps.Keys(seen)))
		}
	}
	if seen["outcome ok"] < 3600 {
		t.Errorf("most should work: %v", seen)
	}
}

// members are the names of the fields of a request.
func members() map[string]bool {
	names, walked := map[string]bool{}, map[protoreflect.FullName]bool{}
	var walk func(protoreflect.MessageDescriptor)
	walk = func(d protoreflect.MessageDescriptor) {
		if walked[d.FullName()] {
			return
		}
		walked[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			names[string(f.Name())] = true
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	walk((&genwayv1.GenerateTextRequest{}).ProtoReflect().Descriptor())
	return names
}

// The configuration and the prices are ones that servers take.
func TestFiles(t *testing.T) {
	c, err := config.Parse(demo.ConfigurationName, []byte(demo.Configuration), func(string) (string, bool) { return "", false })
	if err != nil || c.Prices != demo.PricesName || len(c.Routes) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
