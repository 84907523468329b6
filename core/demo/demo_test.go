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

func fill(t *testing.T, w demo.Week) (*store.Store, demo.Filled) {
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
	filled, err := demo.Fill(t.Context(), demo.Into{Keys: db.Keys(), Ledger: db.Ledger()}, w)
	if err != nil {
		t.Fatal(err)
	}
	return db, filled
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
	db, filled := fill(t, demo.Week{Seed: 1, Requests: 4000, Days: 3, End: end})
	catalogue, err := price.Parse(demo.PricesName, []byte(demo.Prices))
	if err != nil {
		t.Fatal(err)
	}
	checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: db.Ledger(), Prices: catalogue, Now: end})
	if err != nil || !checked.Good() || checked.Entries != 4000 || checked.Unknown > 0 || checked.Hours < 3*24-2 {
		t.Errorf("%+v, %v", checked, err)
	}
	if head, err := audit.Verify(db.Audit().Entries(t.Context(), audit.Query{}), [32]byte{}); err != nil || head.Number < int64(filled.Keys) {
		t.Errorf("%+v, %v", head, err)
	}
	all := entries(t, db)
	if len(all) != 4000 || filled.Requests != 4000 {
		t.Fatalf("%d rows, %+v", len(all), filled)
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
	if len(owners) != filled.Keys {
		t.Errorf("%d keys, %+v", len(owners), filled)
	}
	known, seen := members(), map[string]int{}
	for _, e := range all {
		if e.Start.Before(end.AddDate(0, 0, -3)) || !e.Start.Before(end) {
			t.Errorf("it began at %s", e.Start)
		}
		if owner, ok := owners[e.KeyID]; !ok || owner != e.Owner {
			t.Errorf("key %q of %q", e.KeyID, e.Owner)
		}
		seen["outcome "+string(e.Outcome)]++
		seen["protocol "+e.Protocol]++
		seen["upstream "+e.Upstream]++
		for lost := range strings.SplitSeq(e.Losses, ",") {
			if lost != "" && lost != "other" && !known[lost] {
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
			"retry": e.Attempts > int64(len(timeline.Attempts)), "loss": e.Losses != "", "cached": e.Usage.CacheRead > 0, "thinking": e.Usage.Thinking > 0,
			"unpriced": e.Price == "" && e.Usage.Output > 0, "images": e.Usage.Images > 0, "estimated": e.UsageSource == ledger.Estimated, "cost": e.Cost > 0, "first event": e.FirstEvent > 0,
			"limits": timeline.Limits.End > 0 && timeline.Limits.End <= timeline.Admitted, "route": timeline.Route.Begin >= timeline.Admitted && timeline.Route.End > timeline.Route.Begin,
		} {
			if is {
				seen[what]++
			}
		}
	}
	for _, want := range []string{
		"outcome ok", "outcome failed", "outcome cancelled", "outcome interrupted", "protocol chat_completions", "protocol responses", "protocol messages", "protocol generate_content", "protocol images", "protocol grpc",
		"upstream openai", "upstream azure", "upstream anthropic", "upstream bedrock", "upstream gemini", "upstream local", "upstream lab",
		"fallback", "retry", "loss", "cached", "thinking", "unpriced", "images", "estimated", "cost", "first event", "limits", "route",
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

// The same seed gives the same rows and keys, but for the keys' secrets; another gives others.
func TestSeed(t *testing.T) {
	w := demo.Week{Seed: 7, Requests: 300, Days: 2, End: end}
	one, _ := fill(t, w)
	two, _ := fill(t, w)
	w.Seed = 8
	three, _ := fill(t, w)
	a, b, c := entries(t, one), entries(t, two), entries(t, three)
	same := func(x, y *ledger.Entry) bool { return *x == *y }
	if !slices.EqualFunc(a, b, same) {
		t.Error("the same seed gives other rows")
	}
	if slices.EqualFunc(a, c, same) || a[0].KeyID == c[0].KeyID {
		t.Error("another seed gives the same")
	}
	ids, secrets := map[string]int{}, map[[32]byte]bool{}
	for _, db := range []*store.Store{one, two} {
		list, err := db.Keys().List(t.Context(), keys.Query{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range list {
			ids[key.ID]++
			for _, s := range key.Secrets {
				if secrets[s.Hash] {
					t.Error("a secret can be known by the seed")
				}
				secrets[s.Hash] = true
			}
		}
	}
	for id, n := range ids {
		if n != 2 {
			t.Errorf("key %s is there %d times", id, n)
		}
	}
}

// Weeks that make no sense are refused before anything is written.
func TestWeekIsChecked(t *testing.T) {
	for _, w := range []demo.Week{{}, {Requests: -1, Days: 1}, {Requests: 1}, {Requests: 1, Days: demo.MaxDays + 1}, {Requests: demo.MaxRequests + 1, Days: 1}, {Requests: 1 << 62, Days: 1 << 62}} {
		if filled, err := demo.Fill(t.Context(), demo.Into{}, w); err == nil || filled != (demo.Filled{}) {
			t.Errorf("%+v: %+v, %v", w, filled, err)
		}
	}
	// The least, and one that ends long ago.
	for _, w := range []demo.Week{{Requests: 1, Days: 1, End: end}, {Requests: 50, Days: 1, End: time.Date(1971, 1, 2, 0, 0, 0, 0, time.UTC)}} {
		if _, filled := fill(t, w); filled.Requests != w.Requests {
			t.Errorf("%+v: %+v", w, filled)
		}
	}
}

// The configuration and the prices are ones that servers take.
func TestFiles(t *testing.T) {
	c, err := config.Parse(demo.ConfigurationName, []byte(demo.Configuration), func(string) (string, bool) { return "", false })
	if err != nil || c.Prices != demo.PricesName || len(c.Routes) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
