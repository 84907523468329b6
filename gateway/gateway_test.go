package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/gateway"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// core is a fake core: it records what reaches it and answers as the test says.
type core struct {
	genwayv1.UnimplementedGenerationServer
	edgev1.UnimplementedAccessServer
	mu     sync.Mutex
	md     metadata.MD
	header metadata.MD // of every answer
	seen   *genwayv1.GenerateTextRequest
	fail   error
	answer *genwayv1.GenerateTextResponse
	stream func(context.Context, func(*genwayv1.StreamGenerateTextResponse) error) error
	checks atomic.Int64                            // calls of CheckAccess
	asked  atomic.Pointer[edgev1.RequestExtension] // of the last stream
	// streamed is the request of the last stream.
	streamed atomic.Pointer[genwayv1.GenerateTextRequest]
	draw     func(context.Context, func(*genwayv1.StreamGenerateImageResponse) error) error
}

func (c *core) note(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.md, _ = metadata.FromIncomingContext(ctx)
	if c.header != nil {
		if err := grpc.SetHeader(ctx, c.header); err != nil {
			return err
		}
	}
	return c.fail
}

func (c *core) setFail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *core) metadata() metadata.MD {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.md
}

func answer() *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{
		Id: "gen_1", Model: "m", CreateTime: timestamppb.New(time.Unix(7, 0)), ServiceTier: "default",
		Candidates: []*genwayv1.Candidate{{
			Parts:      []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hello"}}}},
			StopReason: genwayv1.StopReason_STOP_REASON_END_TURN,
		}},
		Usage: &genwayv1.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3},
	}
}

func (c *core) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	c.seen = req
	if err := c.note(ctx); err != nil {
		return nil, err
	}
	if req.GetModel() == "panic" {
		panic("secret text")
	}
	if c.answer != nil {
		return c.answer, nil
	}
	return answer(), nil
}

func (c *core) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	c.asked.Store(req.GetWire().GetExtension())
	c.streamed.Store(req)
	if err := c.note(stream.Context()); err != nil {
		return err
	}
	if c.stream != nil {
		return c.stream(stream.Context(), stream.Send)
	}
	for _, ev := range codec.Events(answer(), func(s string) []string { return []string{s[:2], s[2:]} }) {
		if err := stream.Send(ev); err != nil {
			return err
		}
	}
	return nil
}

func (c *core) GenerateImage(ctx context.Context, _ *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if err := c.note(ctx); err != nil {
		return nil, err
	}
	return &genwayv1.GenerateImageResponse{Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Data{Data: []byte{1}}}}}, nil
}

func (c *core) CheckAccess(ctx context.Context, _ *edgev1.CheckAccessRequest) (*edgev1.CheckAccessResponse, error) {
	c.checks.Add(1)
	if err := c.note(ctx); err != nil {
		return nil, err
	}
	return &edgev1.CheckAccessResponse{}, nil
}

func (c *core) StreamGenerateImage(req *genwayv1.GenerateImageRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateImageResponse]) error {
	if c.draw == nil {
		resp, err := c.GenerateImage(stream.Context(), req)
		if err != nil {
			return err
		}
		return images.SendAll(resp, stream.Send)
	}
	if err := c.note(stream.Context()); err != nil {
		return err
	}
	return c.draw(stream.Context(), stream.Send)
}

func (c *core) ListModels(ctx context.Context, req *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, error) {
	if err := c.note(ctx); err != nil {
		return nil, err
	}
	models := []*genwayv1.Model{{Name: "a", GeneratesText: true}, {Name: "b", GeneratesText: true}}
	if req.GetPageSize() == 1 {
		return &genwayv1.ListModelsResponse{Models: models[:1], NextPageToken: "a"}, nil
	}
	return &genwayv1.ListModelsResponse{Models: models}, nil
}

func (c *core) GetModel(ctx context.Context, req *genwayv1.GetModelRequest) (*genwayv1.GetModelResponse, error) {
	if err := c.note(ctx); err != nil {
		return nil, err
	}
	return &genwayv1.GetModelResponse{Model: &genwayv1.Model{Name: req.GetName()}}, nil
}

// edge is an edge in front of a stand-in core.
type edge struct {
	*httptest.Server
	core *core
	log  *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func serve(t *testing.T, change func(*gateway.Config)) *edge {
	t.Helper()
	e := &edge{core: &core{}, log: &syncBuffer{}}
	channel := new(inproc.Channel)
	genwayv1.RegisterGenerationServer(channel, e.core)
	edgev1.RegisterAccessServer(channel, e.core)
	healthy := health.NewServer()
	healthy.SetServingStatus(genwayv1.Generation_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(channel, healthy)
	config := gateway.Config{Core: channel, Logger: slog.New(slog.NewTextHandler(e.log, nil)), NewRequestID: func() string { return "req_test" }}
	if change != nil {
		change(&config)
	}
	handler, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	e.Server = httptest.NewServer(handler)
	t.Cleanup(func() {
		e.Client().CloseIdleConnections()
		e.Close()
	})
	return e
}

// protocols are the five, with a request of each that is right.
var protocols = []struct{ name, path, body string }{
	{"chat", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"a"}]}`},
	{"responses", "/v1/responses", `{"model":"m","input":"a"}`},
	{"messages", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]}`},
	{"generatecontent", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"a"}]}]}`},
	{"interactions", "/v1beta/interactions", `{"model":"m","input":"a"}`},
	{"images", "/v1/images/generations", `{"model":"m","prompt":"a"}`},
}

// right are the headers of a good caller.
func right(protocol string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	switch protocol {
	case "messages":
		h.Set("X-Api-Key", "k")
		h.Set("Anthropic-Version", "2023-06-01")
	case "generatecontent", "interactions":
		h.Set("X-Goog-Api-Key", "k")
	default:
		h.Set("Authorization", "Bearer k")
	}
	return h
}

type reply struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
}

func (e *edge) do(t *testing.T, method, path string, header http.Header, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, e.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := e.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text), resp.Trailer}
}

// native fails unless the answer is an error of the protocol with that status.
func native(t *testing.T, protocol string, r reply, want int) {
	t.Helper()
	var body struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Error     struct {
			Message string `json:"message"`
			Type    string `json:"type"`
			Code    any    `json:"code"`
			Status  string `json:"status"`
		} `json:"error"`
	}
	err := json.Unmarshal([]byte(r.body), &body)
	good := err == nil && body.Error.Message != "" && r.status == want && r.header.Get("Content-Type") == "application/json"
	switch protocol {
	case "messages":
		good = good && body.Type == "error" && body.Error.Type != "" && body.RequestID == "req_test"
	case "interactions":
		good = good && body.Error.Code == any(strings.ToLower(body.Error.Status)) && body.Error.Status != ""
	case "generatecontent":
		code, _ := body.Error.Code.(float64)
		good = good && int(code) == want && body.Error.Status != ""
	default:
		good = good && body.Error.Type != ""
	}
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		good = good && r.header.Get(name) == "req_test"
	}
	if !good {
		t.Errorf("want a native %d, got %d %v\n%s", want, r.status, r.header, r.body)
	}
	if strings.Contains(r.body, "secret text") {
		t.Errorf("an internal text leaks: %s", r.body)
	}
}

func detailed(f *fault.Error) error {
	st, err := status.New(codes.Internal, f.Message).WithDetails(f.Detail())
	if err != nil {
		return err
	}
	return st.Err()
}

func TestFailuresAreNative(t *testing.T) {
	limited := fault.New(fault.RateLimited, "X", "slow down")
	limited.RetryAfter = 1500 * time.Millisecond
	for _, c := range []struct {
		name   string
		core   error
		status map[string]int // by protocol; "" for all others
		change func(h http.Header, path, body *string)
		config func(*gateway.Config)
	}{
		{name: "no key", status: map[string]int{"": 401, "generatecontent": 403, "interactions": 403}, change: func(h http.Header, _, _ *string) {
			for _, n := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
				h.Del(n)
			}
		}},
		{name: "wrong key", core: detailed(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key")), status: map[string]int{"": 401, "generatecontent": 400, "interactions": 400}},
		{name: "wrong group", core: detailed(fault.New(fault.PermissionDenied, fault.ReasonWrongGroup, "other group")), status: map[string]int{"": 403}},
		{name: "malformed JSON", status: map[string]int{"": 400}, change: func(_ http.Header, _, body *string) { *body = "{" }},
		{name: "empty body", status: map[string]int{"": 400}, change: func(_ http.Header, _, body *string) { *body = "" }},
		{name: "too large", status: map[string]int{"": 413}, config: func(c *gateway.Config) { c.MaxBodyBytes = 4 }},
		{name: "unknown encoding", status: map[string]int{"": 415}, change: func(h http.Header, _, _ *string) { h.Set("Content-Encoding", "br") }},
		{name: "not what its encoding says", status: map[string]int{"": 400}, change: func(h http.Header, _, _ *string) { h.Set("Content-Encoding", "gzip") }},
		{name: "unknown path", status: map[string]int{"": 404}, change: func(_ http.Header, path, _ *string) { *path += "/nothing/here" }},
		{name: "unknown model", core: detailed(fault.New(fault.NotFound, fault.ReasonModelNotFound, "no such model")), status: map[string]int{"": 404}},
		{name: "rate limit", core: detailed(limited), status: map[string]int{"": 429}},
		{name: "overloaded", core: detailed(fault.New(fault.Overloaded, "X", "overloaded")), status: map[string]int{"": 503, "messages": 529}},
		{name: "core unreachable", core: status.Error(codes.Unavailable, "secret text: connection refused"), status: map[string]int{"": 503}},
		{name: "core fails without a word", core: status.Error(codes.Unknown, "secret text"), status: map[string]int{"": 500}},
		{name: "core is too slow", core: status.Error(codes.DeadlineExceeded, "secret text"), status: map[string]int{"": 504}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := serve(t, c.config)
			e.core.fail = c.core
			for _, p := range protocols {
				h, path, body := right(p.name), p.path, p.body
				if c.change != nil {
					c.change(h, &path, &body)
				}
				want, ok := c.status[p.name]
				if !ok {
					want = c.status[""]
				}
				r := e.do(t, http.MethodPost, path, h, body)
				native(t, p.name, r, want)
				if permanent := want < 500 && want != http.StatusTooManyRequests; permanent != (r.header.Get("X-Should-Retry") == "false") {
					t.Errorf("%s: %d has %v", p.name, want, r.header)
				}
				if c.name == "rate limit" && (r.header.Get("Retry-After") != "2" || r.header.Get("Retry-After-Ms") != "1500") {
					t.Errorf("%s: %v", p.name, r.header)
				}
			}
		})
	}
}

func TestWrongMethod(t *testing.T) {
	e := serve(t, nil)
	for _, p := range protocols {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			r := e.do(t, method, p.path, right(p.name), "")
			native(t, p.name, r, http.StatusMethodNotAllowed)
			if r.header.Get("Allow") != "POST" {
				t.Errorf("%s %s allows %q", method, p.path, r.header.Get("Allow"))
			}
		}
	}
}

// A core that panics is the in-process channel's caller, too.
func TestPanicsAreInternalErrors(t *testing.T) {
	e := serve(t, func(c *gateway.Config) { c.Core = panicking{c.Core} })
	for _, p := range protocols {
		native(t, p.name, e.do(t, http.MethodPost, p.path, right(p.name), p.body), http.StatusInternalServerError)
	}
	if !strings.Contains(e.log.String(), "secret text") {
		t.Error("the log does not tell")
	}
}

type panicking struct{ grpc.ClientConnInterface }

func (panicking) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	panic("secret text")
}

func TestOddPaths(t *testing.T) {
	e := serve(t, nil)
	if r := e.do(t, http.MethodHead, "/", http.Header{}, ""); r.status != http.StatusOK {
		t.Errorf("HEAD / gets %d", r.status)
	}
	if r := e.do(t, http.MethodGet, "/healthz", http.Header{}, ""); r.status != http.StatusOK || !strings.Contains(r.body, "ok") {
		t.Errorf("GET /healthz gets %d %s", r.status, r.body)
	}
	upgrade := right("responses")
	upgrade.Set("Upgrade", "websocket")
	upgrade.Set("Connection", "Upgrade")
	native(t, "responses", e.do(t, http.MethodGet, "/v1/responses", upgrade, ""), http.StatusUpgradeRequired)
	native(t, "responses", e.do(t, http.MethodGet, "/v1/responses", right("responses"), ""), http.StatusMethodNotAllowed)
	if r := e.do(t, http.MethodPost, "/v1/v1/chat/completions", right("chat"), "{}"); !strings.Contains(r.body, "must end before /v1") {
		t.Errorf("a doubled path gets %s", r.body)
	}
	for _, internal := range []string{"/v1/chat/completions:stream", "/v1/responses:stream", "/v1/messages:stream"} {
		if r := e.do(t, http.MethodPost, internal, right("messages"), "{}"); r.status != http.StatusNotFound {
			t.Errorf("%s gets %d", internal, r.status)
		}
	}
}
