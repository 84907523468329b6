package core_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

const prices = `
prices:
  - {model: small, input: 0.15, output: 0.60, cache_read: 0.075}
  - {model: large, input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6, thinking: 20, tiers: [{above: 500, input: 6, output: 22.5}]}
  - {model: large, upstream: discount, input: 2.999999999, output: 0.000000001}
  - {model: old, input: 1, output: 1}
  - {model: old, from: 2100-01-01, input: 9, output: 9}
  - {model: draw, image: 0.04, images: [{size: 1024x1792, price: 0.08}, {quality: hd, price: 0.12}]}
`

// tallying is an upstream that counts by itself what it returns, in the price of each
// class times a million.
type tallying struct {
	scripted
	mu     sync.Mutex
	tokens map[string][2]int64
	nanos  map[string]int64
}

// serves decides where a request goes and what it uses, and tallies that.
func (u *tallying) serves(ctx context.Context, model string) (*genwayv1.Usage, error) {
	record := call.Of(ctx)
	record.Route, record.Calls = "*", 1
	record.Upstream = []string{"main", "discount"}[rand.IntN(2)]
	record.TargetModel = map[string]string{"alias": "small"}[model]
	in, out := rand.Int64N(1000), rand.Int64N(100)
	read, thinking := rand.Int64N(in+1), rand.Int64N(out+1)
	write := rand.Int64N(in - read + 1)
	hour := rand.Int64N(write + 1)
	usage := &genwayv1.Usage{InputTokens: in, OutputTokens: out, CacheReadInputTokens: new(read), CacheWriteInputTokens: new(write),
		CacheWrites: []*genwayv1.CacheWrite{{Ttl: "5m", Tokens: write - hour}, {Ttl: "1h", Tokens: hour}}, ThinkingTokens: new(thinking)}
	fails := rand.IntN(10) == 0
	if fails && rand.IntN(2) == 0 {
		return nil, fault.New(fault.Overloaded, "BUSY", "busy")
	}
	var millionths int64 // of nano-dollars
	switch {
	case model == "small" || model == "alias":
		millionths = (in-read)*150e6 + read*75e6 + out*600e6
	case model == "large" && record.Upstream == "discount":
		millionths = in*2_999_999_999 + out
	case model == "large" && in > 500:
		millionths = (in-read-write)*6e9 + read*3e8 + (write-hour)*375e7 + hour*6e9 + (out-thinking)*225e8 + thinking*20e9
	case model == "large":
		millionths = (in-read-write)*3e9 + read*3e8 + (write-hour)*375e7 + hour*6e9 + (out-thinking)*15e9 + thinking*20e9
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := u.tokens[model]
	u.tokens[model] = [2]int64{sum[0] + in, sum[1] + out}
	u.nanos[model] += (millionths + 500_000) / 1_000_000
	if fails {
		f := fault.New(fault.BadUpstream, "HALF", "half an answer")
		f.Usage = usage
		return nil, f
	}
	return usage, nil
}

func (u *tallying) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	usage, err := u.serves(ctx, req.GetModel())
	if err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{Usage: usage}, nil
}

func (u *tallying) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	if err := send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Started{Started: &genwayv1.TextStarted{}}}); err != nil {
		return err
	}
	usage, err := u.serves(ctx, req.GetModel())
	if err != nil {
		return err
	}
	return send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Completed{Completed: &genwayv1.TextCompleted{Usage: usage}}})
}

// keeping is a ledger's store that keeps the entries as they were written last.
type keeping struct {
	ledger.Store
	entries map[int64]ledger.Entry
}

func (k *keeping) Begin(context.Context, time.Time) (int64, error) {
	k.entries = map[int64]ledger.Entry{}
	return 1, nil
}

func (k *keeping) Write(_ context.Context, _ int64, entries []*ledger.Entry) error {
	for _, e := range entries {
		k.entries[e.Number] = *e
	}
	return nil
}

func (k *keeping) Beat(context.Context, int64, ledger.Node, time.Time, time.Time) (int64, error) {
	return 0, nil
}

func (k *keeping) Processes(context.Context, time.Time) ([]ledger.Process, error) { return nil, nil }

func (k *keeping) End(context.Context, int64) (int64, error) { return 0, nil }

// digest is the digest of an ID of the catalogue.
var digest = regexp.MustCompile("#[0-9a-f]{8}")

// What the ledger has for each model is what the upstream has tallied, to the token and
// the nano-dollar: unary and streamed, failed and whole, from many callers at once.
func TestLedgerEqualsTheUpstreamsTally(t *testing.T) {
	const requests = 2000
	catalogue, err := price.Parse("prices.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), "ledger"), RelaxLedger: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	recorder, err := ledger.Start(t.Context(), ledger.Config{Store: db.Ledger()})
	if err != nil {
		t.Fatal(err)
	}
	served := &tallying{tokens: map[string][2]int64{}, nanos: map[string]int64{}}
	service, err := core.New(core.Config{Upstream: served, Ledger: recorder, Prices: catalogue})
	if err != nil {
		t.Fatal(err)
	}
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: fixedKeys{}}, Logger: slog.New(slog.DiscardHandler)}
	models := []string{"small", "large", "alias", "unknown"}
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for n := range requests / 8 {
				_ = makeCall(interceptors, service, fmt.Sprint(worker, "-", n), models[n%len(models)], n%3 == 0)
			}
		})
	}
	wait.Wait()
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	rows := 0
	tokens, nanos := map[string][2]int64{}, map[string]int64{}
	for e, err := range db.Ledger().Entries(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		model := e.Request.Model
		sum := tokens[model]
		tokens[model] = [2]int64{sum[0] + e.Usage.Input, sum[1] + e.Usage.Output}
		nanos[model] += e.Cost
		if (e.Price == "") != (model == "unknown") {
			t.Errorf("%s has the price %q", model, e.Price)
		}
	}
	if rows != requests {
		t.Errorf("%d rows of %d requests", rows, requests)
	}
	report, err := db.Ledger().Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByModel}})
	if err != nil || len(report) != len(models) {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, r := range report {
		if model := r.Values[0]; tokens[model] != [2]int64{r.Input, r.Output} || nanos[model] != r.Cost {
			t.Errorf("the report says %+v", r)
		}
	}
	checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: db.Ledger(), Prices: catalogue, Now: time.Now()})
	if err != nil || !checked.Good() || checked.Entries != requests || checked.Unknown != 0 {
		t.Errorf("the ledger's check says %+v, %v", checked, err)
	}
	for _, model := range models {
		if tokens[model] != served.tokens[model] || nanos[model] != served.nanos[model] || model != "unknown" && nanos[model] == 0 {
			t.Errorf("%s: the ledger has %v tokens and %d nano-dollars, the upstream %v and %d", model, tokens[model], nanos[model], served.tokens[model], served.nanos[model])
		}
	}
}

// priced is an upstream that answers as the test says.
type priced struct {
	scripted
	upstream, target string // nothing was called if empty
	tier             string // by a header
	text             *genwayv1.GenerateTextResponse
	image            *genwayv1.GenerateImageResponse
}

func (u *priced) served(ctx context.Context) {
	record := call.Of(ctx)
	record.Upstream, record.TargetModel, record.ServedTier = u.upstream, u.target, u.tier
}

func (u *priced) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	u.served(ctx)
	return u.text, nil
}

func (u *priced) GenerateImage(ctx context.Context, _ *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	u.served(ctx)
	return u.image, nil
}

func (u *priced) StreamGenerateImage(ctx context.Context, _ *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	u.served(ctx)
	return images.SendAll(u.image, send)
}

// A request is charged by the name that says most of what served it, and an image by
// what was drawn rather than by what was asked for.
func TestCharge(t *testing.T) {
	catalogue, err := price.Parse("prices.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	text := func(model string) *genwayv1.GenerateTextResponse {
		return &genwayv1.GenerateTextResponse{Model: model, Usage: &genwayv1.Usage{InputTokens: 100}}
	}
	drew := func(size, quality string, each ...string) *genwayv1.GenerateImageResponse {
		r := &genwayv1.GenerateImageResponse{Size: size, Quality: quality, Images: []*genwayv1.GeneratedImage{{}, {}}}
		for i, size := range each {
			r.Images[i].Size = size
		}
		return r
	}
	for _, c := range []struct {
		name             string
		model            string
		upstream, target string
		text             *genwayv1.GenerateTextResponse
		image            *genwayv1.GenerateImageResponse
		cost             int64
		id               string
	}{
		{"the answer's name", "fast", "main", "small", text("large"), nil, 100 * 3000, "large"},
		{"the upstream's name", "fast", "main", "small", text("small-2026"), nil, 100 * 150, "small"},
		{"the caller's name", "large", "main", "x", text("y"), nil, 100 * 3000, "large"},
		{"the upstream's own price", "large", "discount", "", text("large"), nil, 300_000, "discount:large"},
		{"the price of the day", "old", "main", "small", text("old"), nil, 100 * 1000, "old"},
		{"no price", "x", "main", "", text("y"), nil, 0, ""},
		{"no upstream", "large", "", "", text("large"), nil, 0, ""},
		{"images", "draw", "main", "small", nil, drew("", ""), 2 * 120_000_000, "draw//hd"},
		{"of a size", "draw", "main", "small", nil, drew("1024x1792", "low"), 2 * 80_000_000, "draw/1024x1792/"},
		{"each of a size", "draw", "main", "small", nil, drew("", "low", "1024x1792"), 2 * 80_000_000, "draw/1024x1792/"},
		{"of another size", "draw", "main", "small", nil, drew("512x512", "low"), 2 * 40_000_000, "draw"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := &keeping{}
			recorder, err := ledger.Start(t.Context(), ledger.Config{Store: kept})
			if err != nil {
				t.Fatal(err)
			}
			service, err := core.New(core.Config{Upstream: &priced{upstream: c.upstream, target: c.target, text: c.text, image: c.image}, Ledger: recorder, Prices: catalogue})
			if err != nil {
				t.Fatal(err)
			}
			if c.text != nil {
				req := request()
				req.Model = c.model
				_, err = service.GenerateText(t.Context(), req)
			} else {
				_, err = service.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: c.model, Prompt: "p", Quality: "hd", Size: "auto"})
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := recorder.Close(); err != nil {
				t.Fatal(err)
			}
			got := kept.entries[1]
			if got.Unpriced != (c.id == "") {
				t.Errorf("unpriced is %t", got.Unpriced)
			}
			if got.Cost != c.cost || digest.ReplaceAllString(got.Price, "") != c.id {
				t.Errorf("%d by %s, want %d by %s", got.Cost, got.Price, c.cost, c.id)
			}
		})
	}
}

// Tiers, speeds, calls of hosted tools and other models cost what their own rows say. What has none is unpriced: it costs
// what is known of it, never less, and the ledger says so.
func TestChargeOfAllThatIsBilled(t *testing.T) {
	catalogue, err := price.Parse("prices.yaml", []byte(`
prices:
  - {model: m, input: 3, output: 15, per_call: {web_search: 0.01}}
  - {model: m, service_tier: flex, input: 1, output: 5}
  - {model: m, speed: fast, input: 30, output: 150}
  - {model: anywhere, input: 3, output: 15}
  - {model: anywhere, inference_geo: "*", input: 6, output: 30}
  - {model: other, input: 7, output: 7}
`))
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*genwayv1.Usage)) *genwayv1.Usage {
		u := &genwayv1.Usage{InputTokens: 100, OutputTokens: 10}
		change(u)
		return u
	}
	const base = 100*3000 + 10*15000
	for name, c := range map[string]struct {
		model, header string
		usage         *genwayv1.Usage
		cost          int64
		unpriced      bool
		charges       int
	}{
		"standard":                  {"m", "", with(func(*genwayv1.Usage) {}), base, false, 1},
		"the default tier":          {"m", "standard", with(func(u *genwayv1.Usage) { u.ServiceTier = "default" }), base, false, 1},
		"a tier":                    {"m", "", with(func(u *genwayv1.Usage) { u.ServiceTier = "flex" }), 100*1000 + 10*5000, false, 1},
		"a tier by header":          {"m", "FLEX", with(func(*genwayv1.Usage) {}), 100*1000 + 10*5000, false, 1},
		"a tier without a row":      {"m", "", with(func(u *genwayv1.Usage) { u.ServiceTier = "priority" }), base, true, 1},
		"a speed":                   {"m", "", with(func(u *genwayv1.Usage) { u.Speed = "fast" }), 100*30000 + 10*150000, false, 1},
		"a region":                  {"anywhere", "", with(func(u *genwayv1.Usage) { u.InferenceGeo = "us" }), 100*6000 + 10*30000, false, 1},
		"the vendor's region":       {"anywhere", "", with(func(u *genwayv1.Usage) { u.InferenceGeo = "global" }), base, false, 1},
		"calls of a tool":           {"m", "", with(func(u *genwayv1.Usage) { u.Tools = []*genwayv1.ToolUsage{{Tool: "web_search", Calls: 3}} }), base + 30_000_000, false, 1},
		"of a tool without a price": {"m", "", with(func(u *genwayv1.Usage) { u.Tools = []*genwayv1.ToolUsage{{Tool: "web_fetch", Calls: 3}} }), base, true, 1},
		"no calls of it":            {"m", "", with(func(u *genwayv1.Usage) { u.Tools = []*genwayv1.ToolUsage{{Tool: "web_fetch"}} }), base, false, 1},
		"a compaction": {"m", "", with(func(u *genwayv1.Usage) {
			u.Models = []*genwayv1.ModelUsage{{Kind: "compaction", Usage: &genwayv1.Usage{InputTokens: 180_000, OutputTokens: 1000}}}
		}), base + 180_000*3000 + 1000*15000, false, 2},
		"an advisor of another model": {"m", "", with(func(u *genwayv1.Usage) {
			u.Models = []*genwayv1.ModelUsage{{Kind: "advisor_message", Model: "other", Usage: &genwayv1.Usage{InputTokens: 1000}}}
		}), base + 1000*7000, false, 2},
		"of a model without a price": {"m", "", with(func(u *genwayv1.Usage) {
			u.Models = []*genwayv1.ModelUsage{{Kind: "advisor_message", Model: "unknown", Usage: &genwayv1.Usage{InputTokens: 1000}}}
		}), base, true, 2},
		"a cache of another time": {"m", "", with(func(u *genwayv1.Usage) {
			u.CacheWriteInputTokens, u.CacheWrites = new(int64(50)), []*genwayv1.CacheWrite{{Ttl: "7d", Tokens: 50}}
		}), base, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), "ledger"), RelaxLedger: true})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			recorder, err := ledger.Start(t.Context(), ledger.Config{Store: db.Ledger()})
			if err != nil {
				t.Fatal(err)
			}
			served := &priced{upstream: "main", target: c.model, tier: c.header, text: &genwayv1.GenerateTextResponse{Model: c.model, Usage: c.usage}}
			service, err := core.New(core.Config{Upstream: served, Ledger: recorder, Prices: catalogue})
			if err != nil {
				t.Fatal(err)
			}
			req := request()
			req.Model = c.model
			if _, err := service.GenerateText(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			if err := recorder.Close(); err != nil {
				t.Fatal(err)
			}
			for e, err := range db.Ledger().Entries(t.Context(), time.Time{}) {
				if err != nil {
					t.Fatal(err)
				}
				charges, err := ledger.ParseCharges(e)
				if err != nil || e.Cost != c.cost || e.Unpriced != c.unpriced || len(charges) != c.charges {
					t.Errorf("%d nano-dollars, unpriced %t, by %+v, %v; want %d, %t", e.Cost, e.Unpriced, charges, err, c.cost, c.unpriced)
				}
			}
			checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: db.Ledger(), Prices: catalogue, Now: time.Now()})
			if err != nil || !checked.Good() || checked.Entries != 1 {
				t.Errorf("%+v, %v", checked, err)
			}
		})
	}
}
