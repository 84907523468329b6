package core_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixedKeys knows one key a group, each named like its group.
type fixedKeys struct{}

func (fixedKeys) Authenticate(_ context.Context, raw string) (keys.Principal, error) {
	if raw == "broken-store" {
		return keys.Principal{}, errors.New("disk on fire")
	}
	group, err := keys.ParseGroup(raw)
	if err != nil {
		return keys.Principal{}, keys.ErrWrongKey
	}
	return keys.Principal{KeyID: "key_" + raw, Owner: "team", Group: group}, nil
}

// scripted is an upstream that does what the test says.
type scripted struct {
	seen   *genwayv1.GenerateTextRequest
	answer func() (*genwayv1.GenerateTextResponse, error)
	stream func(upstream.Send) error
	// streamOf, if set, is called in place of stream.
	streamOf func(context.Context, upstream.Send) error
	// images are the events of a stream of images; nil is a stream without images.
	images []*genwayv1.StreamGenerateImageResponse
}

func (s *scripted) GenerateText(_ context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	s.seen = req
	return s.answer()
}

func (s *scripted) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	s.seen = req
	if s.streamOf != nil {
		return s.streamOf(ctx, send)
	}
	return s.stream(send)
}

func (s *scripted) GenerateImage(context.Context, *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	return &genwayv1.GenerateImageResponse{}, nil
}

func (s *scripted) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	if s.images == nil {
		resp, err := s.GenerateImage(ctx, req)
		if err != nil {
			return err
		}
		return images.SendAll(resp, send)
	}
	for _, ev := range s.images {
		if err := send(ev); err != nil {
			return err
		}
	}
	return nil
}

func (s *scripted) CountTokens(_ context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	if req.GetWire() != nil || req.GetRequest().GetWire() != nil {
		return nil, fault.New(fault.Internal, "WIRE", "a smuggled body arrived")
	}
	return &genwayv1.CountTokensResponse{InputTokens: 5}, nil
}

func (s *scripted) Models() []*genwayv1.Model {
	return []*genwayv1.Model{{Name: "b"}, {Name: "c"}, {Name: "a"}}
}

type fixture struct {
	*scripted
	client genwayv1.GenerationClient
	conn   *grpc.ClientConn
	log    *bytes.Buffer
}

const secret = "an edge's secret, long enough"

func serve(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{scripted: &scripted{answer: func() (*genwayv1.GenerateTextResponse, error) {
		return &genwayv1.GenerateTextResponse{}, nil
	}}, log: &bytes.Buffer{}}
	service, err := core.New(core.Config{Upstream: f.scripted, Clock: func() time.Time { return time.Unix(7, 0) }, NewID: func(p string) string { return p + "1" }})
	if err != nil {
		t.Fatal(err)
	}
	server := core.NewServer(service, core.Interceptors{
		Authenticator: auth.Authenticator{Keys: fixedKeys{}, Trust: auth.TrustAny(auth.TrustUnixSocket, auth.TrustSecret(secret))},
		Logger:        slog.New(slog.NewTextHandler(f.log, nil)),
	}, core.ServerConfig{Grace: time.Second})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	f.conn, err = grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	f.client = genwayv1.NewGenerationClient(f.conn)
	t.Cleanup(func() {
		_ = f.conn.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return f
}

func request() *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{{
		Role:  genwayv1.Role_ROLE_USER,
		Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}},
	}}}
}

func as(t *testing.T, pairs ...string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), pairs...)
}

func detail(t *testing.T, err error) *genwayv1.ErrorDetail {
	t.Helper()
	st, _ := status.FromError(err)
	for _, d := range st.Details() {
		if d, ok := d.(*genwayv1.ErrorDetail); ok {
			return d
		}
	}
	t.Fatalf("no detail in %v", err)
	return nil
}

func TestWhoMayCall(t *testing.T) {
	f := serve(t)
	const edge = "genway-edge-secret"
	for _, c := range []struct {
		name   string
		md     []string
		reason string // empty: the call succeeds
	}{
		{"no key", nil, fault.ReasonMissingKey},
		{"not bearer", []string{"authorization", "internal"}, fault.ReasonMissingKey},
		{"unknown key", []string{"authorization", "Bearer nope"}, fault.ReasonInvalidKey},
		{"store unavailable", []string{"authorization", "Bearer broken-store"}, "KEYS_UNAVAILABLE"},
		{"direct, internal", []string{"authorization", "Bearer internal"}, ""},
		{"direct, other group", []string{"authorization", "Bearer chat"}, fault.ReasonWrongGroup},
		{"protocol without proof", []string{"authorization", "Bearer chat", "genway-protocol", "chat_completions"}, fault.ReasonWrongGroup},
		{"protocol with a wrong proof", []string{"authorization", "Bearer chat", "genway-protocol", "chat_completions", edge, "x"}, fault.ReasonWrongGroup},
		{"edge, chat", []string{"authorization", "Bearer chat", "genway-protocol", "chat_completions", edge, secret}, ""},
		{"edge, responses", []string{"authorization", "Bearer chat", "genway-protocol", "responses", edge, secret}, ""},
		{"edge, images", []string{"authorization", "Bearer chat", "genway-protocol", "images", edge, secret}, ""},
		{"edge, messages", []string{"authorization", "Bearer messages", "genway-protocol", "messages", edge, secret}, ""},
		{"edge, generateContent", []string{"authorization", "Bearer generatecontent", "genway-protocol", "generate_content", edge, secret}, ""},
		{"edge, wrong group", []string{"authorization", "Bearer chat", "genway-protocol", "messages", edge, secret}, fault.ReasonWrongGroup},
		{"edge, internal key", []string{"authorization", "Bearer internal", "genway-protocol", "messages", edge, secret}, fault.ReasonWrongGroup},
		{"edge without a protocol is direct", []string{"authorization", "Bearer internal", edge, secret}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := f.client.GenerateText(as(t, c.md...), request())
			if c.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if got := detail(t, err); got.GetReason() != c.reason || (got.GetRetryAfter() != nil) != (c.reason == "KEYS_UNAVAILABLE") {
				t.Errorf("got %v", got)
			}
		})
	}
	if strings.Contains(f.log.String(), "disk on fire") && !strings.Contains(f.log.String(), "cause") {
		t.Error("the cause is logged without its name")
	}
}

// A direct caller cannot smuggle a body past admission; an edge cannot either
// under another protocol's name.
func TestWireIsBelievedFromEdgesOnly(t *testing.T) {
	f := serve(t)
	edge := []string{"authorization", "Bearer messages", "genway-protocol", "messages", "genway-edge-secret", secret}
	for _, c := range []struct {
		name     string
		md       []string
		protocol genwayv1.Protocol
		kept     bool
	}{
		{"edge", edge, genwayv1.Protocol_PROTOCOL_MESSAGES, true},
		{"edge, other protocol", edge, genwayv1.Protocol_PROTOCOL_RESPONSES, false},
		{"direct", []string{"authorization", "Bearer internal"}, genwayv1.Protocol_PROTOCOL_MESSAGES, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request()
			req.Wire = &genwayv1.WireMessage{Protocol: c.protocol, Json: []byte("{}")}
			if _, err := f.client.GenerateText(as(t, c.md...), req); err != nil {
				t.Fatal(err)
			}
			if kept := f.seen.GetWire() != nil; kept != c.kept {
				t.Errorf("kept: %v", kept)
			}
		})
	}
	count := &genwayv1.CountTokensRequest{Request: request(), Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES}}
	count.Request.Wire = count.Wire
	if _, err := f.client.CountTokens(as(t, "authorization", "Bearer internal"), count); err != nil {
		t.Error(err)
	}
}

func TestRequestsAreChecked(t *testing.T) {
	f := serve(t)
	for param, change := range map[string]func(*genwayv1.GenerateTextRequest){
		"model":                     func(r *genwayv1.GenerateTextRequest) { r.Model = "" },
		"messages":                  func(r *genwayv1.GenerateTextRequest) { r.Messages = nil },
		"messages[0].role":          func(r *genwayv1.GenerateTextRequest) { r.Messages[0].Role = 0 },
		"messages[0].parts[0].kind": func(r *genwayv1.GenerateTextRequest) { r.Messages[0].Parts[0].Kind = nil },
	} {
		req := request()
		change(req)
		_, err := f.client.GenerateText(as(t, "authorization", "Bearer internal"), req)
		if d := detail(t, err); d.GetParam() != param || d.GetKind() != fault.InvalidRequest {
			t.Errorf("%s: %v", param, d)
		}
	}
}

// Panics and internal texts stay inside; the request id does not.
func TestInternalTextsStayInside(t *testing.T) {
	f := serve(t)
	for name, answer := range map[string]func() (*genwayv1.GenerateTextResponse, error){
		"panic": func() (*genwayv1.GenerateTextResponse, error) { panic("secret text") },
		"error": func() (*genwayv1.GenerateTextResponse, error) { return nil, errors.New("secret text") },
	} {
		t.Run(name, func(t *testing.T) {
			f.answer = answer
			var header metadata.MD
			_, err := f.client.GenerateText(as(t, "authorization", "Bearer internal", "x-request-id", "req_mine"), request(), grpc.Header(&header))
			d := detail(t, err)
			if strings.Contains(err.Error()+d.String(), "secret text") || d.GetMessage() != fault.InternalMessage || d.GetRequestId() != "req_mine" {
				t.Errorf("the caller sees %v", err)
			}
			if got := header.Get("x-request-id"); len(got) != 1 || got[0] != "req_mine" {
				t.Errorf("header %v", header)
			}
			if !strings.Contains(f.log.String(), "secret text") {
				t.Error("the log does not see it")
			}
		})
	}
}

func TestInsaneRequestIDsAreReplaced(t *testing.T) {
	f := serve(t)
	var header metadata.MD
	_, err := f.client.GenerateText(as(t, "authorization", "Bearer internal", "x-request-id", "a b\"c"), request(), grpc.Header(&header))
	if got := header.Get("x-request-id"); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "req_") {
		t.Errorf("%v, %v", got, err)
	}
}

// What a caller of an edge calls its request is in the log beside the call's own
// identifier, if it can stand there.
func TestClientRequestIDsAreLogged(t *testing.T) {
	f := serve(t)
	for id, logged := range map[string]bool{"trace-7": true, "a b": false, strings.Repeat("x", 129): false} {
		if _, err := f.client.GenerateText(as(t, "authorization", "Bearer internal", core.ClientRequestIDKey, id), request()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(f.log.String(), "client_request_id="+id); got != logged {
			t.Errorf("%q: %t", id, got)
		}
	}
}

func TestRetryAfterCrosses(t *testing.T) {
	f := serve(t)
	f.answer = func() (*genwayv1.GenerateTextResponse, error) {
		e := fault.New(fault.RateLimited, "SLOW_DOWN", "slow down")
		e.RetryAfter = 2 * time.Second
		return nil, e
	}
	_, err := f.client.GenerateText(as(t, "authorization", "Bearer internal"), request())
	if d := detail(t, err); d.GetRetryAfter().AsDuration() != 2*time.Second || !strings.Contains(status.Convert(err).Proto().String(), "RetryInfo") {
		t.Errorf("got %v", err)
	}
}

func TestAnswersAreNamed(t *testing.T) {
	f := serve(t)
	resp, err := f.client.GenerateText(as(t, "authorization", "Bearer internal"), request())
	if err != nil || resp.GetId() != "gen_1" || resp.GetCreateTime().GetSeconds() != 7 || resp.GetModel() != "m" {
		t.Errorf("%v, %v", resp, err)
	}
}

// Case S5: a stream that ends without its completed event is an error.
func TestCutStreamIsAnError(t *testing.T) {
	f := serve(t)
	for name, c := range map[string]struct {
		events []proto.Message
		reason string
	}{
		"whole":       {[]proto.Message{&genwayv1.TextStarted{}, &genwayv1.TextCompleted{}}, ""},
		"cut":         {[]proto.Message{&genwayv1.TextStarted{}}, fault.ReasonStreamCut},
		"empty":       {nil, fault.ReasonStreamCut},
		"ended twice": {[]proto.Message{&genwayv1.TextStarted{}, &genwayv1.TextCompleted{}, &genwayv1.TextCompleted{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f.stream = func(send upstream.Send) error {
				for _, ev := range c.events {
					if err := send(codec.Event(ev)); err != nil {
						return err
					}
				}
				return nil
			}
			stream, err := f.client.StreamGenerateText(as(t, "authorization", "Bearer internal"), request())
			if err != nil {
				t.Fatal(err)
			}
			completed := 0
			for err == nil {
				var ev *genwayv1.StreamGenerateTextResponse
				ev, err = stream.Recv()
				if ev.GetCompleted() != nil {
					completed++
				}
				if s := ev.GetStarted(); s != nil && (s.GetId() != "gen_1" || s.GetModel() != "m") {
					t.Errorf("started is %v", s)
				}
			}
			if c.reason == "" {
				if completed != 1 {
					t.Errorf("%d completed events, %v", completed, err)
				}
				return
			}
			if d := detail(t, err); d.GetReason() != c.reason {
				t.Errorf("got %v", d)
			}
		})
	}
}

// A stream of images ends with its completed event or with an error, and completes once.
func TestCutStreamOfImagesIsAnError(t *testing.T) {
	f := serve(t)
	for name, c := range map[string]struct {
		events []proto.Message
		reason string
	}{
		"whole":       {[]proto.Message{&genwayv1.ImageStarted{}, &genwayv1.ImageCompleted{}}, ""},
		"cut":         {[]proto.Message{&genwayv1.ImageStarted{}, &genwayv1.PartialImage{}}, fault.ReasonStreamCut},
		"heartbeats":  {[]proto.Message{&genwayv1.Ping{}}, fault.ReasonStreamCut},
		"ended twice": {[]proto.Message{&genwayv1.ImageStarted{}, &genwayv1.ImageCompleted{}, &genwayv1.ImageCompleted{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f.images = nil
			for _, ev := range c.events {
				f.images = append(f.images, images.Event(ev))
			}
			stream, err := f.client.StreamGenerateImage(as(t, "authorization", "Bearer internal"), &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"})
			if err != nil {
				t.Fatal(err)
			}
			completed := 0
			for err == nil {
				var ev *genwayv1.StreamGenerateImageResponse
				ev, err = stream.Recv()
				if ev.GetCompleted() != nil {
					completed++
				}
			}
			if c.reason == "" {
				if completed != 1 || !errors.Is(err, io.EOF) {
					t.Errorf("%d completed events, %v", completed, err)
				}
				return
			}
			if d := detail(t, err); d.GetReason() != c.reason || completed != 0 {
				t.Errorf("got %v after %d completed events", d, completed)
			}
		})
	}
}

func TestModelsComeInPages(t *testing.T) {
	f := serve(t)
	ctx := as(t, "authorization", "Bearer internal")
	var names []string
	token := ""
	for {
		page, err := f.client.ListModels(ctx, &genwayv1.ListModelsRequest{PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.GetModels() {
			if m.GetCreateTime().GetSeconds() == 0 {
				t.Errorf("%s has no create_time", m.GetName())
			}
			names = append(names, m.GetName())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if strings.Join(names, "") != "abc" {
		t.Errorf("got %v", names)
	}
	if _, err := f.client.ListModels(ctx, &genwayv1.ListModelsRequest{PageSize: -1}); detail(t, err).GetParam() != "page_size" {
		t.Error(err)
	}
	for _, token := range []string{"0", "bb", "\x01", strings.Repeat("a", 1<<16)} {
		if _, err := f.client.ListModels(ctx, &genwayv1.ListModelsRequest{PageToken: token}); detail(t, err).GetParam() != "page_token" {
			t.Errorf("%.20q: %v", token, err)
		}
	}
	if m, err := f.client.GetModel(ctx, &genwayv1.GetModelRequest{Name: "b"}); err != nil || m.GetModel().GetName() != "b" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := f.client.GetModel(ctx, &genwayv1.GetModelRequest{}); status.Code(err) != codes.InvalidArgument || detail(t, err).GetParam() != "name" {
		t.Errorf("no name: %v", err)
	}
	if _, err := f.client.GetModel(ctx, &genwayv1.GetModelRequest{Name: "x"}); detail(t, err).GetReason() != fault.ReasonModelNotFound {
		t.Error(err)
	}
}

// A server that is asked to end before it has begun ends cleanly.
func TestEndAheadOfTheStart(t *testing.T) {
	service, err := core.New(core.Config{Upstream: &scripted{}})
	if err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	for range 50 {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := core.NewServer(service, core.Interceptors{}, core.ServerConfig{}).Serve(ended, listener); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHealthAndReflectionNeedNoKey(t *testing.T) {
	f := serve(t)
	answer, err := grpc_health_v1.NewHealthClient(f.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "genway.v1.Generation"})
	if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", answer, err)
	}
	stream, err := grpc_reflection_v1.NewServerReflectionClient(f.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(list); err != nil {
		t.Fatal(err)
	}
	services, err := stream.Recv()
	if err != nil || !strings.Contains(services.String(), "genway.v1.Generation") {
		t.Errorf("%v, %v", services, err)
	}
}

// The log of a refused call says whose it was and what it asked for, in the words of
// the ledger and the edges.
func TestRefusedCallsAreLogged(t *testing.T) {
	f := serve(t)
	_, err := f.client.GenerateText(as(t, "authorization", "Bearer chat"), request())
	if status.Code(err) != codes.PermissionDenied {
		t.Fatal(err)
	}
	_, err = f.client.GenerateText(as(t, "authorization", "Bearer internal"), &genwayv1.GenerateTextRequest{Model: "asked"})
	if status.Code(err) != codes.InvalidArgument {
		t.Fatal(err)
	}
	for _, want := range []string{"key=key_chat", "kind=permission_denied", "model=asked", "protocol=grpc"} {
		if !strings.Contains(f.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, f.log.String())
		}
	}
}
