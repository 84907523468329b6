package cores

import (
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// policy is the name of the balancer in a service configuration.
const policy = "genway_cores"

func init() { //nolint:gochecknoinits // gRPC finds balancers only by name, registered at init
	balancer.Register(policyBuilder{})
}

type policyBuilder struct{}

func (policyBuilder) Name() string { return policy }

func (policyBuilder) Build(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	b := &minBusy{ClientConn: cc, cores: resolver.NewEndpointMap[*core](), states: resolver.NewEndpointMap[connectivity.State]()}
	b.Balancer = endpointsharding.NewBalancer(b, options, newOne, endpointsharding.Options{})
	return b
}

// minBusy is a gRPC balancer that keeps a connection to each core and sends a call to the
// ready core with the fewest calls in flight. That is gRPC's least_request policy (gRFC A48)
// with all cores as choices, and with passive ejection, which gRPC has only for xDS (gRFC
// A50). A core that stops answering gets few calls even before that is detected, since its
// calls stay in flight.
//
// A core is ready when it is connected and its health service says that it serves.
type minBusy struct {
	balancer.Balancer   // keeps the connections, and calls UpdateState
	balancer.ClientConn // gRPC's side

	mu     sync.Mutex
	pool   *pool
	cores  *resolver.EndpointMap[*core]
	states *resolver.EndpointMap[connectivity.State] // as logged last
}

// UpdateClientConnState takes the endpoints that the resolver has found.
func (b *minBusy) UpdateClientConnState(state balancer.ClientConnState) error {
	b.mu.Lock()
	b.pool, _ = state.ResolverState.Attributes.Value(poolKey{}).(*pool)
	b.mu.Unlock()
	return b.Balancer.UpdateClientConnState(balancer.ClientConnState{ResolverState: pickfirst.EnableHealthListener(state.ResolverState)})
}

// ResolverError reports an error of the connections.
func (b *minBusy) ResolverError(err error) { b.Balancer.ResolverError(err) }

// UpdateState makes a picker of the cores that are ready now.
func (b *minBusy) UpdateState(state balancer.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	children := endpointsharding.ChildStatesFromPicker(state.Picker)
	cores := resolver.NewEndpointMap[*core]()
	states := resolver.NewEndpointMap[connectivity.State]()
	next := &picker{}
	next.all = next.takeDeferred
	for _, child := range children {
		known, ok := b.cores.Get(child.Endpoint)
		if !ok {
			known = &core{pool: b.pool, address: child.Endpoint.Addresses[0].Addr}
		}
		cores.Set(child.Endpoint, known)
		before, _ := b.states.Get(child.Endpoint)
		states.Set(child.Endpoint, b.logged(before, child, known))
		if child.State.ConnectivityState == connectivity.Ready {
			next.ready = append(next.ready, choice{child.State.Picker, known})
		}
	}
	b.cores, b.states = cores, states
	if len(next.ready) > 0 {
		state = balancer.State{ConnectivityState: connectivity.Ready, Picker: next}
	}
	b.ClientConn.UpdateState(state)
}

// logged logs that a core is lost or found again, and returns the state to compare the next one
// with. What is between is not logged: connections are replaced all the time. A core that ends says that it
// does not serve while its connection is still there: the names are looked up then, since the core in its
// place may be in DNS by now.
func (b *minBusy) logged(before connectivity.State, child endpointsharding.ChildState, known *core) connectivity.State {
	now := child.State.ConnectivityState
	switch {
	case now == before || now != connectivity.Ready && now != connectivity.TransientFailure:
		return before
	case now == connectivity.Ready:
		known.reset()
		b.pool.log.Info("core is ready", "core", known.address)
	default:
		_, err := child.State.Picker.Pick(balancer.PickInfo{})
		b.pool.log.Warn("core is not ready", "core", known.address, "cause", err)
		b.ResolveNow(resolver.ResolveNowOptions{})
	}
	return now
}
