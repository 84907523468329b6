package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/genway/genway/internal/connections"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/telemetry"
)

// Listen opens a listener on host:port or, with the prefix unix:, on a socket that
// only this user may connect to. The error is one clear line.
func Listen(ctx context.Context, flag, address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if isUnix {
		return listenUnix(ctx, flag, strings.TrimPrefix(path, "//"))
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, UsageError{fmt.Errorf("%s %q: expected host:port, as in 127.0.0.1:8080, or unix:PATH", flag, address)}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	_, addressErr := errors.AsType[*net.AddrError](err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s %s: the port is taken by another process; choose another with %s HOST:PORT", flag, address, flag)
	case addressErr: // a port beyond 65535
		return nil, UsageError{fmt.Errorf("%s %s: %w", flag, address, errors.Unwrap(err))}
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", flag, address, errors.Unwrap(err))
	}
	return listener, nil
}

func listenUnix(ctx context.Context, flag, path string) (net.Listener, error) {
	if path == "" {
		return nil, UsageError{fmt.Errorf("%s unix: has no path", flag)}
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, fmt.Errorf("%s unix:%s: %w", flag, path, err)
	}
	// The socket must never exist with wider permissions, so the umask does it.
	old := setUmask(0o177)
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	setUmask(old)
	if err != nil {
		return nil, fmt.Errorf("%s unix:%s: %w", flag, path, err)
	}
	return listener, nil
}

// removeStale removes a socket on which no process listens any more.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("the file exists and is no socket")
	}
	if conn, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close()
		return errors.New("another process listens on it")
	}
	return os.Remove(path)
}

// Network is a network of addresses as a flag spells it: 10.0.0.0/8, or an address, which is
// the network of only that address.
type Network struct{ netip.Prefix }

// UnmarshalText reads a network or an address. IPv4 addresses within IPv6 are IPv4.
func (n *Network) UnmarshalText(text []byte) error {
	if prefix, err := netip.ParsePrefix(string(text)); err == nil && !prefix.Addr().Is4In6() {
		n.Prefix = prefix.Masked()
		return nil
	}
	address, err := netip.ParseAddr(string(text))
	if err != nil || address.Zone() != "" {
		return fmt.Errorf("expected a network or an address, as 10.0.0.0/8, fd00::/8 or 10.0.0.1, got %q", text)
	}
	address = address.Unmap()
	n.Prefix = netip.PrefixFrom(address, address.BitLen())
	return nil
}

// Prefixes are the networks' prefixes.
func Prefixes(networks []Network) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, n := range networks {
		prefixes = append(prefixes, n.Prefix)
	}
	return prefixes
}

// Connections bound the connections of each port.
type Connections struct {
	Most          int `name:"max-connections" env:"GENWAY_MAX_CONNECTIONS" default:"10000" least:"0" placeholder:"N" group:"Limits:" help:"Maximum of open connections on each port; 0 is no limit."`
	MaxPerAddress int `name:"max-connections-per-address" env:"GENWAY_MAX_CONNECTIONS_PER_ADDRESS" default:"1000" least:"0" placeholder:"N" group:"Limits:" help:"Maximum of open connections from one address; 0 is no limit."`
}

// Limit bounds the connections of a listener.
func (c Connections) Limit(l net.Listener, proxies []netip.Prefix, notices *connections.Notices) (net.Listener, error) {
	return connections.NewListener(l, connections.Config{
		Most: withinFiles(c.Most), MaxPerAddress: c.MaxPerAddress, Exempt: proxies,
		Refused: func(limit connections.Limit, from net.Addr) { notices.Add(string(limit), from) },
	}), nil
}

// withinFiles returns the number, or three quarters of the files that the process may open: the
// rest is for upstreams and stores.
func withinFiles(most int) int {
	files, bounded := openFiles()
	if most == 0 || !bounded || files > 1<<30 {
		return most
	}
	return min(most, int(files)*3/4)
}

// Overload is the flags of the gate that refuses requests while a server is overloaded.
type Overload struct {
	OverloadDelay  time.Duration `env:"GENWAY_OVERLOAD_DELAY" placeholder:"D" group:"Limits:" help:"How long requests may wait for a processor before some are refused; a negative value: off. Default: 20ms."`
	OverloadMemory int64         `env:"GENWAY_OVERLOAD_MEMORY" placeholder:"BYTES" group:"Limits:" help:"Memory of the process near which requests are refused; a negative value: off. Default: GOMEMLIMIT, or 90% of the cgroup's."`
}

// Gate makes the gate. Without GOMEMLIMIT it has the collector keep the process within
// what its cgroup may use, too.
func (o Overload) Gate(log *slog.Logger, onRefused func(overload.Signal, overload.Priority, int64)) *overload.Gate {
	if limit, fromGroup := overload.MemoryLimit(); fromGroup {
		debug.SetMemoryLimit(limit)
	}
	return overload.New(overload.Config{Delay: o.OverloadDelay, Memory: o.OverloadMemory, Logger: log, OnRefused: onRefused})
}

// Telemetry is the flags of a server's telemetry.
type Telemetry struct {
	Metrics   string        `name:"metrics-listen" env:"GENWAY_METRICS_LISTEN" placeholder:"ADDR" group:"Logs, metrics, traces:" help:"Address of /metrics, /livez and /readyz: HOST:PORT or unix:PATH. Default: none."`
	Debug     string        `name:"debug-listen" env:"GENWAY_DEBUG_LISTEN" placeholder:"ADDR" group:"Logs, metrics, traces:" help:"Loopback address of profiles and requests in flight, without a key. Default: none."`
	OTLP      string        `name:"otlp-endpoint" env:"GENWAY_OTLP_ENDPOINT" placeholder:"URL" group:"Logs, metrics, traces:" help:"OTLP endpoint for traces and metrics. Default: OTEL_EXPORTER_OTLP_ENDPOINT."`
	TraceSlow time.Duration `env:"GENWAY_TRACE_SLOW" default:"30s" placeholder:"D" group:"Logs, metrics, traces:" help:"Export the trace of each request that takes this long; 0 or a negative value: none for that."`
}

// StartTelemetry sets up what the flags and OpenTelemetry's variables ask for. service is
// the name of the program.
func (t Telemetry) StartTelemetry(ctx context.Context, service string, log *slog.Logger) (*telemetry.Telemetry, error) {
	config, err := telemetry.FromEnvironment(t.OTLP, os.LookupEnv)
	if err != nil {
		return nil, UsageError{err}
	}
	config.Service, config.Version, config.Slow = service, Version(), t.TraceSlow
	started, err := telemetry.Start(ctx, config, log)
	if err != nil {
		return nil, UsageError{err}
	}
	return started, nil
}

// ProgramName is the name that the process was started by, for service.name.
func ProgramName() string { return filepath.Base(os.Args[0]) }

// ListenMetrics opens the listener of the metrics; nil without --metrics-listen.
func (t Telemetry) ListenMetrics(ctx context.Context) (net.Listener, error) {
	if t.Metrics == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	return Listen(ctx, "--metrics-listen", t.Metrics)
}

// ListenDebug opens the listener of the pages for debugging; nil without --debug-listen. An
// address that others can reach is refused: the pages need no key.
func (t Telemetry) ListenDebug(ctx context.Context) (net.Listener, error) {
	if t.Debug == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	if !strings.HasPrefix(t.Debug, "unix:") {
		host, _, err := net.SplitHostPort(t.Debug)
		if address := net.ParseIP(host); err == nil && host != "localhost" && (address == nil || !address.IsLoopback()) {
			return nil, UsageError{fmt.Errorf("--debug-listen %s: expected a loopback address, as in 127.0.0.1:6060, or unix:PATH, since the pages need no key", t.Debug)}
		}
	}
	return Listen(ctx, "--debug-listen", t.Debug)
}

type drainingKey struct{}

// draining is the value that Delay stores in its context: when the shutdown delay begins, and how long it
// lasts.
type draining struct {
	begun <-chan struct{}
	lasts time.Duration
}

// Delay returns a context that ends a while after ctx does: the shutdown delay, in which a
// server says that it is not ready and still serves, so that balancers take it out before
// its listeners close. A second signal ends the delay; with Main, a third one ends the
// process. The channel of Draining is closed when the delay begins. The function releases
// the resources of Delay.
func Delay(ctx context.Context, delay time.Duration, log *slog.Logger) (context.Context, func()) {
	over, end := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), drainingKey{}, draining{ctx.Done(), max(delay, 0)}))
	if delay <= 0 {
		undo := context.AfterFunc(ctx, end)
		return over, func() { undo(); end() }
	}
	// The first signal, which ends ctx, comes here as well.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		defer end()
		select {
		case <-ctx.Done():
		case <-over.Done():
			return
		}
		log.Info("not ready any more; serving for the shutdown delay, which a second signal ends", "delay_seconds", delay.Seconds())
		timer := time.NewTimer(delay)
		defer timer.Stop()
		for count := 0; count < 2; {
			select {
			case <-signals:
				count++
			case <-timer.C:
				return
			case <-over.Done():
				return
			}
		}
	}()
	return over, func() { end(); <-done }
}

// Draining returns a channel that is closed when the shutdown delay begins that ends ctx, a
// context of Delay's or of its children; nil for another context.
func Draining(ctx context.Context) <-chan struct{} {
	d, _ := ctx.Value(drainingKey{}).(draining)
	return d.begun
}

// DelayOf returns the shutdown delay of a ctx of Delay; 0 for any other.
func DelayOf(ctx context.Context) time.Duration {
	d, _ := ctx.Value(drainingKey{}).(draining)
	return d.lasts
}

// Grace is the value of the flag --grace as the servers of both sides have it: their 0 is the default, and
// negative is no grace.
func Grace(flag time.Duration) time.Duration {
	if flag == 0 {
		return -1
	}
	return flag
}

// roomy is the heap up to which garbage is let lie. Go collects when the heap has
// doubled, and a gateway at rest keeps so little that under load it would collect
// hundreds of times a second.
const roomy = 32 << 20

// TuneMemory has the collector wait for a heap of at least that size; larger heaps are
// collected when they have doubled. By itself Go would let them grow by the size of all
// stacks as well, and the stacks of a thousand streams are half as large as their heap. It leaves the
// choice to an operator who has set GOGC or GOMEMLIMIT. Unless profiled, the process has no page that shows where memory
// was allocated, and does not note it.
func TuneMemory(profiled bool) {
	if !profiled {
		unprofiled()
	}
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	t := &tuner{percent: 100, sample: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/scan/stack:bytes"},
	}}
	t.tune()
	t.again(new(cycle))
}

// unprofiled turns the profile of allocations off, which linking net/http/pprof has turned on.
var unprofiled = sync.OnceFunc(func() { runtime.MemProfileRate = 0 })

// tuner sets the collector's percentage again after each collection.
type tuner struct {
	sample  []metrics.Sample
	percent int
}

// cycle is garbage whose finalizer tells that there was a collection.
type cycle struct{ _ [16]byte }

func (t *tuner) again(c *cycle) {
	runtime.SetFinalizer(c, func(c *cycle) {
		t.tune()
		t.again(c)
	})
}

func (t *tuner) tune() {
	metrics.Read(t.sample)
	want := percentFor(t.sample[0].Value.Uint64(), t.sample[1].Value.Uint64()+t.sample[2].Value.Uint64())
	// To set it stops the world for a moment.
	if change := want - t.percent; change > t.percent/8 || change < -t.percent/8 {
		t.percent = want
		debug.SetGCPercent(want)
	}
}

// percentFor is how much garbage fills the heap to roomy, or doubles it, in percent of
// what is alive and of the roots: the collector reckons with both.
func percentFor(live, roots uint64) int {
	garbage := live
	if live < roomy/2 {
		garbage = roomy - live
	}
	// No heap is collected below 4 MiB times the percentage.
	return min(int(garbage*100/max(live+roots, 1)), roomy/(4<<20)*100)
}
