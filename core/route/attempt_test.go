package route_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// headers records the headers of a call's answer.
type headers struct{ metadata.MD }

func (h *headers) Method() string                 { return "" }
func (h *headers) SendHeader(metadata.MD) error   { return nil }
func (h *headers) SetTrailer(metadata.MD) error   { return nil }
func (h *headers) SetHeader(md metadata.MD) error { h.MD = metadata.Join(h.MD, md); return nil }
func (h *headers) in(ctx context.Context) context.Context {
	return grpc.NewContextWithServerTransportStream(ctx, h)
}

// talker is a stub that leaves headers of its answer, its model and what it used.
type talker struct {
	stub
	headers map[string]string
	usage   *genwayv1.Usage
}

func (s *talker) leave(ctx context.Context) {
	record := call.Of(ctx)
	record.Headers, record.RawModel, record.RawUsage = s.headers, s.name+"-model", s.usage
}

func (s *talker) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	s.leave(ctx)
	return s.stub.GenerateText(ctx, req)
}

func (s *talker) StreamGenerateText(ctx context.Context, req *deferred.Request, send upstream.Send) error {
	s.leave(ctx)
	return s.stub.StreamGenerateText(ctx, req, send)
}

// failing is one that answers with headers, having used tokens, and fails.
func failing(name string) *talker {
	err := fault.New(fault.Unavailable, "X", "down")
	err.Usage = &genwayv1.Usage{InputTokens: 7}
	return &talker{stub: stub{name: name, err: err}, headers: map[string]string{"x-ratelimit-limit": "of " + name, "x-own-" + name: "1"}, usage: err.Usage}
}

// Case K7: what belongs to an attempt ends with it. After a failed attempt the headers
// that the caller gets, and the model and the usage that are accounted for, are those of
// the target that answered, be it silent or not, or that refused to be called; what the
// failed attempt used is kept apart.
func TestK7AttemptsEndWithTheirHeaders(t *testing.T) {
	full := route.NewGuard(route.Limits{BreakAfter: 1, Retries: -1})
	down := &stub{name: "broken", err: fault.New(fault.Unavailable, "X", "down")}
	if _, err := ask(route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "broken", Upstream: down, Guard: full}}}}), 0, "m"); err == nil {
		t.Fatal("the broken one answers")
	}
	for name, c := range map[string]struct {
		last route.Target
		want map[string]string
		says string // the model
	}{
		"one that says nothing":    {target(&stub{name: "last"}, 0), map[string]string{}, ""},
		"one with headers":         {route.Target{Name: "last", Upstream: &talker{stub: stub{name: "last"}, headers: map[string]string{"x-ratelimit-limit": "of last"}}}, map[string]string{"x-ratelimit-limit": "of last"}, "last-model"},
		"one that fails silently":  {target(&stub{name: "last", err: fault.New(fault.Unavailable, "X", "down")}, 0), map[string]string{}, ""},
		"one with an open breaker": {route.Target{Name: "last", Upstream: down, Guard: full}, map[string]string{}, ""},
	} {
		for _, streamed := range []bool{false, true} {
			first := failing("first")
			r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "first", Upstream: first}}, Fallback: []route.Target{c.last}}})
			var record call.Record
			sent := &headers{}
			ctx := call.With(sent.in(t.Context()), &record)
			req := &genwayv1.GenerateTextRequest{Model: "m"}
			if streamed {
				_ = r.StreamGenerateText(ctx, deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
			} else {
				_, _ = r.GenerateText(ctx, deferred.New(req))
			}
			got := map[string]string{}
			for name, values := range sent.MD {
				if cut, ok := strings.CutPrefix(name, route.AnswerPrefix); ok {
					got[cut] = values[0]
				}
			}
			if !maps.Equal(got, c.want) || record.Upstream != "last" || record.RawModel != c.says || record.RawUsage != nil {
				t.Errorf("%s, streamed %t: headers %v, want %v; record %+v", name, streamed, got, c.want, &record)
			}
			if named := sent.Get("x-genway-upstream"); len(named) == 0 || named[len(named)-1] != "last" {
				t.Errorf("%s, streamed %t: served by %v", name, streamed, named)
			}
			if !slices.EqualFunc(record.Spent, []*genwayv1.Usage{first.usage}, func(s call.Spent, u *genwayv1.Usage) bool { return s.Usage == u && s.Upstream == "first" }) {
				t.Errorf("%s, streamed %t: spent by failed attempts: %+v", name, streamed, record.Spent)
			}
		}
	}
}
