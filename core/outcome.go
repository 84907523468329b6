package core

import (
	"context"
	"errors"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/telemetry/tracing"
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
	// deferred is set when the request came deferred: the edge knows that this core takes those.
	deferred bool
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
	// shed says that the call was refused for an overload: the gate has one line a second
	// for all of those.
	shed bool
	held *admission // nil until it is admitted

	// span is that of the call. admission is how long the admission took, settled what the
	// ledger has of the request. losses are the members that were lost.
	span      tracing.Span
	admission time.Duration
	admitted  time.Duration // from start
	settled   settlement
	losses    []string
	trace     string // the trace's identifier, once it was asked for
}

// settlement is what the ledger has of a request; no outcome before it is settled.
type settlement struct {
	outcome ledger.Outcome
	cost    int64 // in nano-dollars
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

// asking notes the model that the caller named, for the line of the call that ctx belongs to.
func asking(ctx context.Context, model string) {
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		o.asked = model
	}
}

// textRequest gives the text request that a message is, and notes whether it came deferred.
func textRequest(ctx context.Context, req *genwayv1.GenerateTextRequest) *deferred.Request {
	asked := deferred.New(req)
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		o.deferred = asked.Deferred()
	}
	return asked
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

// foreign reports whether an error is a gRPC status already: the transport's own,
// when sending to a caller who is gone.
func foreign(err error) bool {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return false
	}
	_, ok := status.FromError(err)
	return ok
}
