package observability

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// within is the test's context, for patience.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), patience)
	t.Cleanup(done)
	return ctx
}

// post sends a body to chat completions and returns the answer, which the test's end closes.
func (r *rig) post(ctx context.Context, t *testing.T, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Keys["chat"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// limited makes requests for a model that one a minute may ask for until one is refused. On a busy
// machine the rounds may be more than a minute apart.
func (r *rig) limited(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if seen := r.call(t, "chat", vendors.Model(vendors.Answer, "drain-own-limited", 10), false); seen.Status == http.StatusTooManyRequests {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no request was refused by a limit")
		}
	}
}

// loses makes a request with a member that its upstream's protocol does not have.
func (r *rig) loses(t *testing.T) {
	t.Helper()
	resp := r.post(within(t), t, fmt.Sprintf(`{"model":%q,"seed":7,"messages":[{"role":"user","content":"hi"}]}`, vendors.Model(vendors.Answer, "drain-messages", 6)))
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a request with a seed gets %d", resp.StatusCode)
	}
}

// silent begins a stream that is silent from its middle on, until its upstream is released or
// leave is called, and waits for a heartbeat.
func (r *rig) silent(t *testing.T) (resp *http.Response, leave func()) {
	t.Helper()
	ctx, leave := context.WithCancel(within(t))
	resp = r.post(ctx, t, fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, vendors.Model(vendors.Hold, "cancel-own", 7)))
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("no heartbeat: %v", err)
		}
		if strings.HasPrefix(line, ":") {
			return resp, leave
		}
	}
}

// held has a stream be silent until a heartbeat comes, and its caller leave then.
func (r *rig) held(t *testing.T, edge string) {
	t.Helper()
	_, leave := r.silent(t)
	for _, active := range []float64{1, 0} {
		if active == 0 {
			leave()
		}
		r.awaitValue(t, "core", "genway_requests_active", is(active), "protocol=chat_completions")
		r.awaitValue(t, edge, "http_server_active_requests", is(active), "http_request_method=POST")
	}
}

// halted has a large answer stop before its end: what has come of it is in memory.
func (r *rig) halted(t *testing.T, release func()) {
	t.Helper()
	var asking sync.WaitGroup
	asking.Go(func() { r.call(t, "chat", vendors.Model(vendors.Answer, "uncounted-halted", 8), false) })
	r.awaitValue(t, "core", "genway_upstream_answer_bytes", atLeast(1))
	release()
	asking.Wait()
}

// stranger sends clear text to a TLS port.
func stranger(t *testing.T, r *rig) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(within(t), "tcp", r.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(conn); err != nil || !strings.Contains(string(all), " 400 ") {
		t.Errorf("%v %s", err, all)
	}
}

// reloads changes the configuration's file for a good one and for a bad one.
func (r *rig) reloads(t *testing.T, before []sample) {
	t.Helper()
	text, err := os.ReadFile(r.config)
	if err != nil {
		t.Fatal(err)
	}
	was := hashIn(before)
	for _, change := range []struct{ result, text string }{{"ok", string(text) + "# a word more\n"}, {"bad", string(text) + "nonsense: true\n"}} {
		next := r.config + ".next"
		if err := os.WriteFile(next, []byte(change.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, r.config); err != nil {
			t.Fatal(err)
		}
		r.awaitValue(t, "core", "genway_config_reloads_total", atLeast(1), "result="+change.result)
	}
	now, _ := r.scrapeSide(t, "core")
	if is := hashIn(now); is == "" || is == was {
		t.Errorf("the hash of the configuration is %q, was %q", is, was)
	}
}

func hashIn(all []sample) string {
	for _, s := range all {
		if s.name == "genway_config_info" {
			return s.labels["hash"]
		}
	}
	return ""
}

// locked has entries wait for an SQLite file that another process writes into. An operation
// fails after half a minute of that only, which is too long for a test.
func (r *rig) locked(t *testing.T, data string) {
	t.Helper()
	resp, leave := r.silent(t)
	defer leave()
	unlock := rows.Lock(t, filepath.Join(data, "genway.db"))
	r.released(t, resp)
	r.awaitValue(t, "core", "genway_ledger_queue", atLeast(1))
	unlock()
	r.awaitValue(t, "core", "genway_ledger_queue", is(0))
}

// storeGone has entries wait for a server that was killed, and be written when it is back. The
// request was admitted before: later ones depend on how long ago their key was read.
func (r *rig) storeGone(t *testing.T, postgres *server.Postgres) {
	t.Helper()
	resp, leave := r.silent(t)
	defer leave()
	postgres.Kill(t)
	r.released(t, resp)
	r.awaitValue(t, "core", "genway_ledger_queue", atLeast(1))
	r.awaitValue(t, "core", "genway_store_errors_total", atLeast(1), "operation=ledger")
	r.awaitValue(t, "core", "genway_ledger_lag_seconds", func(v float64) bool { return v > 0 })
	postgres.Start(t)
	r.awaitValue(t, "core", "genway_ledger_queue", is(0))
	r.awaitValue(t, "core", "genway_ledger_lag_seconds", is(0))
}

// released lets a silent stream go on to its end.
func (r *rig) released(t *testing.T, resp *http.Response) {
	t.Helper()
	r.vendors.Release()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}
