// Package generation is the upstream adapter for another server of the Generation
// contract: another Genway, or a provider written in any language.
//
// It must not import the gateway.
package generation

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Config says where the server is.
type Config struct {
	// Target is a gRPC target. Required.
	Target string
	// APIKey is a key of the group internal there; empty sends none.
	APIKey string
	// TLS encrypts the connection; nil does not.
	TLS *tls.Config
	// FirstByte is how long an answer may take to begin, Idle how long a stream may
	// make no progress. Defaults 10 minutes and 5 minutes.
	FirstByte, Idle time.Duration
	// MaxAnswerBytes bounds one message of an answer. Default 120 MiB.
	MaxAnswerBytes int64
	// NoTrace keeps the context of the trace from the server, which gets it otherwise
	// (traceparent, tracestate, baggage).
	NoTrace bool
	// Models is the listing. ListModels asks the upstream for its own.
	Models []*genwayv1.Model
}

// Upstream is an adapter.
type Upstream struct {
	config Config
	key    atomic.Pointer[string]
	client genwayv1.GenerationClient
	calls  inFlight
}

var _ upstream.Upstream = (*Upstream)(nil)

// alive detects that a connection is dead which neither side has closed. More frequent
// pings offend servers with gRPC's own defaults, which allow one in five minutes
// (grpc/proposal A8).
var alive = keepalive.ClientParameters{Time: 5*time.Minute + 10*time.Second, Timeout: 20 * time.Second}

// New makes an adapter. The connection is made when it is first needed.
func New(config Config) (*Upstream, error) {
	creds := insecure.NewCredentials()
	if config.TLS != nil {
		creds = credentials.NewTLS(config.TLS)
	}
	config.FirstByte = cmp.Or(config.FirstByte, defaultFirstByte)
	config.Idle = cmp.Or(config.Idle, defaultIdle)
	config.MaxAnswerBytes = cmp.Or(config.MaxAnswerBytes, defaultMaxAnswerBytes)
	conn, err := grpc.NewClient(config.Target, append(transport.DialOptions(),
		grpc.WithTransportCredentials(creds), grpc.WithKeepaliveParams(alive),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(config.MaxAnswerBytes))))...)
	if err != nil {
		return nil, fmt.Errorf("generation: target %q: %w", config.Target, err)
	}
	u := &Upstream{config: config, client: genwayv1.NewGenerationClient(conn), calls: inFlight{close: conn.Close}}
	u.SetAPIKey(config.APIKey)
	return u, nil
}

// SetAPIKey has calls that begin from now on use another key.
func (u *Upstream) SetAPIKey(key string) { u.key.Store(&key) }

// Close ends the connection as soon as no call is in flight. It does not wait for
// that.
func (u *Upstream) Close() error { return u.calls.shut() }

// Models returns the configured listing.
func (u *Upstream) Models() []*genwayv1.Model { return u.config.Models }

// defaultMaxAnswerBytes is a little less than an edge takes of its core.
const defaultMaxAnswerBytes = 120 << 20

// maxListBytes bounds a page of the server's list of models.
const maxListBytes = 8 << 20

// ListModels asks the server for a page of its list of models; it is discover.Lister's.
func (u *Upstream) ListModels(ctx context.Context, token string) (*genwayv1.ListModelsResponse, error) {
	u.calls.begin()
	defer u.calls.end()
	page, err := u.client.ListModels(u.outgoing(ctx), &genwayv1.ListModelsRequest{PageToken: token}, grpc.MaxCallRecvMsgSize(maxListBytes))
	if err != nil {
		return nil, fmt.Errorf("ListModels: %w", faultOf(ctx, err))
	}
	return page, nil
}

// URL shows what is called: the target, whatever the model.
func (u *Upstream) URL(string) string { return u.config.Target }

// outgoing returns the context of a call: our key there, and of the caller's request the
// context of its trace.
func (u *Upstream) outgoing(ctx context.Context) context.Context {
	md := metadata.MD{}
	if key := *u.key.Load(); key != "" {
		md.Set("authorization", "Bearer "+key)
	}
	if !u.config.NoTrace {
		call.Of(ctx).Carried().Headers(func(name, value string) { md[name] = []string{value} })
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// GenerateText makes one unary call.
func (u *Upstream) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	resp, err := unary(ctx, u, req, u.client.GenerateText)
	if err == nil {
		err = codec.CheckAnswer(resp, req.GetWire().GetProtocol())
	}
	if err == nil {
		err = codec.CheckCalls(resp)
	}
	return resp, err
}

// StreamGenerateText makes one streamed call.
func (u *Upstream) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	order, calls := codec.Sequence{Protocol: req.GetWire().GetProtocol()}, codec.Calls{}
	check := func(ev *genwayv1.StreamGenerateTextResponse) error {
		if err := order.Check(ev); err != nil {
			return err
		}
		return calls.Check(ev)
	}
	return streamed(ctx, u, req, u.client.StreamGenerateText, check, send, func(ev *genwayv1.StreamGenerateTextResponse) bool { return ev.GetCompleted() != nil })
}

// GenerateImage makes one call for all images.
func (u *Upstream) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	resp, err := unary(ctx, u, req, u.client.GenerateImage)
	if err == nil {
		err = images.CheckAnswer(resp)
	}
	return resp, err
}

// StreamGenerateImage makes one streamed call. A server of a version without it returns all
// images at once.
func (u *Upstream) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	err := streamed(ctx, u, req, u.client.StreamGenerateImage, new(images.Sequence).Check, send, func(ev *genwayv1.StreamGenerateImageResponse) bool { return ev.GetCompleted() != nil })
	if status.Code(errors.Unwrap(err)) != codes.Unimplemented {
		return err
	}
	resp, err := u.GenerateImage(ctx, req)
	if err != nil {
		return err
	}
	if req.GetPartialImages() > 0 {
		resp.Losses = append(resp.Losses, &genwayv1.Loss{Member: "partial_images", Reason: "the upstream of this model has no previews"})
	}
	return images.SendAll(resp, send)
}

// CountTokens makes one call.
func (u *Upstream) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	return unary(ctx, u, req, u.client.CountTokens)
}

// unary makes a call whose answer is one message: it has begun when it is there.
func unary[Q, A any](ctx context.Context, u *Upstream, req Q, rpc func(context.Context, Q, ...grpc.CallOption) (A, error)) (A, error) {
	record := call.Of(ctx)
	record.Calls++
	u.calls.begin()
	defer u.calls.end()
	ctx, _, done := u.withIdleTimeout(ctx)
	defer done()
	defer record.Await(time.Now())
	var server peer.Peer
	answer, err := rpc(u.outgoing(ctx), req, grpc.Peer(&server))
	record.Accepted = ctx.Err() != nil && server.Addr != nil
	return answer, faultOf(ctx, err)
}

// streamed makes a call whose answer is events, of which completed knows the last. It sends none that
// check refuses.
func streamed[Q, E any](ctx context.Context, u *Upstream, req *Q, rpc func(context.Context, *Q, ...grpc.CallOption) (grpc.ServerStreamingClient[E], error),
	check, send func(*E) error, completed func(*E) bool,
) error {
	record := call.Of(ctx)
	record.Calls++
	u.calls.begin()
	defer u.calls.end()
	ctx, progress, done := u.withIdleTimeout(ctx)
	defer done()
	since := time.Now()
	var server peer.Peer
	stream, err := rpc(u.outgoing(ctx), req, grpc.Peer(&server))
	record.Await(since)
	if err != nil {
		return faultOf(ctx, err)
	}
	begun, ended := false, false
	for {
		since = time.Now()
		ev, err := stream.Recv()
		record.Await(since)
		switch {
		case errors.Is(err, io.EOF) && ended:
			return nil
		case errors.Is(err, io.EOF):
			record.Accepted = true
			return fault.StreamCut()
		case err != nil:
			record.Accepted = ctx.Err() != nil && server.Addr != nil || begun && status.Code(err) == codes.Unavailable
			return faultOf(ctx, err)
		}
		begun = true
		progress()
		if err := check(ev); err != nil {
			return err
		}
		ended = ended || completed(ev)
		if err := send(ev); err != nil {
			return err
		}
	}
}
