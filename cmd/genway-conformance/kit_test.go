package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/cli/clitest"
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// core is a small core that keeps the contract. Its functions are what a broken copy changes.
type core struct {
	genwayv1.UnimplementedGenerationServer
	// keys are the API keys that it takes.
	keys []string
	// answer changes the answer to a request, events the stream of it.
	answer func(*genwayv1.GenerateTextRequest, *genwayv1.GenerateTextResponse)
	events func(*genwayv1.GenerateTextRequest, []*genwayv1.StreamGenerateTextResponse) []*genwayv1.StreamGenerateTextResponse
	image  func(*genwayv1.GenerateImageResponse)
	// pictures changes the stream of an image.
	pictures func([]*genwayv1.StreamGenerateImageResponse) []*genwayv1.StreamGenerateImageResponse
	list     func(*genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, bool)
	count    func(*genwayv1.CountTokensResponse)
	// refuse makes the status of a refusal.
	refuse func(codes.Code, *genwayv1.ErrorDetail) error
	// admits decides on a request that names a model.
	admits func(model string) bool
	// leaks has the streams that were abandoned; no call is answered once it is full. It is nil in a sound core.
	leaks chan struct{}
	// options configure the server.
	options []grpc.ServerOption
}

func newCore() *core {
	return &core{
		keys: []string{"a key"}, refuse: detailed, admits: func(model string) bool { return model == "parrot" || model == "square" },
		options: []grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessage)},
	}
}

// detailed returns a status with the detail.
func detailed(code codes.Code, detail *genwayv1.ErrorDetail) error {
	s, err := status.New(code, detail.GetMessage()).WithDetails(detail)
	if err != nil {
		return err
	}
	return s.Err()
}

func (c *core) invalid(param string) error {
	return c.refuse(codes.InvalidArgument, &genwayv1.ErrorDetail{Kind: genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, Reason: "INVALID_MEMBER", Message: "it is not valid: " + param, Param: param})
}

func (c *core) check(ctx context.Context, model string) error {
	md, _ := metadata.FromIncomingContext(ctx)
	key, _ := strings.CutPrefix(strings.Join(md.Get("authorization"), ""), "Bearer ")
	switch {
	case !slices.Contains(c.keys, key):
		return c.refuse(codes.Unauthenticated, &genwayv1.ErrorDetail{Kind: genwayv1.ErrorKind_ERROR_KIND_UNAUTHENTICATED, Reason: "WRONG_KEY", Message: "the key is not known"})
	case model == "":
		return c.invalid("model")
	case !c.admits(model):
		return c.refuse(codes.NotFound, &genwayv1.ErrorDetail{Kind: genwayv1.ErrorKind_ERROR_KIND_NOT_FOUND, Reason: "MODEL_NOT_FOUND", Message: "there is no such model"})
	}
	return nil
}

func (c *core) GenerateText(ctx context.Context, r *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	if err := c.check(ctx, r.GetModel()); err != nil {
		return nil, err
	}
	if len(r.GetMessages()) == 0 {
		return nil, c.invalid("messages")
	}
	if r.GetExtraJson() != "" {
		return nil, c.invalid("extra_json")
	}
	if cap(c.leaks) > 0 && len(c.leaks) == cap(c.leaks) {
		return nil, status.Error(codes.ResourceExhausted, "no thread is left")
	}
	var heard []string
	for _, m := range r.GetMessages() {
		for _, p := range m.GetParts() {
			heard = append(heard, strings.Fields(p.GetText().GetText())...)
		}
	}
	last := r.GetMessages()[len(r.GetMessages())-1]
	words := strings.Fields(cmp.Or(last.GetParts()[0].GetText().GetText(), "thanks"))
	stop := genwayv1.StopReason_STOP_REASON_END_TURN
	if bound := r.MaxOutputTokens; bound != nil && int64(len(words)) > *bound {
		words, stop = words[:*bound], genwayv1.StopReason_STOP_REASON_MAX_TOKENS
	}
	part := codec.TextPart(strings.Join(words, " "))
	if r.GetToolChoice().GetMode() == genwayv1.ToolChoice_MODE_REQUIRED {
		part, stop = codec.CallPart(r.GetTools()[0].GetFunction().GetName(), `{"city":"Paris"}`), genwayv1.StopReason_STOP_REASON_TOOL_CALL
		part.GetToolCall().Id = "call_1"
	}
	in, out := int64(len(heard)), int64(len(words))
	answer := &genwayv1.GenerateTextResponse{
		Id: "a", Model: r.GetModel(), Usage: &genwayv1.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out},
		Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{part}, StopReason: stop}},
	}
	if c.answer != nil {
		c.answer(r, answer)
	}
	return answer, nil
}

func (c *core) StreamGenerateText(r *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	change := c.answer
	unchanged := *c
	if c.events != nil { // a broken stream belongs to a sound unary answer
		unchanged.answer = nil
		change = nil
	}
	unchanged.answer = change
	answer, err := unchanged.GenerateText(stream.Context(), r)
	if err != nil {
		return err
	}
	events := codec.Events(answer, func(s string) []string { return strings.SplitAfter(s, " ") })
	if c.events != nil {
		events = c.events(r, events)
	}
	for n, ev := range events {
		if cap(c.leaks) > 0 && n == 1 {
			select { // a caller that leaves takes a thread with it
			case <-stream.Context().Done():
				select {
				case c.leaks <- struct{}{}:
				default:
				}
				return nil
			case <-time.After(100 * time.Millisecond):
			}
		}
		if err := stream.Send(ev); err != nil {
			return err
		}
	}
	return nil
}

func (c *core) GenerateImage(ctx context.Context, r *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if err := c.check(ctx, r.GetModel()); err != nil {
		return nil, err
	}
	if r.GetPrompt() == "" {
		return nil, c.invalid("prompt")
	}
	answer := &genwayv1.GenerateImageResponse{Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Data{Data: []byte("\x89PNG\r\n\x1a\n")}}}}
	if c.image != nil {
		c.image(answer)
	}
	return answer, nil
}

func (c *core) StreamGenerateImage(r *genwayv1.GenerateImageRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateImageResponse]) error {
	answer, err := c.GenerateImage(stream.Context(), r)
	if err != nil {
		return err
	}
	events := []*genwayv1.StreamGenerateImageResponse{
		{Payload: &genwayv1.StreamGenerateImageResponse_Started{Started: &genwayv1.ImageStarted{}}},
		{Payload: &genwayv1.StreamGenerateImageResponse_Image{Image: &genwayv1.FinishedImage{Image: answer.GetImages()[0]}}},
		{Payload: &genwayv1.StreamGenerateImageResponse_Completed{Completed: &genwayv1.ImageCompleted{Count: 1}}},
	}
	if c.pictures != nil {
		events = c.pictures(events)
	}
	for _, ev := range events {
		if err := stream.Send(ev); err != nil {
			return err
		}
	}
	return nil
}

func (c *core) CountTokens(ctx context.Context, r *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	answer, err := c.GenerateText(ctx, r.GetRequest())
	count := &genwayv1.CountTokensResponse{InputTokens: answer.GetUsage().GetInputTokens()}
	if c.count != nil {
		c.count(count)
	}
	return count, err
}

// models are ordered by name. A page's token is the number of the next one.
func models() []*genwayv1.Model {
	return []*genwayv1.Model{{Name: "parrot", GeneratesText: true}, {Name: "square", GeneratesImages: true}}
}

func (c *core) ListModels(ctx context.Context, r *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, error) {
	if err := c.check(ctx, "parrot"); err != nil {
		return nil, err
	}
	if c.list != nil {
		if answer, is := c.list(r); is {
			return answer, nil
		}
	}
	from, err := strconv.Atoi(cmp.Or(r.GetPageToken(), "0"))
	if err != nil || from < 0 || from >= len(models()) {
		return nil, c.invalid("page_token")
	}
	if r.GetPageSize() < 0 {
		return nil, c.invalid("page_size")
	}
	rest := models()[from:]
	if size := int(r.GetPageSize()); size > 0 && size < len(rest) {
		return &genwayv1.ListModelsResponse{Models: rest[:size], NextPageToken: strconv.Itoa(from + size)}, nil
	}
	return &genwayv1.ListModelsResponse{Models: rest}, nil
}

func (c *core) GetModel(ctx context.Context, r *genwayv1.GetModelRequest) (*genwayv1.GetModelResponse, error) {
	if err := c.check(ctx, r.GetName()); err != nil {
		return nil, err
	}
	n := slices.IndexFunc(models(), func(m *genwayv1.Model) bool { return m.GetName() == r.GetName() })
	return &genwayv1.GetModelResponse{Model: models()[max(n, 0)]}, nil
}

// checked serves the core and returns what the kit prints of it.
func checked(t *testing.T, c *core) (string, error) {
	t.Helper()
	return run(t, served(t, c), "--key", "a key")
}

// served serves the core until the test ends, and returns its address.
func served(t *testing.T, c *core) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(c.options...)
	genwayv1.RegisterGenerationServer(server, c)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	parsed, err := program().Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = parsed.Run(t.Context(), &out)
	return out.String(), err
}

func TestSoundCore(t *testing.T) {
	t.Parallel()
	out, err := checked(t, newCore())
	if err != nil || strings.Contains(out, "FAIL") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, c := range checks {
		if c.name != "health" && !strings.Contains(out, "ok    "+c.name+"\n") {
			t.Errorf("%s did not run:\n%s", c.name, out)
		}
	}
}

type (
	textEvents  = []*genwayv1.StreamGenerateTextResponse
	imageEvents = []*genwayv1.StreamGenerateImageResponse
	textRequest = genwayv1.GenerateTextRequest
	textAnswer  = genwayv1.GenerateTextResponse
)

// Each broken copy of the core fails the checks that look at what is broken.
func TestBrokenCores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*core)
		fails  string
	}{
		"a stream without its end": {func(c *core) {
			c.events = func(_ *textRequest, e textEvents) textEvents { return e[:len(e)-1] }
		}, "text/stream"},
		"a stream with two ends": {func(c *core) {
			c.events = func(_ *textRequest, e textEvents) textEvents { return append(e, e[len(e)-1]) }
		}, "text/stream"},
		"a stream without its start": {func(c *core) {
			c.events = func(_ *textRequest, e textEvents) textEvents { return e[1:] }
		}, "text/stream"},
		"a part that is never closed": {func(c *core) {
			c.events = func(_ *textRequest, e textEvents) textEvents { return slices.Delete(e, len(e)-2, len(e)-1) }
		}, "text/stream"},
		"a stream that leaves a word out": {func(c *core) {
			c.events = func(_ *textRequest, e textEvents) textEvents { return slices.Delete(e, 2, 3) }
		}, "text/same"},
		"a stream without usage": {func(c *core) {
			c.events = func(_ *textRequest, e textEvents) textEvents {
				e[0].GetStarted().Usage, e[len(e)-1].GetCompleted().Usage = nil, nil
				return e
			}
		}, "text/same"},
		"a stream whose calls are text": {func(c *core) {
			c.events = func(r *textRequest, e textEvents) textEvents {
				if r.GetToolChoice() == nil {
					return e
				}
				return codec.Events(&textAnswer{Id: "a", Model: "parrot", Candidates: []*genwayv1.Candidate{{
					Parts: []*genwayv1.Part{codec.TextPart("get_weather()")}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN,
				}}}, nil)
			}
		}, "tools/stream"},
		"a total that is no sum": {func(c *core) {
			c.answer = func(_ *textRequest, a *textAnswer) { a.Usage.TotalTokens++ }
		}, "text/unary"},
		"tokens that are the same for each text": {func(c *core) {
			c.answer = func(_ *textRequest, a *textAnswer) {
				a.Usage.InputTokens, a.Usage.TotalTokens = 1, 1+a.Usage.OutputTokens
			}
		}, "text/usage"},
		"an answer without a stop_reason": {func(c *core) {
			c.answer = func(_ *textRequest, a *textAnswer) { a.Candidates[0].StopReason = 0 }
		}, "text/unary"},
		"a bound that is ignored": {func(c *core) {
			c.answer = func(r *textRequest, a *textAnswer) {
				if r.MaxOutputTokens != nil {
					a.Usage = &genwayv1.Usage{OutputTokens: 20}
				}
			}
		}, "text/max_output_tokens"},
		"arguments that are not JSON": {func(c *core) {
			c.answer = func(_ *textRequest, a *textAnswer) {
				if call := a.Candidates[0].Parts[0].GetToolCall(); call != nil {
					call.Arguments = &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "city: Paris"}
				}
			}
		}, "tools/call"},
		"a call that ends the turn": {func(c *core) {
			c.answer = func(_ *textRequest, a *textAnswer) {
				a.Candidates[0].StopReason = genwayv1.StopReason_STOP_REASON_END_TURN
			}
		}, "tools/call"},
		"a call that was forbidden": {func(c *core) {
			c.answer = func(r *textRequest, a *textAnswer) {
				if r.GetToolChoice().GetMode() == genwayv1.ToolChoice_MODE_NONE {
					a.Candidates[0].Parts = []*genwayv1.Part{codec.CallPart("get_weather", "{}")}
				}
			}
		}, "tools/none"},
		"an image that is none": {func(c *core) {
			c.image = func(a *genwayv1.GenerateImageResponse) {
				a.Images[0].Source = &genwayv1.GeneratedImage_Data{Data: []byte("a picture")}
			}
		}, "images/unary"},
		"a stream of images without its end": {func(c *core) {
			c.pictures = func(e imageEvents) imageEvents { return e[:2] }
		}, "images/stream"},
		"a stream of images with another count": {func(c *core) {
			c.pictures = func(e imageEvents) imageEvents { e[2].GetCompleted().Count = 2; return e }
		}, "images/stream"},
		"a count of nothing": {func(c *core) {
			c.count = func(n *genwayv1.CountTokensResponse) { n.InputTokens = 0 }
		}, "count"},
		"a limit that is not known is 0": {func(c *core) {
			c.list = func(*genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, bool) {
				list := models()
				list[0].ContextTokenLimit = new(int64(0))
				return &genwayv1.ListModelsResponse{Models: list}, true
			}
		}, "models/list"},
		"every model is taken": {func(c *core) { c.admits = func(string) bool { return true } }, "errors/unknown model"},
		"every key is taken":   {func(c *core) { c.keys = []string{"", "a key", "a keyx"} }, "errors/no key"},
		"every key is taken but none": {func(c *core) {
			c.keys = []string{"a key", "a keyx"}
		}, "errors/wrong key"},
		"errors without details": {func(c *core) {
			c.refuse = func(code codes.Code, d *genwayv1.ErrorDetail) error { return status.Error(code, d.GetMessage()) }
		}, "errors/no model"},
		"errors of another code": {func(c *core) {
			c.refuse = func(_ codes.Code, d *genwayv1.ErrorDetail) error { return detailed(codes.Internal, d) }
		}, "errors/no messages"},
		"errors whose code and kind differ": {func(c *core) {
			c.refuse = func(code codes.Code, d *genwayv1.ErrorDetail) error {
				d.Kind = genwayv1.ErrorKind_ERROR_KIND_INTERNAL
				return detailed(code, d)
			}
		}, "errors/no prompt"},
		"reasons for people": {func(c *core) {
			c.refuse = func(code codes.Code, d *genwayv1.ErrorDetail) error {
				d.Reason = "It is not valid."
				return detailed(code, d)
			}
		}, "errors/extra_json"},
		"errors that do not name the member": {func(c *core) {
			c.refuse = func(code codes.Code, d *genwayv1.ErrorDetail) error { d.Param = ""; return detailed(code, d) }
		}, "errors/no messages"},
		"later versions are refused": {func(c *core) {
			c.options = append(c.options, grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				if m, ok := r.(proto.Message); ok && len(m.ProtoReflect().GetUnknown()) > 0 {
					return nil, c.invalid("unknown")
				}
				return next(ctx, r)
			}))
		}, "calls/unknown fields"},
		"gRPC's own bound of sizes":         {func(c *core) { c.options = nil }, "calls/large"},
		"threads lost to callers that left": {func(c *core) { c.leaks = make(chan struct{}, abandoned/2) }, "calls/cancel"},
		"pages of any size": {func(c *core) {
			c.list = func(r *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, bool) {
				return &genwayv1.ListModelsResponse{Models: models()}, r.GetPageToken() == "" && r.GetPageSize() >= 0
			}
		}, "models/pages"},
		"any token is the beginning": {func(c *core) {
			c.list = func(r *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, bool) {
				return &genwayv1.ListModelsResponse{Models: models()}, r.GetPageSize() == 0
			}
		}, "models/token"},
		"pages without an end": {func(c *core) {
			c.list = func(r *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, bool) {
				return &genwayv1.ListModelsResponse{NextPageToken: "1"}, r.GetPageSize() == 1
			}
		}, "models/pages"},
		"models in no order": {func(c *core) {
			c.list = func(r *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, bool) {
				return &genwayv1.ListModelsResponse{Models: []*genwayv1.Model{models()[1], models()[0]}}, r.GetPageSize() == 0 && r.GetPageToken() == ""
			}
		}, "models/list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := newCore()
			c.change(broken)
			out, err := checked(t, broken)
			if err == nil || !strings.Contains(out, "FAIL  "+c.fails+": ") {
				t.Errorf("%s does not fail: %v\n%s", c.fails, err, out)
			}
		})
	}
}

// With --ca the kit accepts a certificate of that authority only.
func TestTLS(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewTLSServer(http.NotFoundHandler())
	issuer.Close()
	c := newCore()
	c.options = append(c.options, grpc.Creds(credentials.NewServerTLSFromCert(&issuer.TLS.Certificates[0])))
	address := served(t, c)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, address, "--key", "a key", "--ca", file); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"--tls"}, nil} {
		if out, err := run(t, append(args, address, "--key", "a key")...); err == nil || !strings.Contains(err.Error(), "not reachable") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

// The page names each check.
func TestChecksAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !strings.Contains(string(page), "`"+c.name+"`") {
			t.Errorf("docs/contract.md does not name %s", c.name)
		}
	}
	if summary := strconv.Itoa(len(checks)) + " checks: "; !strings.Contains(string(page), summary) {
		t.Errorf("docs/contract.md does not say %q", summary)
	}
}

// The kit says once that no server answers, and does not call that a server's failure.
func TestNoServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, listener.Addr().String())
	if out != "" || err == nil || !strings.Contains(err.Error(), "not reachable") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestArguments(t *testing.T) {
	clitest.Bounds(t, program, nil, "127.0.0.1:1")
	for _, args := range [][]string{{"--cert", "kit.go", "127.0.0.1:1"}, {"--ca", "kit.go", "127.0.0.1:1"}} {
		parsed, err := program().Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		if _, wrong := parsed.Run(t.Context(), &bytes.Buffer{}).(cli.UsageError); !wrong { //nolint:errorlint // Run returns it as it is
			t.Errorf("%q is taken", args)
		}
	}
}
