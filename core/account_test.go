package core_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// ends are the ways a request can end, by model, with the row each should leave.
var ends = map[string]ledger.Result{
	"ok":           {Outcome: ledger.OK, Usage: ledger.Usage{Input: 9, Output: 4, CacheRead: 3, CacheWrite: 2, CacheWrite1h: 1, Thinking: 2}},
	"error":        {Outcome: ledger.Failed, Kind: "rate_limited", Reason: "SLOW_DOWN"},
	"priced":       {Outcome: ledger.Failed, Kind: "bad_upstream", Reason: "HALF", Usage: ledger.Usage{Input: 9}},
	"panic":        {Outcome: ledger.Failed, Kind: "internal", Reason: fault.ReasonPanic},
	"disconnected": {Outcome: ledger.Cancelled, Kind: "cancelled", Reason: upstream.ReasonCancelled},
	"deadline":     {Outcome: ledger.Failed, Kind: "timeout", Reason: upstream.ReasonDeadline},
	"cut":          {Outcome: ledger.Failed, Kind: "bad_upstream", Reason: fault.ReasonStreamCut},
	"send-fails":   {Outcome: ledger.Cancelled, Kind: "cancelled", Reason: upstream.ReasonCancelled},
}

// ending ends as the model says.
type ending struct{ scripted }

func (e *ending) end(ctx context.Context, model string) error {
	record := call.Of(ctx)
	record.Route, record.Upstream, record.Calls = "*", "u", record.Calls+1
	switch model {
	case "error":
		return fault.New(fault.RateLimited, "SLOW_DOWN", "slow down")
	case "priced":
		f := fault.New(fault.BadUpstream, "HALF", "half an answer")
		f.Usage = &genwayv1.Usage{InputTokens: 9}
		return f
	case "panic":
		panic("a bug")
	case "disconnected", "deadline":
		<-ctx.Done()
		return upstream.Interrupted(ctx)
	}
	return nil
}

func used() *genwayv1.Usage {
	return &genwayv1.Usage{InputTokens: 9, OutputTokens: 4, CacheReadInputTokens: proto.Int64(3), CacheWriteInputTokens: proto.Int64(2),
		CacheWrites: []*genwayv1.CacheWrite{{Ttl: "1h", Tokens: 1}}, ThinkingTokens: proto.Int64(2)}
}

func (e *ending) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	if err := e.end(ctx, req.GetModel()); err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{Usage: used()}, nil
}

func (e *ending) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	started := &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Started{Started: &genwayv1.TextStarted{}}}
	if err := send(started); err != nil {
		return err
	}
	if err := e.end(ctx, req.GetModel()); err != nil || req.GetModel() == "cut" {
		return err
	}
	return send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Completed{Completed: &genwayv1.TextCompleted{Usage: used()}}})
}

// sink is a caller's stream.
type sink struct {
	grpc.ServerStream
	ctx context.Context
	err error // of each send
}

func (s *sink) Context() context.Context     { return s.ctx }
func (s *sink) SetHeader(metadata.MD) error  { return nil }
func (s *sink) SendMsg(any) error            { return s.err }
func (s *sink) SendHeader(metadata.MD) error { return nil }

// makeCall makes one request, which ends as the model says, and returns its error.
func makeCall(i core.Interceptors, service *core.Service, id, model string, stream bool) error {
	md := metadata.Pairs("authorization", "Bearer internal", core.RequestIDKey, id)
	ctx, cancel := context.WithCancel(metadata.NewIncomingContext(context.Background(), md))
	defer cancel()
	switch model {
	case "disconnected":
		time.AfterFunc(time.Millisecond, cancel)
	case "deadline":
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Millisecond)
		defer stop()
	}
	req := request()
	req.Model = model
	if !stream {
		_, err := i.Unary(ctx, req, &grpc.UnaryServerInfo{FullMethod: genwayv1.Generation_GenerateText_FullMethodName}, func(ctx context.Context, req any) (any, error) {
			return service.GenerateText(ctx, req.(*genwayv1.GenerateTextRequest))
		})
		return err
	}
	to := &sink{ctx: ctx}
	if model == "send-fails" {
		to.err = status.Error(codes.Canceled, "the transport is closing")
	}
	return i.Stream(service, to, &grpc.StreamServerInfo{FullMethod: genwayv1.Generation_StreamGenerateText_FullMethodName}, func(_ any, s grpc.ServerStream) error {
		return service.StreamGenerateText(req, &grpc.GenericServerStream[genwayv1.GenerateTextRequest, genwayv1.StreamGenerateTextResponse]{ServerStream: s})
	})
}

// Requests that end in whichever ways at once leave one row each, with the right
// outcome and usage.
func TestEveryRequestIsOneRow(t *testing.T) {
	names := make([]string, 0, len(ends))
	for name := range ends {
		names = append(names, name)
	}
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		models := rapid.SliceOfN(rapid.SampledFrom(names), 1, 30).Draw(t, "models")
		streams := rapid.SliceOfN(rapid.Bool(), len(models), len(models)).Draw(t, "streams")
		db, err := store.Open(context.Background(), store.Config{Location: filepath.Join(dir, "ledger"), RelaxLedger: true})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		recorder, err := ledger.Start(context.Background(), ledger.Config{Store: db.Ledger(), Window: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		service, err := core.New(core.Config{Upstream: &ending{}, Ledger: recorder})
		if err != nil {
			t.Fatal(err)
		}
		interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: fixedKeys{}}, Logger: slog.New(slog.DiscardHandler)}
		want := map[string]ledger.Result{}
		var wait sync.WaitGroup
		for n, model := range models {
			id := fmt.Sprintf("%d-%d", runs, n)
			stream := streams[n] || model == "cut" || model == "send-fails"
			want[id] = ends[model]
			wait.Go(func() { _ = makeCall(interceptors, service, id, model, stream) })
		}
		wait.Wait()
		if err := recorder.Close(); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for e, err := range db.Ledger().Entries(context.Background(), time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			end, ours := want[e.ID]
			if !ours {
				continue // an earlier run's
			}
			rows++
			if e.Outcome != end.Outcome || e.Kind != end.Kind || e.Reason != end.Reason || e.Usage != end.Usage {
				t.Errorf("%s of %s: %+v, want %+v", e.ID, e.Request.Model, e.Result, end)
			}
			if e.KeyID != "key_internal" || e.Owner != "team" || e.Protocol != "grpc" || e.Upstream != "u" && e.Request.Model != "send-fails" || (e.FirstEvent > 0) != (e.Method == "StreamGenerateText") {
				t.Errorf("%+v", e)
			}
		}
		if rows != len(want) {
			t.Errorf("%d rows of %d requests", rows, len(want))
		}
	})
}
