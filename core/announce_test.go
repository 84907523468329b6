package core_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// A core announces to an edge which failed calls it never admitted, and no others: an edge
// sends those to another core.
func TestRefusalsAreAnnounced(t *testing.T) {
	f := serve(t)
	edge := []string{"genway-protocol", "chat_completions", "genway-edge-secret", secret, "authorization"}
	for _, c := range []struct {
		name string
		md   []string
		from error // the upstream's answer
		want string
	}{
		{"keys cannot be checked", append(edge, "Bearer broken-store"), nil, transport.RefusedUnavailable},
		{"likewise, of a direct caller", []string{"authorization", "Bearer broken-store"}, nil, ""},
		{"a wrong key", append(edge, "Bearer none"), nil, ""},
		{"an upstream that is away", append(edge, "Bearer chat"), fault.New(fault.Unavailable, "X", "away"), ""},
		{"an upstream that is overloaded", append(edge, "Bearer chat"), fault.New(fault.Overloaded, "X", "overloaded"), ""},
		{"a success", append(edge, "Bearer chat"), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.answer = func() (*genwayv1.GenerateTextResponse, error) { return &genwayv1.GenerateTextResponse{}, c.from }
			var trailer metadata.MD
			_, err := f.client.GenerateText(as(t, c.md...), request(), grpc.Trailer(&trailer))
			if failed := c.name != "a success"; (err != nil) != failed {
				t.Fatal(err)
			}
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if got := trailer.Get(transport.RefusedKey); !slices.Equal(got, want) {
				t.Errorf("announced %q, want %q", got, want)
			}
		})
	}
}

// A core announces to an edge that it takes deferred bodies, but for requests that came deferred:
// their edge has had the announcement.
func TestDeferralIsAnnounced(t *testing.T) {
	f := serve(t)
	f.stream = func(send upstream.Send) error {
		return send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Completed{Completed: &genwayv1.TextCompleted{}}})
	}
	edge := []string{"genway-protocol", "chat_completions", "genway-edge-secret", secret, "authorization", "Bearer chat"}
	whole := request()
	deferred := &genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{
		Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`),
		Extension: &edgev1.RequestExtension{Deferred: true},
	}}
	for _, c := range []struct {
		name string
		md   []string
		req  *genwayv1.GenerateTextRequest
		want []string
	}{
		{"a whole request", edge, whole, []string{transport.DeferredBodies}},
		{"a deferred request", edge, deferred, nil},
		{"a direct caller", []string{"authorization", "Bearer internal"}, whole, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var trailer metadata.MD
			if _, err := f.client.GenerateText(as(t, c.md...), c.req, grpc.Trailer(&trailer)); err != nil {
				t.Fatal(err)
			}
			if got := trailer.Get(transport.AcceptsKey); !slices.Equal(got, c.want) {
				t.Errorf("a unary answer announces %q, want %q", got, c.want)
			}
			stream, err := f.client.StreamGenerateText(as(t, c.md...), c.req)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = stream.Recv()
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if got := stream.Trailer().Get(transport.AcceptsKey); !slices.Equal(got, c.want) {
				t.Errorf("a stream announces %q, want %q", got, c.want)
			}
		})
	}
}
