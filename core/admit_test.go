package core_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// limited is one key of a policy, before an upstream that answers each model in its way.
type limited struct {
	policy  keys.Policy
	memory  *limit.Memory
	limiter *limit.Limiter
	service *core.Service
	client  genwayv1.GenerationClient
	calls   atomic.Int64
	// hold, unless nil, is what requests wait for at the upstream.
	hold chan struct{}
	// targets are the models that are asked for others, in their order; a model that is
	// not here is asked for itself.
	targets map[string][]string
	// longest are the answers of models that are known.
	longest map[string]int64
	// cut is the bound of the last request's answers.
	cut atomic.Int64
}

func (l *limited) Candidates(_ genwayv1.Protocol, model string, request proto.Message, yield func(upstream.Candidate)) {
	text, _ := request.(*genwayv1.GenerateTextRequest)
	images, _ := request.(*genwayv1.GenerateImageRequest)
	targets := l.targets[model]
	if targets == nil {
		targets = []string{model}
	}
	for _, asked := range targets {
		c := upstream.Candidate{Upstream: "u", Model: asked, ServiceTier: text.GetServiceTier(), MaxOutput: -1, Cuts: true}
		if longest, ok := l.longest[asked]; ok {
			c.MaxOutput = longest
		}
		if c.Answers = int64(text.GetSampling().GetCandidateCount()); images != nil {
			c.Answers = int64(images.GetCount())
		}
		if text != nil && text.MaxOutputTokens != nil && text.GetMaxOutputTokens() >= 0 {
			c.MaxOutput, c.Cuts = text.GetMaxOutputTokens(), false
		}
		yield(c)
	}
}

func (l *limited) Authenticate(context.Context, string) (keys.Principal, error) {
	return keys.Principal{KeyID: "key_a", Owner: "team", Group: keys.GroupInternal, Policy: &l.policy}, nil
}

// pricedModels are the prices of models.
type pricedModels map[string]price.Price

func (p pricedModels) FindFirst(q price.Query) (price.Price, bool) {
	for _, m := range q.Models {
		if found, ok := p[strings.Join(append([]string{m}, q.Words()...), "+")]; ok {
			return found, true
		}
	}
	return price.Price{}, false
}

// perToken is a nano-dollar a token, of any class, in and out.
var perToken = price.Price{ID: "p", Rates: price.Rates{Input: 1e6, Output: 1e6, OutputImage: 1e6}, Image: 1000}

// triple is three times as much.
var triple = price.Price{ID: "t", Rates: price.Rates{Input: 3e6, Output: 3e6}}

// dear is so much a token that a few hundred million cost more than an int64 holds.
var dear = price.Price{ID: "d", Rates: price.Rates{Input: 1e15, Output: 1e15}, Image: math.MaxInt64}

func (l *limited) answer(ctx context.Context) (*genwayv1.Usage, error) {
	l.calls.Add(1)
	call.Of(ctx).Upstream = "u"
	l.cut.Store(call.Of(ctx).MaxOutput)
	if l.hold != nil {
		select {
		case <-l.hold:
		case <-ctx.Done():
			return nil, upstream.Interrupted(ctx)
		}
	}
	return &genwayv1.Usage{InputTokens: 10, OutputTokens: 20}, nil
}

func (l *limited) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	usage, err := l.answer(ctx)
	return &genwayv1.GenerateTextResponse{Usage: usage}, err
}

func (l *limited) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	usage, err := l.answer(ctx)
	if err != nil {
		return err
	}
	events := []proto.Message{&genwayv1.TextStarted{}}
	if strings.HasPrefix(req.GetModel(), "cut") {
		events = append(events, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: strings.Repeat("a", 3000)}})
	} else {
		events = append(events, &genwayv1.TextCompleted{Usage: usage})
	}
	for _, ev := range events {
		if err := send(codec.Event(ev)); err != nil {
			return err
		}
	}
	if req.GetModel() == "cut-held" {
		<-ctx.Done()
		return upstream.Interrupted(ctx)
	}
	return nil
}

func (l *limited) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if _, err := l.answer(ctx); err != nil {
		return nil, err
	}
	return &genwayv1.GenerateImageResponse{Images: slices.Repeat([]*genwayv1.GeneratedImage{{}}, int(max(req.GetCount(), 1)))}, nil
}

func (l *limited) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	resp, err := l.GenerateImage(ctx, req)
	if err != nil {
		return err
	}
	return images.SendAll(resp, send)
}

func (l *limited) CountTokens(ctx context.Context, _ *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	_, err := l.answer(ctx)
	return &genwayv1.CountTokensResponse{InputTokens: 5}, err
}

func (l *limited) Models() []*genwayv1.Model { return []*genwayv1.Model{{Name: "m"}, {Name: "n"}} }

// serveLimited serves one key over gRPC.
func serveLimited(t *testing.T, policy keys.Policy, rules limit.Rules) *limited {
	t.Helper()
	return serveLimitedAt(t, policy, rules, nil)
}

// serveLimitedAt does so by a clock of the test's own.
func serveLimitedAt(t *testing.T, policy keys.Policy, rules limit.Rules, clock func() time.Time) *limited {
	t.Helper()
	return serveLimitedBy(t, policy, rules, clock, func(u upstream.Upstream) upstream.Upstream { return u })
}

// serveLimitedBy does so by what route makes of the upstream.
func serveLimitedBy(t *testing.T, policy keys.Policy, rules limit.Rules, clock func() time.Time, route func(upstream.Upstream) upstream.Upstream) *limited {
	t.Helper()
	l := &limited{policy: policy, memory: limit.NewMemory(clock)}
	l.limiter = limit.New(l.memory, rules)
	prices := pricedModels{
		"m": perToken, "m+scale": triple, "cut": perToken, "cut-held": perToken, "dear": dear, "triple": triple,
		"searching": {ID: "s", Rates: price.Rates{Output: 1e6}, PerCall: map[string]int64{"web_search": 1000, "file_search": 10}},
	}
	service, err := core.New(core.Config{Upstream: route(l), Limiter: l.limiter, Prices: prices})
	if err != nil {
		t.Fatal(err)
	}
	l.service = service
	server := core.NewServer(service, core.Interceptors{
		Authenticator: auth.Authenticator{Keys: l}, Logger: slog.New(slog.DiscardHandler),
	}, core.ServerConfig{Grace: time.Second})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	l.client = genwayv1.NewGenerationClient(conn)
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l
}

func asKey(t *testing.T) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer k")
}

// tokens is a request for n tokens at most, of model m, that puts none in.
func tokens(n int64) *genwayv1.GenerateTextRequest {
	req := request()
	req.MaxOutputTokens = new(n)
	return req
}

// rpcs are all calls that are admitted.
func (l *limited) rpcs() map[string]func(context.Context, ...grpc.CallOption) error {
	return map[string]func(context.Context, ...grpc.CallOption) error{
		"GenerateText": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.GenerateText(ctx, tokens(20), o...)
			return err
		},
		"StreamGenerateText": func(ctx context.Context, o ...grpc.CallOption) error {
			stream, err := l.client.StreamGenerateText(ctx, tokens(20), o...)
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		},
		"GenerateImage": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"}, o...)
			return err
		},
		"StreamGenerateImage": func(ctx context.Context, o ...grpc.CallOption) error {
			stream, err := l.client.StreamGenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"}, o...)
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		},
		"CountTokens": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: request()}, o...)
			return err
		},
		"ListModels": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.ListModels(ctx, &genwayv1.ListModelsRequest{}, o...)
			return err
		},
		"GetResponse": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.GetResponse(ctx, &genwayv1.GetResponseRequest{Id: "resp_1"}, o...)
			return unlessNotStored(err)
		},
		"StreamResponse": func(ctx context.Context, o ...grpc.CallOption) error {
			stream, err := l.client.StreamResponse(ctx, &genwayv1.StreamResponseRequest{Id: "resp_1"}, o...)
			if err == nil {
				_, err = stream.Recv()
			}
			return unlessNotStored(err)
		},
		"CancelResponse": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.CancelResponse(ctx, &genwayv1.CancelResponseRequest{Id: "resp_1"}, o...)
			return unlessNotStored(err)
		},
		"DeleteResponse": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.DeleteResponse(ctx, &genwayv1.DeleteResponseRequest{Id: "resp_1"}, o...)
			return unlessNotStored(err)
		},
		"ListInputItems": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.ListInputItems(ctx, &genwayv1.ListInputItemsRequest{Id: "resp_1"}, o...)
			return unlessNotStored(err)
		},
		"GetModel": func(ctx context.Context, o ...grpc.CallOption) error {
			_, err := l.client.GetModel(ctx, &genwayv1.GetModelRequest{Name: "m"}, o...)
			return err
		},
	}
}

// unlessNotStored returns nil for the answer of a service that stores no responses to an admitted call.
func unlessNotStored(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// Case K5: every RPC of the service is admitted at one place, those without a model too.
func TestK5EveryRPCIsAdmitted(t *testing.T) {
	methods := 0
	for name, call := range (&limited{}).rpcs() {
		_ = call
		methods++
		t.Run(name, func(t *testing.T) {
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{RequestsPerMinute: 2}}, limit.Rules{})
			call := l.rpcs()[name]
			for range 2 {
				if err := call(asKey(t)); err != nil {
					t.Fatal(err)
				}
			}
			before := l.calls.Load()
			var header metadata.MD
			d := detail(t, call(asKey(t), grpc.Header(&header)))
			if d.GetReason() != limit.Kinds[limit.Requests].Reason || d.GetKind() != fault.RateLimited || l.calls.Load() != before {
				t.Errorf("%v, and %d more calls of the upstream", d, l.calls.Load()-before)
			}
			if wait := d.GetRetryAfter().AsDuration(); wait <= 0 || wait > 30*time.Second || !strings.Contains(d.GetMessage(), "this key: 2 requests a minute. Please try again in ") {
				t.Errorf("%v: %s", wait, d.GetMessage())
			}
			if q := d.GetQuota(); q.GetScope() != "key" || q.GetMetric() != "requests" || q.GetLimit() != 2 || q.GetUnit() != "requests/minute" {
				t.Errorf("%v", q)
			}
			if got := header.Get("genway-rate-requests"); len(got) != 1 || !strings.HasPrefix(got[0], "2 0 ") {
				t.Errorf("header %v", header)
			}
		})
		t.Run(name+" from another address", func(t *testing.T) {
			l := serveLimited(t, keys.Policy{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, limit.Rules{})
			if d := detail(t, l.rpcs()[name](asKey(t))); d.GetReason() != core.ReasonAddressNotAllowed || l.calls.Load() != 0 {
				t.Errorf("%v", d)
			}
		})
	}
	if want := len(genwayv1.Generation_ServiceDesc.Methods) + len(genwayv1.Generation_ServiceDesc.Streams); methods != want {
		t.Errorf("%d RPCs are tested, the service has %d", methods, want)
	}
}

// Case K3: 1,000 parallel requests against a budget for k: exactly k are admitted, over
// gRPC, and what they did not use is there for others.
func TestK3ParallelRequestsAgainstABudget(t *testing.T) {
	const k = 37
	// A request reserves its input and 1,000 tokens of output at a nano-dollar each.
	probe := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 2000, Period: limit.Day}}}}, limit.Rules{})
	probe.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), 1500)
	_, err := probe.client.GenerateText(asKey(t), tokens(1000))
	d := detail(t, err)
	if d.GetReason() != core.ReasonBudget || d.GetKind() != fault.QuotaExhausted || !strings.Contains(d.GetMessage(), "budget of this key, 0.000002 dollars a day") {
		t.Fatalf("%v", d)
	}
	if unit := d.GetQuota().GetUnit(); unit != "nano-dollars/day" && unit != "nano-dollars/month" {
		t.Errorf("the budget is in %q", unit)
	}
	reset := d.GetQuota().GetResetTime().AsTime()
	if !reset.Equal(limit.Day.End(time.Now())) || !strings.Contains(d.GetMessage(), reset.Format(time.RFC3339)) {
		t.Errorf("%v, %s", reset, d.GetMessage())
	}
	const input = 5 // as estimated
	l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: k * (1000 + input), Period: limit.Day}}}}, limit.Rules{})
	l.hold = make(chan struct{})
	var admitted, refused atomic.Int64
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() {
			_, err := l.client.GenerateText(asKey(t), tokens(1000))
			if err == nil {
				admitted.Add(1)
				return
			}
			if d := detail(t, err); d.GetReason() != core.ReasonBudgetHeld || d.GetKind() != fault.RateLimited {
				t.Errorf("%v", d)
			}
			if refused.Add(1) == 1000-k {
				close(l.hold)
			}
		})
	}
	group.Wait()
	if admitted.Load() != k || refused.Load() != 1000-k || l.calls.Load() != k {
		t.Fatalf("%d admitted, %d refused, %d calls", admitted.Load(), refused.Load(), l.calls.Load())
	}
	// Each used 30; the rest can be had to the last nano-dollar, and no more.
	left := int64(k*(1000+input) - k*30)
	if _, err := l.client.GenerateText(asKey(t), tokens(left-input+1)); detail(t, err).GetReason() != core.ReasonBudget {
		t.Error(err)
	}
	if _, err := l.client.GenerateText(asKey(t), tokens(left-input)); err != nil {
		t.Error(err)
	}
}

// Whatever becomes of a request, what it held is free again, and what was seen of an
// answer that was cut is paid.
func TestEveryEndSettles(t *testing.T) {
	const budget = 10_000
	for name, c := range map[string]struct {
		model string
		leave bool
		least int64 // what it costs
		most  int64
	}{
		"whole":           {"m", false, 30, 30},
		"cut":             {"cut", false, 1000, 1010},
		"caller leaves":   {"cut-held", true, 1000, 1010},
		"beyond estimate": {"cut", false, 1000, 1010},
	} {
		t.Run(name, func(t *testing.T) {
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{Concurrent: 1, Budgets: []limit.Budget{{Amount: budget, Period: limit.Month}}}}, limit.Rules{})
			req := tokens(2000)
			if name == "beyond estimate" {
				req = tokens(10)
			}
			req.Model = c.model
			ctx, cancel := context.WithCancel(asKey(t))
			defer cancel()
			stream, err := l.client.StreamGenerateText(ctx, req)
			for events := 0; err == nil; events++ {
				if c.leave && events == 2 {
					cancel()
				}
				_, err = stream.Recv()
			}
			// Over once another is admitted at all: one at a time may run.
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			free := func(n int64) bool {
				for range tick.C {
					_, err := l.client.GenerateText(asKey(t), tokens(n))
					if err == nil {
						return true
					}
					if reason := detail(t, err).GetReason(); reason != limit.Kinds[limit.Concurrent].Reason {
						return false
					}
				}
				return false
			}
			if free(budget - c.least - 5 + 1) {
				t.Errorf("it cost less than %d", c.least)
			}
			if !free(budget - c.most - 5) {
				t.Errorf("it cost more than %d, or holds something still", c.most)
			}
		})
	}
}

// A key may use its models only, and sees no others.
func TestModelsOfAKey(t *testing.T) {
	l := serveLimited(t, keys.Policy{Models: []string{"n*"}}, limit.Rules{})
	if d := detail(t, l.rpcs()["GenerateText"](asKey(t))); d.GetReason() != core.ReasonModelNotAllowed || d.GetParam() != "model" || d.GetKind() != fault.PermissionDenied {
		t.Errorf("%v", d)
	}
	for extra, reason := range map[string]string{
		`{"models":["n"]}`: "", `{"models":["n","m"]}`: core.ReasonModelNotAllowed, `{"fallbacks":"n"}`: core.ReasonModelNotAllowed, `{"x_model":"n"}`: core.ReasonModelNotAllowed,
	} {
		req := request()
		req.Model, req.ExtraJson = "n", extra
		if _, err := l.client.GenerateText(asKey(t), req); (err != nil || reason != "") && detail(t, err).GetReason() != reason {
			t.Errorf("%s: %v", extra, err)
		}
	}
	list, err := l.client.ListModels(asKey(t), &genwayv1.ListModelsRequest{})
	if err != nil || len(list.GetModels()) != 1 || list.GetModels()[0].GetName() != "n" {
		t.Errorf("%v, %v", list, err)
	}
	if d := detail(t, l.rpcs()["GetModel"](asKey(t))); d.GetReason() != fault.ReasonModelNotFound {
		t.Errorf("%v", d)
	}
}

// A budget that counts nothing would be a false promise: what has no price is refused,
// unless the operator lets it pass.
func TestUnpricedModels(t *testing.T) {
	policy := keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 100, Period: limit.Day}}}}
	unpriced := tokens(1000)
	unpriced.Model = "unpriced"
	l := serveLimited(t, policy, limit.Rules{})
	if _, err := l.client.GenerateText(asKey(t), unpriced); detail(t, err).GetReason() != core.ReasonModelUnpriced {
		t.Error(err)
	}
	l.limiter.Swap(limit.Rules{AllowUnpriced: true})
	if _, err := l.client.GenerateText(asKey(t), unpriced); err != nil {
		t.Error(err)
	}
}

// So is a tier without a price, and one that has a price is reserved by it.
func TestUnpricedTiers(t *testing.T) {
	policy := keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1e9, Period: limit.Day}}}}
	l := serveLimited(t, policy, limit.Rules{})
	asking := func(tier, speed string) *genwayv1.GenerateTextRequest {
		req := tokens(10)
		if req.ServiceTier = tier; speed != "" {
			req.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Name: "speed", Json: []byte(`"` + speed + `"`)}}
		}
		return req
	}
	for _, c := range []struct{ tier, speed string }{{"priority", ""}, {"flex", ""}, {"", "fast"}, {strings.Repeat("x", 1000), ""}} {
		if _, err := l.client.GenerateText(asKey(t), asking(c.tier, c.speed)); detail(t, err).GetReason() != core.ReasonModelUnpriced {
			t.Errorf("%.20s, %s: %v", c.tier, c.speed, err)
		}
	}
	for _, tier := range []string{"", "auto", "default", "standard_only"} {
		if _, err := l.client.GenerateText(asKey(t), asking(tier, "")); err != nil {
			t.Errorf("%s: %v", tier, err)
		}
	}
}

// The limits of owners and of models are named as such.
func TestWhoseLimit(t *testing.T) {
	for whose, rules := range map[string]limit.Rules{
		"the owner of this key": {Owners: []limit.Rule{{Pattern: "te*", Limits: limit.Limits{TokensPerMinute: 50}}}},
		"this model":            {Models: []limit.Rule{{Pattern: "m", Limits: limit.Limits{TokensPerMinute: 50}}}},
	} {
		l := serveLimited(t, keys.Policy{}, rules)
		if _, err := l.client.GenerateText(asKey(t), tokens(40)); err != nil {
			t.Fatal(err)
		}
		_, err := l.client.GenerateText(asKey(t), tokens(40))
		if d := detail(t, err); d.GetReason() != limit.Kinds[limit.Tokens].Reason || !strings.Contains(d.GetMessage(), whose+": 50 tokens a minute") {
			t.Errorf("%v", d)
		}
	}
}

// A key in the place of a model's name is refused before any upstream sees it, and is in no log and no error.
func TestNoModelIsNamedByAKey(t *testing.T) {
	f := serve(t)
	ctx := as(t, "authorization", "Bearer internal")
	const key = "gwk_0123456789abcdefghijABCDEFGHIJ012345"
	for _, model := range []string{key, "models/" + key, key + "-latest", key[:20]} {
		text := request()
		text.Model = model
		for name, call := range map[string]func() error{
			"generate": func() error { _, err := f.client.GenerateText(ctx, text); return err },
			"stream": func() error {
				stream, err := f.client.StreamGenerateText(ctx, text)
				if err == nil {
					_, err = stream.Recv()
				}
				return err
			},
			"count": func() error {
				_, err := f.client.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: text})
				return err
			},
			"image": func() error {
				_, err := f.client.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: model, Prompt: "a"})
				return err
			},
			"get": func() error { _, err := f.client.GetModel(ctx, &genwayv1.GetModelRequest{Name: model}); return err },
		} {
			err := call()
			want := map[bool]codes.Code{true: codes.NotFound, false: codes.InvalidArgument}[name == "get"]
			if status.Code(err) != want || strings.Contains(err.Error(), key[4:12]) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if f.seen != nil {
		t.Errorf("the upstream has seen %v", f.seen)
	}
	if strings.Contains(f.log.String(), key[4:12]) {
		t.Errorf("the log has %s", f.log)
	}
}
