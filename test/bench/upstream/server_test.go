package upstream

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves and returns a function that posts a body.
func start(t *testing.T, s Settings) (server *Server, post func(path string, body io.Reader) (*http.Response, string)) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server = New(s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return server, func(path string, body io.Reader) (*http.Response, string) {
		t.Helper()
		resp, err := client.Post("http://"+listener.Addr().String()+path, "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(answer)
	}
}

// Each protocol is answered whole, with JSON of the size that was set.
func TestWhole(t *testing.T) {
	s := Defaults()
	s.Text, s.Image = 5000, 40_000
	_, post := start(t, s)
	for path, least := range map[string]int{
		"/v1/chat/completions": 5000, "/v1/responses": 5000, "/v1/messages": 5000,
		"/v1beta/models/bench-model:generateContent": 5000, "/v1/images/generations": 40_000,
	} {
		resp, body := post(path, strings.NewReader(`{"model":"bench-model"}`))
		if resp.StatusCode != http.StatusOK || len(body) < least || !json.Valid([]byte(body)) {
			t.Errorf("%s: %s, %d bytes", path, resp.Status, len(body))
		}
	}
}

// Each protocol streams all pieces in order, in events of JSON, to its end.
func TestStream(t *testing.T) {
	s := Defaults()
	s.Pieces, s.Gap = 12, time.Millisecond
	_, post := start(t, s)
	for path, end := range map[string]string{
		"/v1/chat/completions": "[DONE]", "/v1/responses": "response.completed", "/v1/messages": "message_stop",
		"/v1beta/models/bench-model:streamGenerateContent?alt=sse": "finishReason",
	} {
		resp, body := post(path, strings.NewReader(`{"model":"bench-model","stream":true}`))
		if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
			t.Errorf("%s: content type %q", path, got)
		}
		last := -1
		for n := range 12 {
			at := strings.Index(body, piece(n)+`"`)
			if at <= last {
				t.Errorf("%s: piece %d at %d, the one ahead of it at %d", path, n, at, last)
			}
			last = at
		}
		if at := strings.LastIndex(body, end); at < last {
			t.Errorf("%s: no end: %s", path, body)
		}
		for line := range strings.Lines(body) {
			data, found := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			if found && data != "[DONE]" && !json.Valid([]byte(data)) {
				t.Errorf("%s: no JSON: %s", path, data)
			}
		}
	}
}

// Settings change while it runs, and are refused by name when they make no sense.
func TestControl(t *testing.T) {
	server, post := start(t, Defaults())
	changed := Defaults()
	changed.Text = 3000
	if resp, body := post(ControlPath+"?"+changed.Query().Encode(), http.NoBody); resp.StatusCode != http.StatusOK {
		t.Fatal(body)
	}
	if _, body := post("/v1/messages", strings.NewReader("{}")); len(body) < 3000 {
		t.Errorf("%d bytes", len(body))
	}
	for query, name := range map[string]string{"chunks=3": "chunks", "gap=-1s": "gap", "text=x": "text", "pieces=-1": "pieces"} {
		if resp, body := post(ControlPath+"?"+query, http.NoBody); resp.StatusCode != http.StatusBadRequest || !strings.HasPrefix(body, name+": ") {
			t.Errorf("%s: %s %s", query, resp.Status, body)
		}
	}
	if resp, body := post("/v2/nothing", http.NoBody); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "/v2/nothing") {
		t.Errorf("%s %s", resp.Status, body)
	}
	if got := server.Served(); got != 7 {
		t.Errorf("served %d", got)
	}
}

// What With takes is what Query gives.
func TestSettingsRoundTrip(t *testing.T) {
	want := Settings{Latency: time.Second, Gap: time.Millisecond, Pieces: 3, Text: 4, Image: 5}
	got, err := Settings{}.With(want.Query())
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := want.With(url.Values{"text": {"9"}}); err != nil || got.Text != 9 || got.Image != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Bodies of any length and framing are read to their end, so that the next request on
// the connection is understood.
func TestBodies(t *testing.T) {
	_, post := start(t, Defaults())
	large := `{"messages":"` + strings.Repeat("x", 300_000) + `"`
	for name, body := range map[string]io.Reader{
		"counted": strings.NewReader(large + `,"stream": true}`),
		"chunked": io.MultiReader(strings.NewReader(large), strings.NewReader(`,"stream":true}`)),
		"ahead":   strings.NewReader(`{"stream":true,` + large[1:] + `}`),
	} {
		if resp, _ := post("/v1/chat/completions", body); !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%s: %s", name, resp.Header)
		}
	}
}

// A fixed latency is kept.
func TestLatency(t *testing.T) {
	s := Defaults()
	s.Latency = 30 * time.Millisecond
	_, post := start(t, s)
	begin := time.Now()
	post("/v1/messages", strings.NewReader("{}"))
	if took := time.Since(begin); took < s.Latency {
		t.Errorf("answered after %v", took)
	}
}

// The end of ctx ends a stream that has hours to go.
func TestEnd(t *testing.T) {
	s := Defaults()
	s.Gap = time.Hour
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- New(s).Serve(ctx, listener) }()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"stream":true}`
	if _, err := io.WriteString(conn, "POST /v1/messages HTTP/1.1\r\nContent-Length: 15\r\nExpect: 100-continue\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
