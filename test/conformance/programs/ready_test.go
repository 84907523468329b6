package programs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// probe returns the status and the text of a probe.
func probe(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// awaitReady waits until /readyz reports that, and demands that /livez is 200 meanwhile.
func awaitReady(t *testing.T, url, failing string) {
	t.Helper()
	want, text := http.StatusOK, `{"status":"ok"}`
	if failing != "" {
		want, text = http.StatusServiceUnavailable, `{"status":"not ready","failing":["`+failing+`"]}`
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		if status, body := probe(t, url+"/livez"); status != http.StatusOK {
			t.Fatalf("/livez: %d %s", status, body)
		}
		status, body := probe(t, url+"/readyz")
		if status == want && body == text {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz: %d %s, want %d %s", status, body, want, text)
		}
	}
	if status, _ := probe(t, url+"/healthz"); status != want {
		t.Errorf("/healthz: %d, want %d", status, want)
	}
}

// healthOf asks the gRPC side for the health of services.
func healthOf(t *testing.T, target string, services ...string) string {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []string
	for _, service := range services {
		answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, answer.GetStatus().String())
	}
	return strings.Join(all, ", ")
}

// eachForm runs a test on one process and on two.
func eachForm(t *testing.T, options server.Options, test func(*testing.T, *server.Server)) {
	t.Helper()
	for _, two := range []bool{false, true} {
		t.Run(fmt.Sprintf("two processes: %v", two), func(t *testing.T) {
			form := options
			form.TwoProcess = two
			if two {
				form.EdgeArgs = options.Args
			}
			test(t, server.Start(t, form))
		})
	}
}

// noCore has an edge without a core be not ready, until there is one.
func noCore(t *testing.T, _ stores) {
	data, socket := t.TempDir(), "unix:"+filepath.Join(t.TempDir(), "core")
	edge, err := server.StartProcess("genway-edge", "--core", socket, "--http", "127.0.0.1:0", "--log-format", "json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(edge.Kill)
	up, err := edge.Await("edge is up")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + up["http"]
	awaitReady(t, url, "core")
	core, err := server.StartProcess("genway-core", "--data", data, "--grpc", socket, "--shutdown-delay", "1h", "--log-format", "json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(core.Kill)
	awaitReady(t, url, "")
	if err := core.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, url, "core")
	if got := healthOf(t, socket, "genway.v1.Generation", ""); got != "NOT_SERVING, SERVING" {
		t.Errorf("the core's health in its shutdown delay: %s", got)
	}
	if err := core.Stop(); err != nil { // by the second signal
		t.Error(err)
	}
}

// shutdownDelay has programs serve on, not ready, and end whole.
func shutdownDelay(t *testing.T, _ stores) {
	eachForm(t, server.Options{Args: []string{"--shutdown-delay", "1h"}}, func(t *testing.T, s *server.Server) {
		connection := "" // of the last request: its address here
		ask := func(model string, stream bool) *http.Response {
			body := fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":"Say hello to all of us."}]}`, model, stream)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/chat/completions", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+s.Keys["chat"])
			trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { connection = got.Conn.LocalAddr().String() }}
			resp, err := http.DefaultClient.Do(req.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		read := func(resp *http.Response) string {
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
		awaitReady(t, s.URL(), "")
		if resp := ask("sandbox-text", false); resp.Close || resp.StatusCode != http.StatusOK {
			t.Errorf("before the end: %d, connection closed: %v, %s", resp.StatusCode, resp.Close, read(resp))
		} else {
			read(resp)
		}
		closed := idle(t, s.URL())
		early := ask("sandbox-drip-100ms", true)
		processes := map[*server.Process]bool{s.Edge: true, s.Core: true}
		for p := range processes {
			if err := p.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		awaitReady(t, s.URL(), "shutdown")
		// Two processes take the signal each in its own time.
		await(t, func() bool { return healthOf(t, s.GRPC, "genway.v1.Generation", "") == "NOT_SERVING, SERVING" }, s.Core.Log)
		// Connection: close, and over HTTP/2 GOAWAY: no connection is used again and again.
		used := ""
		await(t, func() bool {
			last := used
			resp := ask("sandbox-text", false)
			if text := read(resp); resp.StatusCode != http.StatusOK {
				t.Fatalf("in the delay: %d, %s", resp.StatusCode, text)
			}
			used = connection
			return last != "" && last != used
		}, s.Edge.Log)
		late, over := ask("sandbox-drip-100ms", true), time.Now()
		for p := range processes {
			if err := p.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		for what, stream := range map[string]*http.Response{"early": early, "late": late} {
			if text := read(stream); !strings.HasSuffix(text, "data: [DONE]\n\n") || strings.Contains(text, `"error"`) {
				t.Errorf("the %s stream is not whole: …%s", what, text[max(0, len(text)-300):])
			}
		}
		for p := range processes {
			select {
			case <-p.Exited():
			case <-time.After(time.Minute):
				t.Errorf("a second signal does not end the delay\n%s", p.Log())
			}
		}
		// A request that is on its way as the delay ends is served for a second.
		if closed != nil {
			if open := (<-closed).Sub(over); open < time.Second {
				t.Errorf("an idle connection was closed %v after the delay", open)
			}
		}
	})
}
