package core

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// outcome is what is told of a call in its one line of the log. It never holds a
// prompt, an answer or a key.
type outcome struct {
	id string
	// clientID is what the caller calls the request; empty for nothing.
	clientID string
	method   string
	start    time.Time
	caller   auth.Caller
	asked    string // the model
	model    string // the one that answered
	usage    *genwayv1.Usage
	drawn    drawn
	// complete is set when the whole answer is there: in answer if it is unary, else in said,
	// as far as what it took can be seen in it.
	complete bool
	answer   proto.Message
	said     said
	// source is set where usage is not the upstream's, which told something else then.
	source ledger.UsageSource
	told   *genwayv1.Usage
	first  time.Duration // from start to a stream's first event; 0 for none
	served upstream.Note
	held   *admission // nil until it is admitted
}

func newOutcome(id, method string) *outcome {
	return &outcome{id: id, method: method, start: time.Now()}
}

type outcomeKey struct{}

func withOutcome(ctx context.Context, o *outcome) context.Context {
	return context.WithValue(ctx, outcomeKey{}, o)
}

// outcomeOf gives the outcome of the call a context belongs to; never nil.
func outcomeOf(ctx context.Context) *outcome {
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		return o
	}
	return newOutcome("", "")
}

// answered notes the model that answered and what it cost, as far as known.
func (o *outcome) answered(model string, usage *genwayv1.Usage) {
	if model != "" {
		o.model = model
	}
	if usage != nil {
		o.usage = usage
	}
}

// begun notes that a stream's first event is about to be sent.
func (o *outcome) begun() {
	if o.first == 0 {
		o.first = time.Since(o.start)
	}
}

func (o *outcome) log(ctx context.Context, log *slog.Logger, err error) {
	f := fault.From(err)
	if f != nil && o.usage == nil {
		o.usage = f.Usage
	}
	level, grave := slog.LevelInfo, f != nil && f.HTTPStatus() >= 500
	if grave {
		level = slog.LevelWarn
	}
	handler := log.Handler()
	if !handler.Enabled(ctx, level) {
		return
	}
	// Made by hand: a Logger would look for the line of the program first.
	now := time.Now()
	line := slog.NewRecord(now, level, "call", 0)
	line.AddAttrs(
		slog.String("request_id", o.id),
		slog.String("method", path.Base(o.method)),
		slog.String("protocol", protocolName(o.caller.Protocol)),
		slog.String("key", o.caller.KeyID),
		slog.String("asked_model", o.asked),
		slog.String("model", o.model),
		slog.String("route", o.served.Route),
		slog.String("upstream", o.served.Name),
		slog.Int64("attempts", o.served.Calls),
		slog.Float64("duration_seconds", float64(now.Sub(o.start).Microseconds())/1e6),
		slog.Int64("input_tokens", o.usage.GetInputTokens()),
		slog.Int64("output_tokens", o.usage.GetOutputTokens()),
		slog.Int64("cache_read_tokens", o.usage.GetCacheReadInputTokens()),
		slog.Int64("thinking_tokens", o.usage.GetThinkingTokens()),
	)
	if o.source != ledger.Told {
		line.AddAttrs(slog.String("usage_source", string(o.source)))
	}
	if o.source == ledger.Rejected {
		line.AddAttrs(slog.Int64("told_input_tokens", o.told.GetInputTokens()), slog.Int64("told_output_tokens", o.told.GetOutputTokens()))
	}
	if o.clientID != "" {
		line.AddAttrs(slog.String("client_request_id", o.clientID))
	}
	if f != nil {
		line.AddAttrs(slog.String("kind", fault.Name(f.Kind)), slog.String("reason", f.Reason))
	}
	if grave && f.Cause != nil {
		line.AddAttrs(slog.String("cause", f.Cause.Error()))
	}
	_ = handler.Handle(ctx, line)
}

// foreign reports whether an error is a gRPC status already: the transport's own,
// when sending to a caller who is gone.
func foreign(err error) bool {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return false
	}
	_, ok := status.FromError(err)
	return ok
}
