package generation_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/upstream/generation"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is another server of the contract.
type provider struct {
	genwayv1.UnimplementedGenerationServer
	err error
	cut bool
	md  metadata.MD
}

func (p *provider) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	p.md, _ = metadata.FromIncomingContext(ctx)
	return &genwayv1.GenerateTextResponse{Id: "x", Model: req.GetModel(), Candidates: []*genwayv1.Candidate{{}}}, p.err
}

func (p *provider) StreamGenerateText(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	if err := stream.Send(codec.Event(&genwayv1.TextStarted{Id: "x"})); err != nil || p.cut || p.err != nil {
		return p.err
	}
	return stream.Send(codec.Event(&genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{}}}))
}

func dial(t *testing.T, p *provider) *generation.Upstream {
	t.Helper()
	return dialWith(t, p, generation.Config{APIKey: "ours"})
}

// dialWith serves p and returns an adapter for it; config has all but the target.
func dialWith(t *testing.T, p genwayv1.GenerationServer, config generation.Config) *generation.Upstream {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	genwayv1.RegisterGenerationServer(server, p)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	config.Target = listener.Addr().String()
	u, err := generation.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = u.Close()
		server.Stop()
		<-done
	})
	return u
}

func TestCalls(t *testing.T) {
	p := &provider{}
	u := dial(t, p)
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer callers"))
	resp, err := u.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
	if err != nil || resp.GetModel() != "m" {
		t.Errorf("%v, %v", resp, err)
	}
	if got := p.md.Get("authorization"); len(got) != 1 || got[0] != "Bearer ours" {
		t.Errorf("the provider sees %v", got)
	}
	events := 0
	count := func(*genwayv1.StreamGenerateTextResponse) error { events++; return nil }
	if err := u.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}), count); err != nil || events != 2 {
		t.Errorf("%d events, %v", events, err)
	}
}

func TestFailures(t *testing.T) {
	limited, err := status.New(codes.ResourceExhausted, "x").WithDetails(fault.New(fault.QuotaExhausted, "SPENT", "spent").Detail())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err    error
		kind   fault.Kind
		reason string
	}{
		"a fault of the contract": {limited.Err(), fault.QuotaExhausted, "SPENT"},
		"a status alone":          {status.Error(codes.InvalidArgument, "secret"), fault.InvalidRequest, "UPSTREAM_REFUSED"},
		"our credentials":         {status.Error(codes.Unauthenticated, "secret"), fault.BadUpstream, "UPSTREAM_CREDENTIALS"},
		"unknown model":           {status.Error(codes.NotFound, "secret"), fault.NotFound, fault.ReasonModelNotFound},
		"busy":                    {status.Error(codes.ResourceExhausted, "secret"), fault.RateLimited, "UPSTREAM_BUSY"},
		"too slow":                {status.Error(codes.DeadlineExceeded, "secret"), fault.Timeout, "DEADLINE_EXCEEDED"},
		"down":                    {status.Error(codes.Unavailable, "secret"), fault.Unavailable, "UPSTREAM_UNREACHABLE"},
		"no such operation":       {status.Error(codes.Unimplemented, "secret"), fault.NotSupported, fault.ReasonNotSupported},
		"anything else":           {errors.New("secret"), fault.BadUpstream, "UPSTREAM_FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			u := dial(t, &provider{err: c.err})
			_, unary := u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}))
			streamed := u.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
			for _, err := range []error{unary, streamed} {
				f := fault.From(err)
				if f.Kind != c.kind || f.Reason != c.reason || f.Message == "secret" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestCutStream(t *testing.T) {
	u := dial(t, &provider{cut: true})
	err := u.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
	if fault.From(err).Reason != fault.ReasonStreamCut {
		t.Error(err)
	}
}

func TestGoneCaller(t *testing.T) {
	u := dial(t, &provider{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{})); fault.From(err).Kind != fault.Cancelled {
		t.Error(err)
	}
}

func (p *provider) ListModels(ctx context.Context, req *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, error) {
	p.md, _ = metadata.FromIncomingContext(ctx)
	name := "first"
	if req.GetPageToken() != "" {
		name = "after " + req.GetPageToken()
	}
	return &genwayv1.ListModelsResponse{Models: []*genwayv1.Model{{Name: name}}, NextPageToken: "t"}, p.err
}

// The server is asked for its list with our key.
func TestListModels(t *testing.T) {
	p := &provider{}
	u := dial(t, p)
	for token, want := range map[string]string{"": "first", "t": "after t"} {
		page, err := u.ListModels(t.Context(), token)
		if err != nil || page.GetModels()[0].GetName() != want || page.GetNextPageToken() != "t" || p.md.Get("authorization")[0] != "Bearer ours" {
			t.Errorf("%v, %v, %v", page, err, p.md)
		}
	}
	u.SetAPIKey("another")
	if _, err := u.ListModels(t.Context(), ""); err != nil || p.md.Get("authorization")[0] != "Bearer another" {
		t.Errorf("%v, %v", err, p.md)
	}
	p.err = status.Error(codes.Unauthenticated, "no")
	if page, err := u.ListModels(t.Context(), ""); fault.From(err) == nil || page != nil {
		t.Errorf("%v, %v", page, err)
	}
}

// disorderly is a server that breaks the contract.
type disorderly struct {
	genwayv1.UnimplementedGenerationServer
}

func (disorderly) GenerateText(context.Context, *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	return &genwayv1.GenerateTextResponse{Id: "x"}, nil
}

func (disorderly) StreamGenerateText(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	for _, ev := range []proto.Message{&genwayv1.TextStarted{}, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "lost"}}, &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{}}}} {
		if err := stream.Send(codec.Event(ev)); err != nil {
			return err
		}
	}
	return nil
}

func (disorderly) GenerateImage(context.Context, *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	return &genwayv1.GenerateImageResponse{Images: []*genwayv1.GeneratedImage{{}}}, nil
}

func (disorderly) StreamGenerateImage(_ *genwayv1.GenerateImageRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateImageResponse]) error {
	return stream.Send(images.Event(&genwayv1.ImageCompleted{Count: 1}))
}

// Answers that break the contract are the upstream's failure, and nothing of the broken place is sent.
func TestAnswersThatBreakTheContract(t *testing.T) {
	u := dialWith(t, disorderly{}, generation.Config{})
	var sent []proto.Message
	_, text := u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}))
	stream := u.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}), func(ev *genwayv1.StreamGenerateTextResponse) error {
		sent = append(sent, ev)
		return nil
	})
	_, image := u.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{})
	drawn := u.StreamGenerateImage(t.Context(), &genwayv1.GenerateImageRequest{}, func(ev *genwayv1.StreamGenerateImageResponse) error {
		sent = append(sent, ev)
		return nil
	})
	for name, err := range map[string]error{"text": text, "stream": stream, "image": image, "stream of images": drawn} {
		if f := fault.From(err); f.Kind != fault.BadUpstream || f.Reason != fault.ReasonMalformedAnswer {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(sent) != 1 {
		t.Errorf("sent %v", sent)
	}
}
