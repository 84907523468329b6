package core_test

import (
	"slices"
	"testing"

	"github.com/genway/genway/codec/fault"
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
