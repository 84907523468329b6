package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway/spell"
	"github.com/genway/genway/internal/arena"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// exchange is all the edge knows of one request. It lives in the request's
// context: the runtime's marshalers get no context, so the hooks that do get one
// bind it to what is to be marshalled.
type exchange struct {
	endpoint *endpoint
	id       string
	start    time.Time
	w        answerWriter
	// clientID is what the caller calls the request; empty for nothing. key is the id of
	// its key, as the core tells it.
	clientID, key string
	// keyHeader is the header that the caller's key came in; empty for the URL's query.
	keyHeader string
	// authorization is the caller's key, as the core wants to see it, and client the
	// caller's address.
	authorization string
	client        string

	// message is the decoded request body, handed over by the marshaler.
	message proto.Message
	// request is the same for text, with what the body says of delivery.
	request *codec.Request
	// unread says that of the request only the head has been read.
	unread bool
	// streamed says that a member of the body asks for events.
	streamed bool
	losses   codec.Losses
	named    []string // of them, in the header

	// body is that of the request, and speller gives its members their names in it, once
	// there is something to name.
	body    []byte
	speller *spell.Speller

	// claim is the memory that the request's body takes.
	claim claim
	// memory is what the answer is in.
	memory arena.Arena

	// fault is the failure the caller was told of.
	fault  *fault.Error
	stream *streamState
}

// whole is the request with its conversation, if its answer may repeat parts of that.
func (x *exchange) whole() *codec.Request {
	repeater, ok := x.endpoint.marshaler.text.(codec.Repeater)
	if !x.unread || !ok || !repeater.Repeats(x.request.GetWire().GetJson()) {
		return x.request
	}
	x.unread = false
	// A body that cannot be decoded has no answer that would have to be encoded.
	if req, err := x.endpoint.marshaler.text.DecodeRequest(x.request.GetWire().GetJson()); err == nil {
		req.Model, req.Wire = x.request.GetModel(), x.request.GetWire()
		x.request = req
	}
	return x.request
}

// outgoing gives a context whose calls tell the core whose request this is.
func (x *exchange) outgoing(ctx context.Context) context.Context {
	values := [...]string{x.authorization, x.endpoint.name, x.id, x.client, x.clientID}
	md := metadata.MD{
		"authorization": values[0:1:1], "genway-protocol": values[1:2:2], "x-request-id": values[2:3:3], addressKey: values[3:4:4],
	}
	if x.clientID != "" {
		md[clientIDKey] = values[4:5:5]
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

// bound is a message on its way to the marshaler, with the exchange it answers.
type bound struct {
	x       *exchange
	message proto.Message
}
