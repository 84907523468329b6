package cores

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/genway/genway/internal/target"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"
)

// schemeOfAll is the scheme under which gRPC knows the set of all targets.
const schemeOfAll = "genway-cores"

const (
	// lookUpEvery is the period in which names are looked up again, plus up to a tenth of
	// jitter, so that a new core is known well within 30 s.
	lookUpEvery = 5 * time.Second
	// lookUpAgain is the least time between two lookups of a name, and the period while
	// the name has no address yet.
	lookUpAgain = time.Second
	// lookUpTimeout bounds a lookup.
	lookUpTimeout = 5 * time.Second
)

// builder makes the gRPC resolver that merges the addresses of all targets.
type builder struct {
	targets []target.Target
	pool    *pool
	// lookup returns the function that finds the addresses of a target's name.
	lookup func(target.Target) func(context.Context) ([]string, error)
}

// Scheme is schemeOfAll.
func (builder) Scheme() string { return schemeOfAll }

// Build starts to look up the names among the targets, until the resolver is closed.
func (b builder) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	ctx, cancel := context.WithCancel(context.Background())
	m := &merged{cc: cc, pool: b.pool, known: make([][]string, len(b.targets)), failed: make([]string, len(b.targets)), targets: b.targets, cancel: cancel}
	m.mu.Lock() // the first lookups wait until all is there
	defer m.mu.Unlock()
	for i, t := range b.targets {
		if addresses := t.Static(); addresses != nil {
			m.known[i] = addresses
			continue
		}
		wake := make(chan struct{}, 1)
		m.wakes = append(m.wakes, wake)
		look := b.lookup(t)
		m.running.Go(func() { m.follow(ctx, i, look, wake) })
	}
	if slices.ContainsFunc(m.known, func(a []string) bool { return a != nil }) {
		m.push()
	}
	return m, nil
}

// merged is a gRPC resolver over several targets. It keeps the last known addresses of a name
// while its DNS server fails or has none.
type merged struct {
	cc      resolver.ClientConn
	pool    *pool
	targets []target.Target
	wakes   []chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	known  [][]string // of each target
	failed []string   // why each target's last lookup failed
}

// follow looks a name up again and again.
func (m *merged) follow(ctx context.Context, i int, look func(context.Context) ([]string, error), wake <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		addresses, err := look(ctx)
		if ctx.Err() != nil {
			return
		}
		known := m.set(i, addresses, err)
		timer.Reset(lookUpAgain)
		if !known {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(lookUpEvery - lookUpAgain + rand.N(lookUpEvery/10)) //nolint:gosec // jitter is no secret
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-wake:
		}
		timer.Reset(0)
	}
}

// lookup finds the addresses of a target's name by DNS, or by what else the system has.
func lookup(t target.Target) func(context.Context) ([]string, error) {
	dns := net.DefaultResolver
	if t.Authority != "" {
		dns = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, t.Authority)
		}}
	}
	return func(ctx context.Context) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
		defer cancel()
		hosts, err := dns.LookupHost(ctx, t.Host)
		if e, ok := errors.AsType[*net.DNSError](err); ok && t.Authority != "" {
			e.Server = t.Authority // net has the system's, which was not asked
		}
		for i, host := range hosts {
			hosts[i] = net.JoinHostPort(host, t.Port)
		}
		if t.Each {
			slices.Sort(hosts) // so that another order is no change
		}
		return hosts, err
	}
}

// set keeps what a lookup has found, and reports whether the target has an address.
func (m *merged) set(i int, addresses []string, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	if reason != m.failed[i] && reason != "" {
		m.pool.log.Warn("the name of a core was not resolved", "core", m.targets[i].String(), "cause", reason)
	}
	m.failed[i] = reason
	switch {
	case len(addresses) > 0 && !slices.Equal(addresses, m.known[i]):
		m.known[i] = addresses
		m.push()
	case err != nil:
		if !slices.ContainsFunc(m.known, func(a []string) bool { return a != nil }) {
			m.cc.ReportError(err)
		}
	}
	return m.known[i] != nil
}

// push reports all endpoints to gRPC. An endpoint is a core: it may have several addresses, of
// which one is used.
func (m *merged) push() {
	state := resolver.State{Attributes: attributes.New(poolKey{}, m.pool)}
	for i, addresses := range m.known {
		var all []resolver.Address
		for _, address := range addresses {
			all = append(all, resolver.Address{Addr: address, ServerName: m.targets[i].AuthorityName()})
		}
		if !m.targets[i].Each && len(all) > 0 {
			state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: all})
			continue
		}
		for _, address := range all {
			state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{address}})
		}
	}
	_ = m.cc.UpdateState(state) // gRPC reports what it does not take to the calls
}

// ResolveNow has all names looked up soon. gRPC calls it when a connection is lost.
func (m *merged) ResolveNow(resolver.ResolveNowOptions) {
	for _, wake := range m.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// Close ends all lookups and waits for them.
func (m *merged) Close() {
	m.cancel()
	m.running.Wait()
}
