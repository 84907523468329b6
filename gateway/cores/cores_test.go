package cores

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/target"
	"github.com/genway/genway/internal/transport"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) {
	balancer.Register(held{oneBuilder{}})
	balancer.Register(held{policyBuilder{}})
	goleak.VerifyTestMain(m)
}

// fakeCore is a core that answers by a function, and counts its calls.
type fakeCore struct {
	genwayv1.UnimplementedGenerationServer
	*health.Server
	server *grpc.Server
	target string
	calls  atomic.Int64
	answer atomic.Pointer[func(context.Context) error]
}

// serve starts a core on a unix socket.
func serve(t *testing.T) *fakeCore {
	t.Helper()
	return serveAt(t, "unix:"+filepath.Join(t.TempDir(), "core"))
}

func serveAt(t *testing.T, target string) *fakeCore {
	t.Helper()
	c := newCore()
	c.target = target
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", target[len("unix:"):])
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.server.Serve(listener) }()
	t.Cleanup(c.server.Stop)
	return c
}

// newCore makes a core that serves, and answers well.
func newCore(options ...grpc.ServerOption) *fakeCore {
	c := &fakeCore{Server: health.NewServer(), server: grpc.NewServer(options...)}
	c.answers(func(context.Context) error { return nil })
	c.serves(true)
	genwayv1.RegisterGenerationServer(c.server, c)
	grpc_health_v1.RegisterHealthServer(c.server, c.Server)
	return c
}

func (c *fakeCore) serves(yes bool) {
	state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if yes {
		state = grpc_health_v1.HealthCheckResponse_SERVING
	}
	c.SetServingStatus(genwayv1.Generation_ServiceDesc.ServiceName, state)
}

func (c *fakeCore) answers(by func(context.Context) error) { c.answer.Store(&by) }

func (c *fakeCore) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	c.calls.Add(1)
	if err := (*c.answer.Load())(ctx); err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{Model: req.GetModel()}, nil
}

func (c *fakeCore) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	c.calls.Add(1)
	if err := (*c.answer.Load())(stream.Context()); err != nil {
		return err
	}
	return stream.Send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Ping{Ping: &genwayv1.Ping{}}})
}

// refuse answers that the core has refused the call without reading it.
func refuse(how string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := grpc.SetTrailer(ctx, metadata.Pairs(transport.RefusedKey, how)); err != nil {
			return err
		}
		return status.Error(codes.Unavailable, "refused: "+how)
	}
}

func dial(t *testing.T, targets ...string) *Conn {
	t.Helper()
	parsed, err := target.ParseAll(targets)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := Dial(parsed, slog.New(slog.DiscardHandler), insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func ask(t *testing.T, conn *Conn) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer, err := genwayv1.NewGenerationClient(conn).GenerateText(ctx, &genwayv1.GenerateTextRequest{Model: "m"})
	if err == nil && answer.GetModel() != "m" {
		t.Errorf("an answer for %q", answer.GetModel())
	}
	return err
}

func askStream(t *testing.T, conn *Conn) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := genwayv1.NewGenerationClient(conn).StreamGenerateText(ctx, &genwayv1.GenerateTextRequest{Model: "m"})
	for err == nil {
		_, err = stream.Recv()
	}
	if err == io.EOF { //nolint:errorlint // gRPC gives it bare
		return nil
	}
	return err
}

// both asks until each of the cores was asked.
func both(t *testing.T, conn *Conn, cores ...*fakeCore) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if err := ask(t, conn); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, c := range cores {
			if c.calls.Load() > 0 {
				asked++
			}
		}
		if asked == len(cores) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d cores were asked", asked, len(cores))
		}
	}
}

func TestCallsAreSpread(t *testing.T) {
	cores := []*fakeCore{serve(t), serve(t), serve(t)}
	conn := dial(t, cores[0].target, cores[1].target, cores[2].target)
	both(t, conn, cores...)
	before := cores[0].calls.Load()
	for range 30 {
		if err := ask(t, conn); err != nil {
			t.Fatal(err)
		}
	}
	if n := cores[0].calls.Load() - before; n != 10 {
		t.Errorf("%d of 30 calls in a row came to one of three cores", n)
	}
}

// A core that holds its calls gets no more of them while another is free.
func TestABusyCoreGetsFewerCalls(t *testing.T) {
	busy, free := serve(t), serve(t)
	conn := dial(t, busy.target, free.target)
	both(t, conn, busy, free)
	release, held := make(chan struct{}), make(chan struct{}, 10)
	busy.answers(func(context.Context) error { held <- struct{}{}; <-release; return nil })
	done := make(chan error, 1)
	before := free.calls.Load()
	go func() { // one of two goes to the busy one, whose turn it is then or in a moment
		var err error
		for range 2 {
			err = ask(t, conn)
		}
		done <- err
	}()
	<-held
	count := busy.calls.Load()
	for range 50 {
		if err := ask(t, conn); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if busy.calls.Load() > count+1 || free.calls.Load() < before+50 {
		t.Errorf("the busy core got %d calls, the free one %d", busy.calls.Load()-count, free.calls.Load()-before)
	}
}

// A core whose health service says that it does not serve gets no calls, and gets them again.
func TestHealthIsWatched(t *testing.T) {
	one, other := serve(t), serve(t)
	conn := dial(t, one.target, other.target)
	both(t, conn, one, other)
	one.serves(false)
	idle := 0
	for deadline := time.Now().Add(time.Minute); idle < 20; {
		before := one.calls.Load()
		if err := ask(t, conn); err != nil {
			t.Fatal(err)
		}
		if idle++; one.calls.Load() > before {
			idle = 0
		}
		if time.Now().After(deadline) {
			t.Fatal("a core that does not serve gets calls")
		}
	}
	one.serves(true)
	one.calls.Store(0)
	both(t, conn, one)
}

// A core that is not there, or accepts connections and says nothing, is no core.
func TestCoresThatDoNotAnswer(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "silent")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", silent)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	good := serve(t)
	conn := dial(t, "unix:"+silent, "unix:"+filepath.Join(t.TempDir(), "none"), good.target)
	for range 50 {
		if err := ask(t, conn); err != nil {
			t.Fatal(err)
		}
	}
}

// A call that a core has refused without reading it goes to another core, once to each; the caller gets
// the refusal when all refuse.
func TestRefusedCallsGoElsewhere(t *testing.T) {
	for _, how := range []string{"unavailable", "overloaded"} {
		for name, ask := range map[string]func(*testing.T, *Conn) error{"unary": ask, "stream": askStream} {
			t.Run(how+" "+name, func(t *testing.T) {
				refusing, good := serve(t), serve(t)
				conn := dial(t, refusing.target, good.target)
				both(t, conn, refusing, good)
				refusing.answers(refuse(how))
				refused, taken := refusing.calls.Load(), good.calls.Load()
				for range 40 {
					if err := ask(t, conn); err != nil {
						t.Fatal(err)
					}
				}
				if n := good.calls.Load() - taken; n != 40 {
					t.Errorf("%d calls for 40", n)
				}
				n := refusing.calls.Load() - refused
				if n == 0 || (n > ejectAfter) != (how == "overloaded") {
					t.Errorf("the core that refuses was asked %d times of 40", n)
				}
				good.answers(refuse(how))
				refused, taken = refusing.calls.Load(), good.calls.Load()
				if err := ask(t, conn); status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "refused: "+how {
					t.Errorf("all refuse: %v", err)
				}
				if n := refusing.calls.Load() - refused + good.calls.Load() - taken; n != 2 {
					t.Errorf("%d calls at two cores that refuse", n)
				}
			})
		}
	}
}

// A call that may have begun is sent once, whatever its error.
func TestCallsThatMayHaveBegunAreSentOnce(t *testing.T) {
	for name, ask := range map[string]func(*testing.T, *Conn) error{"unary": ask, "stream": askStream} {
		for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Aborted, codes.Unknown} {
			t.Run(name+" "+code.String(), func(t *testing.T) {
				one, other := serve(t), serve(t)
				conn := dial(t, one.target, other.target)
				both(t, conn, one, other)
				for _, c := range []*fakeCore{one, other} {
					c.answers(func(context.Context) error { return status.Error(code, "no") })
				}
				before := one.calls.Load() + other.calls.Load()
				if err := ask(t, conn); status.Code(err) != code {
					t.Error(err)
				}
				if n := one.calls.Load() + other.calls.Load() - before; n != 1 {
					t.Errorf("sent %d times", n)
				}
			})
		}
		t.Run(name+" killed", func(t *testing.T) {
			one, other := serve(t), serve(t)
			conn := dial(t, one.target, other.target)
			both(t, conn, one, other)
			before := one.calls.Load() + other.calls.Load()
			for _, c := range []*fakeCore{one, other} {
				c.answers(func(ctx context.Context) error { go c.server.Stop(); <-ctx.Done(); return ctx.Err() })
			}
			if err := ask(t, conn); status.Code(err) != codes.Unavailable {
				t.Error(err)
			}
			if n := one.calls.Load() + other.calls.Load() - before; n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// While one of two cores ends and comes back again and again, no call fails: those it has it
// finishes, and those it did not read go to the other.
func TestCoresThatEndProperly(t *testing.T) {
	steady, first := serve(t), serve(t)
	target := first.target
	conn := dial(t, steady.target, target)
	both(t, conn, steady, first)
	stop, failed := make(chan struct{}), make(chan error, 4)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					failed <- nil
					return
				default:
				}
				if err := ask(t, conn); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	for c := first; ; {
		c.server.GracefulStop()
		c = serveAt(t, target)
		both(t, conn, c)
		if steady.calls.Load() > 2000 {
			break
		}
	}
	close(stop)
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
