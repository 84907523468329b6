package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport/inproc"
)

// painter answers out of the call's arena with what was asked for, over and over; it
// fails when that is nothing.
type painter struct {
	genwayv1.UnimplementedGenerationServer
	mu     sync.Mutex
	arenas []*arena.Arena
}

func (p *painter) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	memory := arena.Of(ctx)
	body := memory.Make(2 * arena.Least)
	p.mu.Lock()
	p.arenas = append(p.arenas, memory)
	p.mu.Unlock()
	if req.GetPrompt() == "nothing" {
		return nil, detailed(fault.New(fault.InvalidRequest, "NOTHING", "nothing"))
	}
	copy(body, strings.Repeat(req.GetPrompt(), len(body)))
	return &genwayv1.GenerateImageResponse{Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: body}}, nil
}

// Answers out of arenas come whole, many at once; their memory is released where nothing
// can look at it any more, and else left to the collector. (With the race detector, memory
// is written over as it is given back.)
func TestAnswersOutOfArenas(t *testing.T) {
	for _, c := range []struct {
		name, prompt string
		http2, freed bool
	}{{"HTTP/1", "", false, true}, {"HTTP/2", "", true, false}, {"a failure", "nothing", false, false}} {
		p := new(painter)
		channel := new(inproc.Channel)
		genwayv1.RegisterGenerationServer(channel, p)
		handler, err := gateway.New(gateway.Config{Core: channel, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = c.http2
		server.StartTLS()
		var callers sync.WaitGroup
		for n := range 8 {
			callers.Go(func() {
				for range 10 {
					prompt := c.prompt
					if prompt == "" {
						prompt = string(rune('a' + n))
					}
					body, err := paint(t, server, prompt)
					if err != nil {
						t.Errorf("%s: %v", c.name, err)
					} else if c.prompt == "" && body != strings.Repeat(prompt, 2*arena.Least) {
						t.Errorf("%s: %d bytes, %.20q", c.name, len(body), body)
					}
				}
			})
		}
		callers.Wait()
		server.Client().CloseIdleConnections()
		server.Close() // the handlers are over
		for _, memory := range p.arenas {
			if memory.Used() == c.freed {
				t.Fatalf("%s: given back: %v", c.name, !c.freed)
			}
		}
	}
}

func paint(t *testing.T, server *httptest.Server, prompt string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/images/generations", strings.NewReader(`{"model":"m","prompt":"`+prompt+`"}`))
	if err != nil {
		return "", err
	}
	req.Header = right("images")
	resp, err := server.Client().Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
