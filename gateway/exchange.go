package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"google.golang.org/protobuf/proto"
)

// exchange is all the edge knows of one request. It lives in the request's
// context: the runtime's marshalers get no context, so the hooks that do get one
// bind it to what is to be marshalled.
type exchange struct {
	endpoint *endpoint
	id       string
	start    time.Time
	w        *answerWriter

	// message is the decoded request body, handed over by the marshaler.
	message proto.Message
	// request is the same for text, with what the body says of delivery.
	request *codec.Request
	// streamedImages says that images are wanted as events.
	streamedImages bool
	losses         codec.Losses

	// fault is the failure the caller was told of.
	fault  *fault.Error
	stream *streamState
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
