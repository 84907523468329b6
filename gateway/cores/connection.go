package cores

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
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

func (k *knowledge) takeDeferred() bool {
	last := k.last.Load()
	return last != nil && (*last)()
}

// TakesDeferredBodies reports whether the cores of all connections that are ready have announced
// that they take deferred bodies. It is a forecast: Deferred says what to do when it was wrong.
func (c *Conn) TakesDeferredBodies() bool { return c.known.takeDeferred() }

// connection is a picker of one core, with a forecast of what the core takes. The forecast may
// be of another core: gRPC may have replaced the transport since the picker was made.
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

// Pick returns the connection for a call, and learns from the call's answer what the core takes.
func (c *connection) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	result, err := c.Picker.Pick(info)
	d := deliveryOf(info.Ctx)
	if err != nil || d == nil || c.takesDeferred.Load() {
		return result, err
	}
	then := result.Done
	result.Done = func(info balancer.DoneInfo) {
		if t := d.transport.Load(); t != nil && slices.Contains(info.Trailer[transport.AcceptsKey], transport.DeferredBodies) {
			t.takesDeferred.Store(true)
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
	to := toOne{cc, &atomic.Pointer[single]{}}
	return singleBalancer{newOne(to, options), to.single}
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
type toOne struct {
	balancer.ClientConn

	single *atomic.Pointer[single]
}

// UpdateState has calls note the connection that they are sent on.
func (o toOne) UpdateState(state balancer.State) {
	if s := o.single.Load(); s != nil {
		s.note(state)
	}
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

// note has a Conn know the picker of a call.
func note(ctx context.Context, all *announcer) {
	if d := deliveryOf(ctx); d != nil && d.known.last.Load() != all {
		d.known.last.Store(all)
	}
}
