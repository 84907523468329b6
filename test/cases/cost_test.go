package cases_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
)

// costing is an upstream that names a cost of its own, and reports usage but for the model silent.
type costing struct{ echo }

func (costing) GenerateText(_ context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	resp := &genwayv1.GenerateTextResponse{
		Id: "a", Model: asked.Head().GetModel(), Cost: &genwayv1.Cost{NanoDollars: 1},
		Candidates: []*genwayv1.Candidate{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "fine"}}}}}},
	}
	if resp.GetModel() != "silent" {
		resp.Usage = &genwayv1.Usage{InputTokens: 1000, OutputTokens: 500, TotalTokens: 1500}
	}
	return resp, nil
}

func (c costing) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	resp, err := c.GenerateText(ctx, asked)
	if err != nil {
		return err
	}
	events := codec.Events(resp, nil)
	for _, ev := range events {
		if err := send(ev); err != nil {
			return err
		}
	}
	return nil
}

// costingEdge serves costing with edge and core in one process, or as two as far as gRPC can know.
func costingEdge(t *testing.T, separate, report bool) string {
	t.Helper()
	catalogue, err := price.Parse("prices.yaml", []byte("prices:\n  - {model: small, input: 0.15, output: 0.60}\n  - {model: silent, input: 1000, output: 1000}\n  - {model: free, input: 0, output: 0}\n"))
	if err != nil {
		t.Fatal(err)
	}
	service, err := core.New(core.Config{Upstream: route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "u", Upstream: costing{}}}}}), Prices: catalogue, ReportCost: func() bool { return report }})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: oneKey{}, Trust: auth.TrustUnixSocket}, Logger: log}
	var joined grpc.ClientConnInterface
	if separate {
		dir, err := os.MkdirTemp("", "k9") // short: a socket's path is
		if err != nil {
			t.Fatal(err)
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		server := core.NewServer(service, interceptors, core.ServerConfig{Grace: time.Second})
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- server.Serve(ctx, listener) }()
		conn, err := gateway.Dial(gateway.CoreConfig{Targets: []string{"unix:" + listener.Addr().String()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			stop()
			if err := errors.Join(conn.Close(), <-done, os.RemoveAll(dir)); err != nil {
				t.Error(err)
			}
		})
		joined = conn
	} else {
		interceptors.Authenticator.Trust = auth.TrustAll
		joined = core.Channel(service, interceptors, health.NewServer())
	}
	edge, err := gateway.New(gateway.Config{Core: joined, Heartbeat: -1, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(edge)
	t.Cleanup(front.Close)
	return front.URL
}

// The cost is a header of a unary answer and a trailer of a stream, by the core's prices; it is absent where it is not reported or
// not known, and marked where usage is estimated.
func TestCostHeader(t *testing.T) {
	for _, separate := range []bool{false, true} {
		for _, report := range []bool{false, true} {
			url := costingEdge(t, separate, report)
			for model, want := range map[string]string{"small": "0.00045", "free": "0", "unknown": "", "silent": "; estimated"} {
				for _, stream := range []string{"false", "true"} {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions",
						strings.NewReader(`{"model":"`+model+`","stream":`+stream+`,"messages":[{"role":"user","content":"hi"}]}`))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Authorization", "Bearer any")
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					body := new(strings.Builder)
					_, err = io.Copy(body, resp.Body)
					_ = resp.Body.Close()
					if err != nil || resp.StatusCode != http.StatusOK {
						t.Fatalf("%s: %d, %v: %s", model, resp.StatusCode, err, body)
					}
					header, trailer := resp.Header.Values("X-Genway-Cost"), resp.Trailer.Values("X-Genway-Cost")
					got, other := header, trailer
					if stream == "true" {
						got, other = trailer, header
					}
					cost := strings.Join(got, "|")
					good := cost == want
					if model == "silent" {
						good = strings.HasSuffix(cost, want) && strings.HasPrefix(cost, "0.0") && report
					}
					if !report {
						good = cost == ""
					}
					if !good || len(other) > 0 {
						t.Errorf("separate %v, report %v, model %s, stream %s: header %q, trailer %q", separate, report, model, stream, header, trailer)
					}
				}
			}
		}
	}
}
