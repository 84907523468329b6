package cores

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/genway/genway/internal/target"
)

// heard is gRPC's side of a resolver: it keeps the last state and the last error.
type heard struct {
	resolver.ClientConn
	updates atomic.Int64
	state   atomic.Pointer[resolver.State]
	err     atomic.Pointer[error]
}

func (h *heard) UpdateState(s resolver.State) error {
	h.updates.Add(1)
	h.state.Store(&s)
	return nil
}
func (h *heard) ReportError(err error) { h.err.Store(&err) }

// known returns the addresses of each endpoint, joined by a plus.
func (h *heard) known() []string {
	state := h.state.Load()
	if state == nil {
		return nil
	}
	var all []string
	for _, endpoint := range state.Endpoints {
		var one []string
		for _, address := range endpoint.Addresses {
			one = append(one, address.Addr+"="+address.ServerName)
		}
		all = append(all, strings.Join(one, "+"))
	}
	return all
}

// names is a DNS server.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	err     error
	asked   int
}

func (n *names) lookup(t target.Target) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked++
		return n.answers[t.Host], n.err
	}
}

// set changes what the server knows.
func (n *names) set(answers map[string][]string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers, n.err = answers, err
}

// times is how often it was asked.
func (n *names) times() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

func resolve(t *testing.T, n *names, targets ...string) (resolver.Resolver, *heard) {
	t.Helper()
	parsed, err := target.ParseAll(targets)
	if err != nil {
		t.Fatal(err)
	}
	cc := &heard{}
	r, err := builder{parsed, newPool(slog.New(slog.DiscardHandler)), n.lookup}.Build(resolver.Target{}, cc, resolver.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, cc
}

func holds(t *testing.T, cc *heard, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := cc.known(); !slices.Equal(got, want) {
		t.Helper()
		t.Errorf("known are %q, want %q", got, want)
	}
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's own clock
	synctest.Wait()
}

// Addresses and sockets are known at once; a name adds one core, or with dns:/// one for each
// of its addresses.
func TestTargetsAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{answers: map[string][]string{"one": {"1:1", "2:1"}, "each": {"3:2", "4:2"}}}
		_, cc := resolve(t, n, "10.0.0.1:9", "unix:/s", "one:1", "dns:///each:2", "[::1]:9")
		holds(t, cc, "10.0.0.1:9=10.0.0.1:9", "unix:/s=localhost", "1:1=one:1+2:1=one:1", "3:2=each:2", "4:2=each:2", "[::1]:9=[::1]:9")
	})
}

// A core that joins or leaves is known within 6 s; an answer that has not changed is no news.
func TestNamesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{answers: map[string][]string{"each": {"1:1"}}}
		_, cc := resolve(t, n, "dns:///each:1")
		holds(t, cc, "1:1=each:1")
		n.set(map[string][]string{"each": {"1:1", "2:1"}}, nil)
		pass(6 * time.Second)
		holds(t, cc, "1:1=each:1", "2:1=each:1")
		pass(time.Minute)
		if got := cc.updates.Load(); got != 2 {
			t.Errorf("%d updates", got)
		}
		n.set(map[string][]string{"each": {"2:1"}}, nil)
		pass(6 * time.Second)
		holds(t, cc, "2:1=each:1")
	})
}

// While DNS fails or forgets the name, the addresses that were known stay.
func TestKnownAddressesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{answers: map[string][]string{"each": {"1:1"}}}
		_, cc := resolve(t, n, "dns:///each:1")
		holds(t, cc, "1:1=each:1")
		n.set(nil, errors.New("no such host"))
		pass(time.Hour)
		holds(t, cc, "1:1=each:1")
		n.set(nil, nil)
		pass(time.Minute)
		holds(t, cc, "1:1=each:1")
		n.set(map[string][]string{"each": {"2:1"}}, nil)
		pass(6 * time.Second)
		holds(t, cc, "2:1=each:1")
		if cc.err.Load() != nil {
			t.Error("an error was reported while addresses were known")
		}
	})
}

// A name that is not there yet is looked up every second, and calls get the reason why they fail.
func TestNamesThatAreNotThereYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{err: errors.New("no such host")}
		_, cc := resolve(t, n, "dns:///each:1")
		pass(10*time.Minute + time.Millisecond)
		if err := cc.err.Load(); err == nil || (*err).Error() != "no such host" || n.times() < 599 || n.times() > 602 {
			t.Errorf("asked %d times in ten minutes, reported %v", n.times(), err)
		}
		n.set(map[string][]string{"each": {"1:1"}}, nil)
		pass(time.Second)
		holds(t, cc, "1:1=each:1")
	})
}

// A lost connection has the name looked up at once, but not more than once a second.
func TestALostConnectionAsksDNS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{answers: map[string][]string{"each": {"1:1"}}}
		r, cc := resolve(t, n, "dns:///each:1")
		pass(2 * time.Second)
		before := n.times()
		for range 100 {
			r.ResolveNow(resolver.ResolveNowOptions{})
			pass(10 * time.Millisecond)
		}
		if got := n.times() - before; got < 1 || got > 2 {
			t.Errorf("asked %d times within a second", got)
		}
		n.set(map[string][]string{"each": {"2:1"}}, nil)
		r.ResolveNow(resolver.ResolveNowOptions{})
		pass(time.Second)
		holds(t, cc, "2:1=each:1")
	})
}

// A core that says that it serves no more has the names looked up while its connection is still there.
func TestACoreThatEndsAsksDNS(t *testing.T) {
	c := serve(t)
	asked := make(chan struct{}, 1)
	by := manual.NewBuilderWithScheme(schemeOfAll)
	by.ResolveNowCallback = func(resolver.ResolveNowOptions) {
		select {
		case asked <- struct{}{}:
		default:
		}
	}
	by.InitialState(resolver.State{
		Attributes: attributes.New(poolKey{}, newPool(slog.New(slog.DiscardHandler))),
		Endpoints:  []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: c.target, ServerName: "localhost"}}}},
	})
	conn, err := grpc.NewClient(schemeOfAll+":///cores", grpc.WithResolvers(by), grpc.WithDefaultServiceConfig(serviceConfig()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := genwayv1.NewGenerationClient(conn).GenerateText(t.Context(), &genwayv1.GenerateTextRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	default:
	}
	c.serves(false)
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("nothing was looked up")
	}
}
