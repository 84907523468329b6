package cores

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// Conn is a connection to the cores, and knows what they have announced.
type Conn struct {
	*grpc.ClientConn

	known *knowledge
}

// knowledge is what the calls of a Conn share with its balancer.
type knowledge struct {
	// last is the picker that chose the connection of the last call; nil before the first.
	last atomic.Pointer[announcer]
}

// announcer reports whether the cores of all connections of a picker take deferred bodies.
type announcer func() bool

// TakesDeferredBodies reports whether the cores of all connections that are ready have announced
// that they take deferred bodies. It is a forecast: Deferred says what to do when it was wrong.
func (c *Conn) TakesDeferredBodies() bool {
	last := c.known.last.Load()
	return last != nil && (*last)()
}

// Delivery is the way of one request with a deferred body.
type Delivery struct{ refused atomic.Bool }

type deliveryKey struct{}

// Deferred gives a context for the call of a request with a deferred body. The call fails,
// without having been sent, where its core has not announced that it takes such bodies.
func Deferred(ctx context.Context) (context.Context, *Delivery) {
	d := &Delivery{}
	return context.WithValue(ctx, deliveryKey{}, d), d
}

// NeedsWhole reports, of a call that failed, that it was not sent, and is to be sent whole.
func (d *Delivery) NeedsWhole() bool { return d.refused.Load() }

// errNotAnnounced ends a call with a deferred body whose core has not announced that it takes such.
var errNotAnnounced = status.Error(codes.Unavailable, "cores: the core has not announced that it takes deferred bodies")

// connection is one connection to a core, with what the core has announced on it.
type connection struct {
	balancer.Picker

	takesDeferred atomic.Bool
	all           announcer
}

func newConnection(picker balancer.Picker) *connection {
	c := &connection{Picker: picker}
	c.all = c.takesDeferred.Load
	return c
}

// Pick gives a call the connection, unless the call has a deferred body that its core may not take.
func (c *connection) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	if d, ok := info.Ctx.Value(deliveryKey{}).(*Delivery); ok && !c.takesDeferred.Load() {
		d.refused.Store(true)
		return balancer.PickResult{}, errNotAnnounced
	}
	result, err := c.Picker.Pick(info)
	if err != nil {
		return result, err
	}
	then := result.Done
	result.Done = func(info balancer.DoneInfo) {
		if slices.Contains(info.Trailer[transport.AcceptsKey], transport.DeferredBodies) {
			c.takesDeferred.Store(true)
		}
		if then != nil {
			then(info)
		}
	}
	return result, nil
}

// oneCore is the name of the balancer for a single core on a fixed address.
const oneCore = "genway_core"

func init() { //nolint:gochecknoinits // gRPC finds balancers only by name, registered at init
	balancer.Register(oneBuilder{})
}

type oneBuilder struct{}

func (oneBuilder) Name() string { return oneCore }

func (oneBuilder) Build(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	return newOne(toOne{cc}, options)
}

// newOne is gRPC's pick_first, each of whose connections is a connection of this package.
func newOne(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	return balancer.Get(pickfirst.Name).Build(one{cc}, options)
}

type one struct{ balancer.ClientConn }

// UpdateState begins a new connection whenever one is ready: nothing is known of its core yet.
func (o one) UpdateState(state balancer.State) {
	if state.ConnectivityState == connectivity.Ready {
		state.Picker = newConnection(state.Picker)
	}
	o.ClientConn.UpdateState(state)
}

// toOne is gRPC's side of a balancer for a single core.
type toOne struct{ balancer.ClientConn }

// UpdateState has calls note the connection that they are sent on.
func (o toOne) UpdateState(state balancer.State) {
	if c, ok := state.Picker.(*connection); ok {
		state.Picker = onePicker{c}
	}
	o.ClientConn.UpdateState(state)
}

type onePicker struct{ *connection }

// Pick picks the one connection.
func (p onePicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	note(info.Ctx, &p.all)
	return p.connection.Pick(info)
}

type knowledgeKey struct{}

// note has a Conn know the picker of a call.
func note(ctx context.Context, all *announcer) {
	if k, ok := ctx.Value(knowledgeKey{}).(*knowledge); ok && k.last.Load() != all {
		k.last.Store(all)
	}
}

// options have calls carry the knowledge to the balancer.
func (k *knowledge) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(context.WithValue(ctx, knowledgeKey{}, k), method, req, reply, conn, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return streamer(context.WithValue(ctx, knowledgeKey{}, k), desc, conn, method, opts...)
		}),
	}
}
