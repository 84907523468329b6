package programs

import (
	"errors"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/fleet"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// silentCores has an edge in front of one core and three addresses that are none.
func silentCores(t *testing.T, _ stores) {
	f := fleet.New(t, t.TempDir())
	core := f.Start("127.0.0.1:0")
	listen := func() net.Listener {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
	silent, none := listen(), listen()
	defer silent.Close()
	none.Close()
	asked := make(chan string, 1)
	idle := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		select {
		case asked <- method:
		default:
		}
		return errors.New("asked")
	}))
	states := health.NewServer()
	states.SetServingStatus("genway.v1.Generation", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(idle, states)
	notServing := listen()
	go func() { _ = idle.Serve(notServing) }()
	defer idle.Stop()
	edge := f.Edge(silent.Addr().String(), none.Addr().String(), notServing.Addr().String(), core.Address)
	if _, err := edge.Await("core is not ready"); err != nil {
		t.Error(err)
	}
	load := f.Load(edge, atOnce, 1000)
	load.Await(200)
	load.Stop()
	if failed := load.Failed(); len(failed) > 0 {
		t.Errorf("%d calls failed: %v\n%s", len(failed), failed, edge.Log())
	}
	select {
	case method := <-asked:
		t.Errorf("a core that does not serve was asked: %s", method)
	default:
	}
}

// joiningCores has a name that has one core, then another as well, then only that.
func joiningCores(t *testing.T, _ stores) {
	f := fleet.New(t, t.TempDir())
	names := fleet.StartNames(t)
	first := f.Start("127.0.0.2:0")
	_, port, err := net.SplitHostPort(first.Address)
	if err != nil {
		t.Fatal(err)
	}
	names.Set("127.0.0.2")
	edge := f.Edge("dns://" + names.Address + "/cores.test:" + port)
	load := f.Load(edge, 2, 1000)
	load.Await(20)
	second := f.Start("127.0.0.3:" + port)
	joined := time.Now()
	names.Set("127.0.0.2", "127.0.0.3")
	if err := edge.AwaitText(`"msg":"core is ready","core":"` + second.Address + `"`); err != nil {
		t.Error(err)
	}
	fleet.Within(t, fleet.WaitLimit, "the core that joined gets no call", func() bool { return len(second.Served()) > 0 })
	t.Logf("the core that joined got a call after %v", time.Since(joined).Round(time.Millisecond))
	names.Set("127.0.0.3")
	if err := first.Stop(); err != nil { // the lost connection has the edge look the name up
		t.Error(err)
	}
	load.Await(50)
	names.Set()
	load.Await(50)
	load.Stop()
	if failed := load.Failed(); len(failed) > 0 {
		t.Errorf("%d calls failed: %v\n%s", len(failed), failed, edge.Log())
	}
}

// wrongTargets starts edges that must not start.
func wrongTargets(t *testing.T, _ stores) {
	path, err := server.Binary("genway-edge")
	if err != nil {
		t.Fatal(err)
	}
	for targets, want := range map[string]string{
		"core":                    `--core: "core": the port is missing; expected HOST:PORT, dns:///HOST:PORT or unix:PATH`,
		"127.0.0.1:70000":         `--core: "127.0.0.1:70000": the port is "70000"; expected a number from 1 to 65535`,
		"127.0.0.1:0":             `--core: "127.0.0.1:0": the port is "0"; expected a number from 1 to 65535`,
		"http://core:9090":        `--core: "http://core:9090": the scheme http is not supported; expected HOST:PORT, dns:///HOST:PORT or unix:PATH`,
		"127.0.0.1:1,,":           `--core: "": the target is empty; expected HOST:PORT, dns:///HOST:PORT or unix:PATH`,
		"a:1,b:1,a:1":             `--core: "a:1": the core is named twice`,
		"a:1, b:1":                `--core: " b:1": blanks and control characters are no part of a target`,
		"unix:":                   `--core: "unix:": the path of the socket is missing; expected unix:PATH`,
		"unix:/s,dns://core:9090": `--core: "dns://core:9090": the host is missing behind the DNS server core:9090; expected dns:///core:9090`,
		"":                        `--core: no core is named; expected HOST:PORT, dns:///HOST:PORT or unix:PATH`,
	} {
		out, err := exec.CommandContext(t.Context(), path, "--http", "127.0.0.1:0", "--core", targets).CombinedOutput()
		exit := -1
		if ended, is := errors.AsType[*exec.ExitError](err); is {
			exit = ended.ExitCode()
		}
		if exit != 2 || strings.TrimSpace(string(out)) != "genway-edge: "+want {
			t.Errorf("%q: exit code %d: %s", targets, exit, out)
		}
	}
}

// refusingCores has one of two cores lose its database: keys that it does not know are looked
// up by the other.
func refusingCores(t *testing.T, s stores) {
	data := s["PostgreSQL"](t)
	f := fleet.New(t, data)
	at, err := url.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	query := at.Query()
	forwarder := fleet.StartForwarder(t, query.Get("host")+"/.s.PGSQL.5432")
	host, port, err := net.SplitHostPort(forwarder.Address)
	if err != nil {
		t.Fatal(err)
	}
	query.Set("host", host)
	query.Set("port", port)
	at.RawQuery = query.Encode()
	lonely := f.StartBy(server.StartProcess, at.String(), "127.0.0.1:0")
	f.Start("127.0.0.1:0")
	edge := f.Edge(f.Addresses()...)
	load := f.Load(edge, 4, 1000)
	load.Await(50)
	load.Stop()
	forwarder.Cut()
	client, refused := f.Client(edge), 0
	for n := range 12 {
		key, err := server.CreateKey(data, "chat", "new-"+string(rune('a'+n)))
		if err != nil {
			t.Fatal(err)
		}
		call := f.Call(vendors.Answer, 2000+8*n)
		call.Protocol, call.Stream, call.Key = "chat", n%2 == 1, key
		seen, err := client.Do(t.Context(), call)
		if err != nil || !seen.Whole {
			t.Errorf("request %d: %+v, %v", n, seen, err)
		}
		if answered := f.Vendors.Answered(2000 + 8*n).Calls; answered != 1 {
			t.Errorf("request %d: the upstream was called %d times", n, answered)
		}
	}
	fleet.Within(t, fleet.WaitLimit, "the core without a database refused nothing", func() bool {
		refused = strings.Count(lonely.Log(), "KEYS_UNAVAILABLE")
		return refused > 0
	})
	if refused > 9 { // its breaker is open then, but for trials
		t.Errorf("the core without a database was asked %d times of 12", refused)
	}
	db := rows.Open(t, data)
	fleet.Within(t, fleet.WaitLimit, "rows are missing", func() bool { return fleet.Rows(db.Ledger(t))[2000+8*11] > 0 })
	count := fleet.Rows(db.Ledger(t))
	for n := range 12 {
		if got := count[2000+8*n]; got != 1 {
			t.Errorf("request %d has %d rows", n, got)
		}
	}
	forwarder.Mend()
}
