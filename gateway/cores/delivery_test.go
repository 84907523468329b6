package cores

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// held is a balancer of this package that holds the calls of a test between the choice of a
// connection and the choice of its transport, as a process does that is descheduled there.
type held struct{ balancer.Builder }

func (h held) Build(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	return h.Builder.Build(holding{cc}, options)
}

type holding struct{ balancer.ClientConn }

func (h holding) UpdateState(state balancer.State) {
	state.Picker = holdingPicker{state.Picker}
	h.ClientConn.UpdateState(state)
}

type holdingPicker struct{ balancer.Picker }

type holdKey struct{}

type hold struct{ picked, release chan struct{} }

func (h holdingPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	result, err := h.Picker.Pick(info)
	if hold, ok := info.Ctx.Value(holdKey{}).(*hold); ok && err == nil {
		close(hold.picked)
		<-hold.release
	}
	return result, err
}

// announce answers as a core that takes deferred bodies.
func announce(ctx context.Context) error {
	return grpc.SetTrailer(ctx, metadata.Pairs(transport.AcceptsKey, transport.DeferredBodies))
}

func TestTheAnnouncementIsOfOneTransport(t *testing.T) {
	for name, targets := range map[string][]string{"one core": nil, "several targets": {"unix:/nowhere/core"}} {
		for _, streamed := range []bool{false, true} {
			for _, successor := range []string{"of another maker", "that announces it too"} {
				t.Run(name+", streamed "+map[bool]string{false: "no", true: "yes"}[streamed]+", a core "+successor, func(t *testing.T) {
					first := serve(t)
					first.answers(announce)
					conn := dial(t, append([]string{first.target}, targets...)...)
					call := func(ctx context.Context) error {
						client, in := genwayv1.NewGenerationClient(conn), &genwayv1.GenerateTextRequest{Model: "m"}
						if !streamed {
							_, err := client.GenerateText(ctx, in, grpc.WaitForReady(true))
							return err
						}
						stream, err := client.StreamGenerateText(ctx, in, grpc.WaitForReady(true))
						for err == nil {
							_, err = stream.Recv()
						}
						if errors.Is(err, io.EOF) {
							return nil
						}
						return err
					}
					if err := call(t.Context()); err != nil {
						t.Fatal(err)
					}
					if !conn.TakesDeferredBodies() {
						t.Fatal("the announcement is not known")
					}
					if d := Deferred(t.Context()); call(d) != nil || d.NeedsWhole() || first.calls.Load() != 2 {
						t.Fatal("a deferred body is refused where it was announced")
					}
					between := &hold{make(chan struct{}), make(chan struct{})}
					late, done := Deferred(context.WithValue(t.Context(), holdKey{}, between)), make(chan error, 1)
					go func() { done <- call(late) }()
					<-between.picked
					first.server.Stop()
					second := serveAt(t, first.target)
					if successor != "of another maker" {
						second.answers(announce)
					}
					for deadline := time.Now().Add(time.Minute); call(t.Context()) != nil; { // until the new transport is ready
						if time.Now().After(deadline) {
							t.Fatal("the second core is not found")
						}
					}
					before := second.calls.Load()
					close(between.release)
					err := <-done
					switch sent := second.calls.Load() - before; {
					case successor == "of another maker" && (err == nil || !late.NeedsWhole() || sent != 0):
						t.Errorf("a core that announced nothing: needs whole %v, %d calls were sent, %v", late.NeedsWhole(), sent, err)
					case successor != "of another maker" && late.NeedsWhole() != (sent == 0):
						t.Errorf("needs whole %v, %d calls were sent, %v", late.NeedsWhole(), sent, err)
					}
				})
			}
		}
	}
}

func TestTransportsKeepTheirSecurity(t *testing.T) {
	for _, creds := range []credentials.TransportCredentials{insecure.NewCredentials(), identified{insecure.NewCredentials()}.Clone()} {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		_, info, err := identified{creds}.ClientHandshake(t.Context(), "core", near)
		if err != nil {
			t.Fatal(err)
		}
		if level := info.(*transportInfo).GetCommonAuthInfo().SecurityLevel; level != credentials.NoSecurity || info.AuthType() != "insecure" {
			t.Errorf("security %v, type %q", level, info.AuthType())
		}
	}
}
