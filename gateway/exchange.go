package gateway

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/protocol/spell"
	"github.com/genway/genway/telemetry/tracing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// exchange is all the edge knows of one request. The request's context carries it. The
// runtime's marshalers get no context, so the hooks that do get one bind the exchange to
// the message that is to be marshalled.
type exchange struct {
	endpoint *endpoint
	id       string
	start    time.Time
	w        answerWriter
	// clientID is the caller's identifier of the request; empty for none. key is the
	// identifier of its key, which the core sends with the answer.
	clientID, key string
	// keyHeader is the header that the caller's key came in; empty for the URL's query.
	keyHeader string
	// authorization is the caller's key in the form that the core takes, and client the
	// caller's address.
	authorization string
	client        string
	// certificate has the names of the caller's TLS certificate; empty without one.
	certificate []string

	// message is the decoded request body, handed over by the marshaler.
	message proto.Message
	// model is that of the path; empty where the body names the model.
	model string
	// request is the same for text, with the members of the body that say how to deliver
	// the answer.
	request *codec.Request
	// streamed says that a member of the body asks for events.
	streamed bool
	losses   codec.Losses
	named    []string // of them, in the header

	// body is the request's body. speller gives the names that members have in it, and is
	// made when the first member is to be named.
	body    []byte
	speller *spell.Speller

	// claim is the memory that the request's body takes.
	claim claim
	// memory holds the answer.
	memory arena.Arena
	// lent holds the body where the connection to the core reads it as well; nil where the body is the
	// collector's.
	lent *arena.Body

	// priority is that of the caller's key, as far as the edge knows it. refused says that
	// the edge refused the request because of an overload.
	priority overload.Priority
	refused  bool

	// span is that of the request. record has what its log line and metrics need.
	span   tracing.Span
	record requestRecord

	// fault is the failure that was reported to the caller.
	fault  *fault.Error
	stream *streamState
}

// modelOf gives the model of an answer, or the one that the caller asked for if the answer has none.
// Cores need not name it, and protocols require it.
func (x *exchange) modelOf(answered string) string {
	asked := x.model
	if x.request != nil {
		asked = cmp.Or(asked, x.request.GetModel())
	}
	return cmp.Or(answered, asked)
}

// whole gives the request with its conversation if the answer may repeat parts of it.
func (x *exchange) whole() *codec.Request {
	repeater, ok := x.endpoint.marshaler.text.(codec.Repeater)
	if x.request == nil || !ok || !deferred.Is(x.request.GenerateTextRequest) || !repeater.Repeats(x.request.GetWire().GetJson()) {
		return x.request
	}
	// A body that cannot be decoded has no answer to encode.
	if whole, err := deferred.New(x.request.GenerateTextRequest).Whole(); err == nil {
		req := *x.request
		req.GenerateTextRequest, req.Statistics = whole, nil
		x.request = &req
	}
	return x.request
}

// outgoing gives a context whose calls carry the caller's key, address and identifiers to
// the core, as metadata.
func (x *exchange) outgoing(ctx context.Context) context.Context {
	values := [...]string{x.authorization, x.endpoint.protocol.Name, x.id, x.client, x.clientID, ""}
	md := metadata.MD{
		"authorization": values[0:1:1], "genway-protocol": values[1:2:2], "x-request-id": values[2:3:3], addressKey: values[3:4:4],
	}
	if x.priority == overload.Batch {
		md[priorityKey] = []string{overload.Batch.String()}
	}
	if x.clientID != "" {
		md[clientIDKey] = values[4:5:5]
	}
	x.span.Headers(func(name, value string) {
		if name == tracing.ParentKey { // the only one that nearly all calls have
			values[5] = value
			md[name] = values[5:6:6]
			return
		}
		md[name] = []string{value}
	})
	if len(x.certificate) > 0 {
		md[certificateKey] = x.certificate
	}
	if x.lent != nil {
		ctx = arena.WithBody(ctx, x.lent)
	}
	return metadata.NewOutgoingContext(arena.With(ctx, &x.memory), md)
}

type exchangeKey struct{}

func withExchange(r *http.Request, x *exchange) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
}

// exchangeOf gives the exchange a context belongs to.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// bound is a message for the marshaler, with the exchange that it answers.
type bound struct {
	x       *exchange
	message proto.Message
}
