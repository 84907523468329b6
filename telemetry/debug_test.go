package telemetry_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/telemetry"
	"github.com/genway/genway/telemetry/flight"
)

// serving runs what serves on a listener, and returns its address.
func serving(t *testing.T, serve func(net.Listener) error) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(listener) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func get(t *testing.T, url, host, origin string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// The pages list requests in flight by their ids, and are closed to names that a page in a
// browser may point here.
func TestDebugPages(t *testing.T) {
	provider, board := started(t, telemetry.Config{}), flight.NewBoard()
	at := "http://" + serving(t, func(l net.Listener) error { return provider.ServeDebug(t.Context(), l, board) })
	now := time.Now()
	board.Begin(flight.Entry{RequestID: "req_b", Side: "core", Begun: now})
	end := board.Begin(flight.Entry{RequestID: "req_a", Side: "edge", Protocol: "chat", What: "POST /v1/chat/completions", KeyID: "k", TraceID: "t", Begun: now.Add(-time.Minute)})
	list := func(query string) string {
		status, text := get(t, at+"/debug/requests"+query, "", "")
		var entries []flight.Entry
		if err := json.Unmarshal([]byte(text), &entries); err != nil || status != http.StatusOK || entries == nil {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		ids := make([]string, len(entries))
		for i, e := range entries {
			ids[i] = e.RequestID
		}
		return strings.Join(ids, " ")
	}
	if got := list(""); got != "req_a req_b" {
		t.Errorf("in flight: %s", got)
	}
	if got := list("?id=req_b"); got != "req_b" {
		t.Errorf("of one id: %s", got)
	}
	end()
	if got := list(""); got != "req_b" {
		t.Errorf("after one has ended: %s", got)
	}
	for page, want := range map[string]string{"/debug/pprof/goroutine?debug=2": "goroutine ", "/debug/build": "GoVersion", "/debug/pprof/": "heap"} {
		if status, text := get(t, at+page, "localhost:6060", ""); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.100s", page, status, text)
		}
	}
	for name, c := range map[string][2]string{"a name": {"evil.example:6060", ""}, "a page's request": {"127.0.0.1", "http://evil.example"}} {
		if status, _ := get(t, at+"/debug/requests", c[0], c[1]); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
}

// The listener of the metrics answers probes, and says which part fails.
func TestProbes(t *testing.T) {
	provider := started(t, telemetry.Config{})
	var failing []string
	at := "http://" + serving(t, func(l net.Listener) error { return provider.Serve(t.Context(), l, func() []string { return failing }) })
	for _, c := range []struct {
		failing []string
		status  int
		body    string
	}{
		{nil, http.StatusOK, `{"status":"ok"}`},
		{[]string{"store", "ledger"}, http.StatusServiceUnavailable, `{"status":"not ready","failing":["store","ledger"]}`},
	} {
		failing = c.failing
		if status, text := get(t, at+"/readyz", "", ""); status != c.status || strings.TrimSpace(text) != c.body {
			t.Errorf("/readyz: %d %s, want %d %s", status, text, c.status, c.body)
		}
		if status, text := get(t, at+"/livez", "", ""); status != http.StatusOK || strings.TrimSpace(text) != `{"status":"ok"}` {
			t.Errorf("/livez: %d %s", status, text)
		}
	}
}
