package cases_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// typedCases hold the edge to the typed contract: a core by somebody else stands behind it.
func typedCases() []Case {
	return []Case{
		{"T50", "An edge translates the whole body, of each protocol, for a core that knows the contract alone, and writes what such a core answers", typedContract},
		{"T51", "A core announces that it takes deferred bodies; the announcement holds for its connection, and the first call on each connection carries the whole message", deferralAnnounced},
		{"T52", "Beside a core that does not take deferred bodies no core gets any", deferralMixed},
		{"T53", "An edge can be told to send whole messages only", deferralOff},
		{"T57", "While cores of two makers take each other's place under load, the one that announces nothing never gets a deferred body", deferralReplaced},
	}
}

// typedCore is a core that knows nothing but the contract. It refuses a conversation that it
// cannot see.
type typedCore struct {
	genwayv1.UnimplementedGenerationServer
	announces bool

	mu   sync.Mutex
	seen []*genwayv1.GenerateTextRequest
}

// serve starts the core on a unix socket.
func (c *typedCore) serve(t *testing.T, socket string) *grpc.Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	healthy := health.NewServer()
	healthy.SetServingStatus(genwayv1.Generation_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, healthy)
	genwayv1.RegisterGenerationServer(server, c)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return server
}

func (c *typedCore) take(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, req)
	if c.announces {
		if err := grpc.SetTrailer(ctx, metadata.Pairs(transport.AcceptsKey, transport.DeferredBodies)); err != nil {
			return nil, err
		}
		return &genwayv1.Message{Parts: textParts("ok")}, nil
	}
	if len(req.GetMessages()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "messages: is required")
	}
	return req.GetMessages()[len(req.GetMessages())-1], nil
}

// last returns the last request, and how many there were.
func (c *typedCore) last() (*genwayv1.GenerateTextRequest, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[len(c.seen)-1], len(c.seen)
}

func (c *typedCore) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

func textParts(text string) []*genwayv1.Part {
	return []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}}}
}

func (c *typedCore) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	m, err := c.take(ctx, req)
	if err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{Id: "1", Model: req.GetModel(), Candidates: []*genwayv1.Candidate{{Parts: m.GetParts(), StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}, Usage: &genwayv1.Usage{InputTokens: 1, OutputTokens: 2}}, nil
}

func (c *typedCore) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	m, err := c.take(stream.Context(), req)
	if err != nil {
		return err
	}
	for _, ev := range []*genwayv1.StreamGenerateTextResponse{
		{Payload: &genwayv1.StreamGenerateTextResponse_Started{Started: &genwayv1.TextStarted{Id: "1", Model: req.GetModel()}}},
		{Payload: &genwayv1.StreamGenerateTextResponse_PartStarted{PartStarted: &genwayv1.PartStarted{Part: m.GetParts()[0]}}},
		{Payload: &genwayv1.StreamGenerateTextResponse_PartCompleted{PartCompleted: &genwayv1.PartCompleted{}}},
		{Payload: &genwayv1.StreamGenerateTextResponse_Completed{Completed: &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}, Usage: &genwayv1.Usage{OutputTokens: 2}}}},
	} {
		if err := stream.Send(ev); err != nil {
			return err
		}
	}
	return nil
}

func (c *typedCore) GenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if req.GetPrompt() != "a square" {
		return nil, status.Errorf(codes.InvalidArgument, "prompt: %q", req.GetPrompt())
	}
	return &genwayv1.GenerateImageResponse{Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Data{Data: []byte{1}}}}}, nil
}

// inFront starts an edge in front of cores on unix sockets.
func inFront(t *testing.T, change func(*gateway.Config), sockets ...string) string {
	t.Helper()
	config := gateway.CoreConfig{Logger: slog.New(slog.DiscardHandler)}
	for _, s := range sockets {
		config.Targets = append(config.Targets, "unix:"+s)
	}
	conn, err := gateway.Dial(config)
	if err != nil {
		t.Fatal(err)
	}
	edge := gateway.Config{Core: conn, Heartbeat: -1, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&edge)
	}
	handler, err := gateway.New(edge)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(handler)
	t.Cleanup(func() {
		front.Close()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return front.URL
}

// typedBodies are requests with a tool in each text protocol: the path of the unary call, that of
// the stream, and the body, to which a stream adds a member where the path is the same.
var typedBodies = []struct{ name, path, stream, body string }{
	{"chat", "/v1/chat/completions", "", `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello there"}],"temperature":0.5,"tools":[{"type":"function","function":{"name":"clock","parameters":{"type":"object"}}}]}`},
	{"responses", "/v1/responses", "", `{"model":"m","instructions":"be brief","input":"hello there","temperature":0.5,"tools":[{"type":"function","name":"clock","parameters":{"type":"object"}}]}`},
	{"messages", "/v1/messages", "", `{"model":"m","max_tokens":9,"system":"be brief","messages":[{"role":"user","content":"hello there"}],"temperature":0.5,"tools":[{"name":"clock","input_schema":{"type":"object"}}]}`},
	{"generatecontent", "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse", `{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[{"role":"user","parts":[{"text":"hello there"}]}],"generationConfig":{"temperature":0.5},"tools":[{"functionDeclarations":[{"name":"clock","parameters":{"type":"OBJECT"}}]}]}`},
}

func typedHeaders() http.Header {
	return http.Header{"Authorization": {"Bearer key"}, "X-Goog-Api-Key": {"key"}, "Anthropic-Version": {"2023-06-01"}}
}

// sockets returns a place for a socket, whose path must be short.
func sockets(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "t5")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, name)
}

// eventually waits for something to become true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline:
			t.Fatal("not within 20 s: " + what)
		case <-tick.C:
		}
	}
}

func typedContract(t *testing.T) {
	core := &typedCore{}
	socket := sockets(t, "core")
	core.serve(t, socket)
	url := inFront(t, nil, socket)
	for _, c := range typedBodies {
		for _, streamed := range []bool{false, true, false} {
			path, body := c.path, c.body
			switch {
			case streamed && c.stream != "":
				path = c.stream
			case streamed:
				body = strings.TrimSuffix(body, "}") + `,"stream":true}`
			}
			name := fmt.Sprintf("%s, stream %v", c.name, streamed)
			code, answer := post(t, url+path, body, typedHeaders())
			if code != http.StatusOK || !strings.Contains(answer, "hello there") {
				t.Errorf("%s: %d: %.300s", name, code, answer)
				continue
			}
			req, _ := core.last()
			texts := fmt.Sprint(req.GetMessages())
			if req.GetModel() != "m" || !strings.Contains(texts, "be brief") || !strings.Contains(texts, "hello there") || req.GetSampling().GetTemperature() != 0.5 ||
				len(req.GetTools()) != 1 || req.GetTools()[0].GetFunction().GetName() != "clock" {
				t.Errorf("%s: the core got %v", name, req)
			}
			if string(req.GetWire().GetJson()) != body || req.GetWire().GetExtension().GetDeferred() {
				t.Errorf("%s: the raw body is %v", name, req.GetWire())
			}
		}
	}
	code, answer := post(t, url+"/v1/images/generations", `{"model":"m","prompt":"a square"}`, typedHeaders())
	if code != http.StatusOK || !strings.Contains(answer, `"b64_json"`) {
		t.Errorf("images: %d: %.300s", code, answer)
	}
	code, answer = post(t, url+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":7}]}`, typedHeaders())
	if code != http.StatusBadRequest || !strings.Contains(answer, "messages[0].content") {
		t.Errorf("a body that is wrong within its conversation: %d: %.300s", code, answer)
	}
}

// deferredBy asks once and reports whether the core got a deferred body.
func deferredBy(t *testing.T, url string, core *typedCore, streamed bool) bool {
	t.Helper()
	body := typedBodies[0].body
	if streamed {
		body = strings.TrimSuffix(body, "}") + `,"stream":true}`
	}
	if code, answer := post(t, url+typedBodies[0].path, body, typedHeaders()); code != http.StatusOK {
		t.Fatalf("%d: %.300s", code, answer)
	}
	req, _ := core.last()
	deferred := req.GetWire().GetExtension().GetDeferred()
	if whole := len(req.GetMessages()) == 2 && len(req.GetTools()) == 1; whole == deferred || req.GetSampling().GetTemperature() != 0.5 {
		t.Errorf("deferred %v: %v", deferred, req)
	}
	return deferred
}

func deferralAnnounced(t *testing.T) {
	for name, fixed := range map[string]bool{"one core": true, "several targets": false} {
		t.Run(name, func(t *testing.T) {
			own, socket := &typedCore{announces: true}, sockets(t, "core")
			server := own.serve(t, socket)
			targets := []string{socket}
			if !fixed {
				targets = append(targets, sockets(t, "away")) // the balancer of several cores
			}
			url := inFront(t, nil, targets...)
			for i, want := range []bool{false, true, true} {
				if got := deferredBy(t, url, own, i == 2); got != want {
					t.Errorf("call %d: deferred %v, want %v", i+1, got, want)
				}
			}
			server.Stop()
			// A core that knows nothing of the extension takes the place.
			other := &typedCore{}
			other.serve(t, socket)
			eventually(t, "the edge finds the other core", func() bool {
				code, _ := post(t, url+typedBodies[0].path, typedBodies[0].body, typedHeaders())
				return code == http.StatusOK
			})
			if deferredBy(t, url, other, true) || deferredBy(t, url, other, false) {
				t.Error("a core that has announced nothing got a deferred body")
			}
			other.mu.Lock()
			defer other.mu.Unlock()
			for _, req := range other.seen {
				if req.GetWire().GetExtension().GetDeferred() {
					t.Error("the first call on the connection is deferred")
				}
			}
		})
	}
}

func deferralReplaced(t *testing.T) {
	for name, fixed := range map[string]bool{"one core": true, "several targets": false} {
		t.Run(name, func(t *testing.T) {
			own, other, socket := &typedCore{announces: true}, &typedCore{}, sockets(t, "core")
			targets := []string{socket}
			if !fixed {
				targets = append(targets, sockets(t, "away"))
			}
			url := inFront(t, nil, targets...)
			ctx, stop := context.WithCancel(t.Context())
			var callers sync.WaitGroup
			defer func() {
				stop()
				callers.Wait()
			}()
			for range 4 {
				callers.Go(func() {
					for ctx.Err() == nil { // calls that meet no core fail
						req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+typedBodies[0].path, strings.NewReader(typedBodies[0].body))
						if err != nil {
							panic(err)
						}
						req.Header = typedHeaders()
						req.Header.Set("Content-Type", "application/json")
						if resp, err := http.DefaultClient.Do(req); err == nil {
							_ = resp.Body.Close()
						}
					}
				})
			}
			for range 6 {
				for _, core := range []*typedCore{own, other} {
					before := core.count()
					server := core.serve(t, socket)
					eventually(t, "the edge finds the core", func() bool { return core.count() >= before+3 })
					server.Stop()
				}
			}
			stop()
			callers.Wait()
			own.mu.Lock()
			defer own.mu.Unlock()
			other.mu.Lock()
			defer other.mu.Unlock()
			deferred := 0
			for _, req := range own.seen {
				if req.GetWire().GetExtension().GetDeferred() {
					deferred++
				}
			}
			if deferred == 0 {
				t.Error("no call was deferred")
			}
			for i, req := range other.seen {
				if req.GetWire().GetExtension().GetDeferred() {
					t.Errorf("call %d of %d at a core that has announced nothing is deferred", i, len(other.seen))
				}
			}
		})
	}
}

func deferralMixed(t *testing.T) {
	own, other := &typedCore{announces: true}, &typedCore{}
	first, second := sockets(t, "first"), sockets(t, "second")
	own.serve(t, first)
	other.serve(t, second)
	url := inFront(t, nil, first, second)
	for i := range 40 {
		body := typedBodies[0].body
		if i%2 == 1 {
			body = strings.TrimSuffix(body, "}") + `,"stream":true}`
		}
		if code, answer := post(t, url+typedBodies[0].path, body, typedHeaders()); code != http.StatusOK {
			t.Fatalf("call %d: %d: %.300s", i, code, answer)
		}
	}
	if _, n := other.last(); n == 0 {
		t.Fatal("the core that announces nothing got no calls")
	}
	for _, req := range other.seen {
		if req.GetWire().GetExtension().GetDeferred() {
			t.Fatal("a deferred body for a core that has announced nothing")
		}
	}
}

func deferralOff(t *testing.T) {
	own, socket := &typedCore{announces: true}, sockets(t, "core")
	own.serve(t, socket)
	url := inFront(t, func(c *gateway.Config) { c.WholeBodies = true }, socket)
	for range 3 {
		if deferredBy(t, url, own, false) {
			t.Error("a deferred body")
		}
	}
}
