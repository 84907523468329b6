package route_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

const (
	chat     = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	messages = genwayv1.Protocol_PROTOCOL_MESSAGES
)

// stub answers with its name, or fails.
type stub struct {
	name   string
	err    error
	after  bool // fail after the first event
	losses []*genwayv1.Loss

	mu    sync.Mutex
	seen  *genwayv1.GenerateTextRequest
	calls int
}

func (s *stub) called(ctx context.Context, req *genwayv1.GenerateTextRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; req != nil {
		s.seen = req
	}
	call.Of(ctx).Calls++
}

func (s *stub) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	s.called(ctx, req)
	if s.err != nil {
		return nil, s.err
	}
	return &genwayv1.GenerateTextResponse{Id: s.name, Losses: s.losses}, nil
}

func (s *stub) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	s.called(ctx, req)
	if s.err != nil && !s.after {
		return s.err
	}
	if err := send(codec.Event(&genwayv1.TextStarted{Id: s.name, Losses: s.losses})); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	return send(codec.Event(&genwayv1.TextCompleted{}))
}

func (s *stub) GenerateImage(ctx context.Context, _ *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	s.called(ctx, nil)
	return &genwayv1.GenerateImageResponse{Size: s.name}, s.err
}

func (s *stub) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	resp, err := s.GenerateImage(ctx, req)
	if err != nil {
		return err
	}
	return images.SendAll(resp, send)
}

func (s *stub) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	s.called(ctx, req.GetRequest())
	return &genwayv1.CountTokensResponse{InputTokens: 7}, s.err
}

func (s *stub) Models() []*genwayv1.Model { return []*genwayv1.Model{{Name: s.name + "-model"}} }

func target(s *stub, p genwayv1.Protocol) route.Target {
	return route.Target{Name: s.name, Upstream: s, Protocol: p}
}

func ask(r *route.Router, protocol genwayv1.Protocol, model string) (string, error) {
	req := &genwayv1.GenerateTextRequest{Model: model}
	if protocol != 0 {
		req.Wire = &genwayv1.WireMessage{Protocol: protocol}
	}
	resp, err := r.GenerateText(context.Background(), deferred.New(req))
	return resp.GetId(), err
}

func TestFirstMatchWins(t *testing.T) {
	a, b, c := &stub{name: "a"}, &stub{name: "b"}, &stub{name: "c"}
	r := route.New([]route.Route{
		{Model: "gpt-*", Protocols: []genwayv1.Protocol{chat}, Targets: []route.Target{target(a, 0)}},
		{Model: "gpt-4", Targets: []route.Target{target(b, 0)}},
		{Model: "vendor/*/x", Targets: []route.Target{target(c, 0)}},
	})
	for _, q := range []struct {
		protocol genwayv1.Protocol
		model    string
		want     string
	}{
		{chat, "gpt-4", "a"}, {messages, "gpt-4", "b"}, {0, "gpt-4", "b"}, {chat, "gpt-", "a"},
		{messages, "gpt-5", ""}, {chat, "xgpt-4", ""}, {0, "vendor/a/b/x", "c"}, {0, "vendor/a.x", ""},
	} {
		got, err := ask(r, q.protocol, q.model)
		if got != q.want || (q.want == "") != (err != nil) {
			t.Errorf("%v %s went to %q, %v", q.protocol, q.model, got, err)
		}
		if q.want == "" && (fault.From(err).Reason != fault.ReasonModelNotFound || !strings.Contains(err.Error(), q.model)) {
			t.Errorf("%s: %v", q.model, err)
		}
	}
}

// The target that speaks the caller's protocol is the lossless one.
func TestOwnProtocolComesFirst(t *testing.T) {
	a, b := &stub{name: "a"}, &stub{name: "b"}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(a, chat), target(b, messages)}}})
	for range 20 {
		if got, err := ask(r, messages, "m"); got != "b" || err != nil {
			t.Fatalf("messages went to %s, %v", got, err)
		}
		if b.seen.GetWire() == nil {
			t.Fatal("its own body was taken from it")
		}
	}
	if got, err := ask(r, 0, "m"); got == "" || err != nil {
		t.Errorf("a direct caller went to %q, %v", got, err)
	}
	b.err = fault.New(fault.Unavailable, "X", "down")
	a.calls = 0
	if _, err := ask(r, messages, "m"); fault.From(err) != func() *fault.Error {
		target := &fault.Error{}
		_ = errors.As(b.err, &target)
		return target
	}() || a.calls != 0 {
		t.Errorf("a stood in for it: %v", err)
	}
}

// A fallback of another protocol gets the canonical messages, not the caller's body.
func TestForeignFallback(t *testing.T) {
	a, b := &stub{name: "a"}, &stub{name: "b", err: fault.New(fault.Unavailable, "X", "down")}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(b, messages)}, Fallback: []route.Target{target(a, chat)}}})
	if got, err := ask(r, messages, "m"); got != "a" || err != nil || a.seen.GetWire() != nil || b.seen.GetWire() == nil {
		t.Errorf("went to %s with %v, %v", got, a.seen.GetWire(), err)
	}
}

func TestWeights(t *testing.T) {
	a, b := &stub{name: "a"}, &stub{name: "b"}
	heavy := target(a, 0)
	heavy.Weight = 9
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{heavy, target(b, 0)}}})
	for range 2000 {
		if _, err := ask(r, 0, "m"); err != nil {
			t.Fatal(err)
		}
	}
	// 200 expected; 100 and 300 are more than seven deviations away.
	if b.calls < 100 || b.calls > 300 {
		t.Errorf("one tenth of 2000 is %d", b.calls)
	}
}

// Only what another upstream might mend goes on to one.
func TestFallback(t *testing.T) {
	for kind, goesOn := range map[fault.Kind]bool{
		fault.Unavailable: true, fault.Overloaded: true, fault.RateLimited: true, fault.Timeout: true, fault.BadUpstream: true,
		fault.InvalidRequest: false, fault.NotFound: false, fault.PermissionDenied: false, fault.Cancelled: false, fault.Internal: false,
	} {
		a, b := &stub{name: "a", err: fault.New(kind, "X", "no")}, &stub{name: "b"}
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(a, 0)}, Fallback: []route.Target{{Name: "b", Upstream: b, Model: "other"}}}})
		got, err := ask(r, 0, "m")
		if goesOn != (got == "b") || goesOn == (err != nil) {
			t.Errorf("%v went to %q, %v", kind, got, err)
		}
		if goesOn && b.seen.GetModel() != "other" {
			t.Errorf("the fallback is asked for %q", b.seen.GetModel())
		}
	}
}

// Case S7: once the caller has seen something, nothing is tried again.
func TestNoFallbackWithinAnAnswer(t *testing.T) {
	for _, after := range []bool{false, true} {
		a, b := &stub{name: "a", err: fault.New(fault.BadUpstream, "X", "no"), after: after}, &stub{name: "b"}
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(a, 0)}, Fallback: []route.Target{target(b, 0)}}})
		var ids []string
		err := r.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}), func(ev *genwayv1.StreamGenerateTextResponse) error {
			if s := ev.GetStarted(); s != nil {
				ids = append(ids, s.GetId())
			}
			return nil
		})
		want := map[bool]string{false: "b", true: "a"}[after]
		if strings.Join(ids, "") != want || after != (err != nil) {
			t.Errorf("after %v: the caller saw %v, %v", after, ids, err)
		}
	}
}

// The error of the last try is the caller's.
func TestAllFail(t *testing.T) {
	a, b := &stub{name: "a", err: fault.New(fault.Unavailable, "A", "no")}, &stub{name: "b", err: fault.New(fault.RateLimited, "B", "no")}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(a, 0)}, Fallback: []route.Target{target(b, 0)}}})
	if _, err := ask(r, 0, "m"); fault.From(err).Reason != "B" || a.calls != 1 || b.calls != 1 {
		t.Errorf("%v after %d and %d calls", err, a.calls, b.calls)
	}
}

func TestStrictRoutesRefuseLosses(t *testing.T) {
	a := &stub{name: "a", losses: []*genwayv1.Loss{{Member: "messages[0].name", Reason: "no place"}}}
	for _, strict := range []bool{false, true} {
		r := route.New([]route.Route{{Model: "*", Strict: strict, Targets: []route.Target{target(a, 0)}}})
		_, unary := ask(r, 0, "m")
		streamed := r.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
		for _, err := range []error{unary, streamed} {
			var f *fault.Error
			if strict != errors.As(err, &f) || strict && (f.Kind != fault.InvalidRequest || f.Param != "messages[0].name") {
				t.Errorf("strict %v: %v", strict, err)
			}
		}
	}
}

func TestSwap(t *testing.T) {
	a, b := &stub{name: "a"}, &stub{name: "b"}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(a, 0)}}})
	r.Swap([]route.Route{{Model: "*", Targets: []route.Target{target(b, 0)}}})
	if got, err := ask(r, 0, "m"); got != "b" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestModelsAndExplain(t *testing.T) {
	a, b := &stub{name: "a"}, &stub{name: "b"}
	r := route.New([]route.Route{
		{Model: "alias", Targets: []route.Target{{Name: "a", Upstream: a, Model: "real"}}},
		{Model: "b-*", Targets: []route.Target{target(b, 0)}},
		{Model: "x", Protocols: []genwayv1.Protocol{chat}, Targets: []route.Target{target(b, 0)}},
	})
	var names []string
	for _, m := range r.Models() {
		names = append(names, m.GetName())
	}
	if strings.Join(names, " ") != "alias x b-model" { // a-model leads nowhere
		t.Errorf("lists %v", names)
	}
	if m := r.Models()[1]; m.GetOwnedBy() != "b" || !m.GetGeneratesText() || m.GetGeneratesImages() || m.GetDisplayName() != "x" {
		t.Errorf("%v", m)
	}
	if e := r.Explain(chat, "alias"); e.Route != 0 || len(e.Targets) != 1 || e.Targets[0].Model != "real" {
		t.Errorf("%+v", e)
	}
	if e := r.Explain(chat, "nothing"); e.Route != -1 {
		t.Errorf("%+v", e)
	}
}

// One route may hold upstreams of every kind: text never goes to one of images, nor
// images to one of text.
func TestKindsAreToldApart(t *testing.T) {
	words, pictures := &stub{name: "words"}, &stub{name: "pictures"}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(words, chat), target(pictures, genwayv1.Protocol_PROTOCOL_IMAGES)}}})
	for range 10 {
		if got, err := ask(r, messages, "m"); got != "words" || err != nil {
			t.Fatalf("text went to %s, %v", got, err)
		}
		if resp, err := r.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "m"}); resp.GetSize() != "pictures" || err != nil {
			t.Fatalf("images went to %v, %v", resp, err)
		}
	}
	only := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(pictures, genwayv1.Protocol_PROTOCOL_IMAGES)}}})
	if _, err := ask(only, chat, "m"); fault.From(err).Param != "model" {
		t.Errorf("%v", err)
	}
}

func TestOtherCalls(t *testing.T) {
	a, b := &stub{name: "a", err: fault.New(fault.Overloaded, "X", "no")}, &stub{name: "b"}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(a, 0)}, Fallback: []route.Target{target(b, 0)}}})
	image, err := r.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "m"})
	if err != nil || image.GetSize() != "b" {
		t.Errorf("%v, %v", image, err)
	}
	count, err := r.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: &genwayv1.GenerateTextRequest{Model: "m"}})
	if err != nil || count.GetInputTokens() != 7 {
		t.Errorf("%v, %v", count, err)
	}
}
