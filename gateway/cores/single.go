package cores

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/genway/genway/internal/target"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// single logs when the only core of an edge is lost, and when it is found again.
type single struct {
	log  *slog.Logger
	core string

	mu   sync.Mutex
	last connectivity.State // of those that are logged
}

// singleKey is the attribute of a resolver's state that has a single.
type singleKey struct{}

// options have gRPC's resolvers, which find the core, hand the single to the balancer.
func (s *single) options(of target.Target) []grpc.DialOption {
	options := []grpc.DialOption{grpc.WithResolvers(attributedResolver{resolver.Get("dns"), s}, attributedResolver{resolver.Get("unix"), s})}
	if of.Path != "" {
		options = append(options, grpc.WithAuthority(of.AuthorityName())) // which gRPC's own resolver of sockets sets
	}
	return options
}

// note logs a state unless the line before has it. Between calls a connection may be closed and made again,
// which is not logged.
func (s *single) note(state balancer.State) {
	now := state.ConnectivityState
	s.mu.Lock()
	defer s.mu.Unlock()
	if now == s.last || now != connectivity.Ready && now != connectivity.TransientFailure {
		return
	}
	s.last = now
	if now == connectivity.Ready {
		s.log.Info("core is ready", "core", s.core)
		return
	}
	_, err := state.Picker.Pick(balancer.PickInfo{})
	s.log.Warn("core is not ready", "core", s.core, "cause", err)
}

// attributedResolver is a resolver whose states have a single as an attribute.
type attributedResolver struct {
	resolver.Builder

	single *single
}

// Build is the builder's.
func (r attributedResolver) Build(target resolver.Target, cc resolver.ClientConn, options resolver.BuildOptions) (resolver.Resolver, error) {
	return r.Builder.Build(target, attributedConn{cc, r.single}, options)
}

// attributedConn adds the single to the states that a resolver reports.
type attributedConn struct {
	resolver.ClientConn

	single *single
}

// UpdateState adds the single.
func (c attributedConn) UpdateState(state resolver.State) error {
	state.Attributes = state.Attributes.WithValue(singleKey{}, c.single)
	return c.ClientConn.UpdateState(state)
}

// singleBalancer is the balancer of a single core, which takes the single from the resolver.
type singleBalancer struct {
	balancer.Balancer

	single *atomic.Pointer[single]
}

// UpdateClientConnState takes what the resolver has found.
func (b singleBalancer) UpdateClientConnState(state balancer.ClientConnState) error {
	if s, is := state.ResolverState.Attributes.Value(singleKey{}).(*single); is {
		b.single.Store(s)
	}
	return b.Balancer.UpdateClientConnState(state)
}
