package programs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
)

// entries are the lines of a log of JSON with that msg, by their path or method.
func entries(t *testing.T, log, msg string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for text := range strings.Lines(log) {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil && line["msg"] == msg {
			found = append(found, line)
		}
	}
	return found
}

// operatorsLog sends requests of each fate and reads what both sides log of them.
func operatorsLog(t *testing.T, _ stores) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"data":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"real-2026","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(upstream.Close)
	file := filepath.Join(t.TempDir(), "genway.yaml")
	write(t, file, fmt.Sprintf(`upstreams:
  up: {kind: chat, base_url: "%s/v1"}
routes:
  - {model: "strict-*", strict: true, targets: [{upstream: up}]}
  - {model: "ali*", targets: [{upstream: up, model: real}]}
`, upstream.URL))
	r := server.Start(t, server.Options{Args: []string{"--config", file}})
	post := func(path, header, key, body string) (int, http.Header, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, string(answer)
	}
	message := func(model, more string) string {
		return `{"model":"` + model + `","max_tokens":9,"messages":[{"role":"user","content":"hi"}]` + more + `}`
	}
	if status, _, body := post("/v1/messages", "X-Api-Key", r.Keys["messages"], message("alias", "")); status != http.StatusOK {
		t.Fatalf("the alias: %d %s", status, body)
	}
	for _, stream := range []string{"", `,"stream":true`} {
		status, header, body := post("/v1/messages", "X-Api-Key", r.Keys["messages"], message("strict-x", `,"top_k":5`+stream))
		if status != http.StatusBadRequest || header.Get("X-Genway-Attempts") != "0" {
			t.Errorf("a strict refusal: %d, attempts %q: %s", status, header.Get("X-Genway-Attempts"), body)
		}
	}
	for _, refused := range []struct{ path, header, key string }{
		{"/v1/messages", "X-Api-Key", "gwk_wrong"}, {"/v1/messages", "X-Api-Key", r.Keys["internal"]},
	} {
		if status, _, body := post(refused.path, refused.header, refused.key, message("alias", "")); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("%+v: %d %s", refused, status, body)
		}
	}
	if body, status := get(t, r.URL()+"/healthz", "X-None", "x"); status != http.StatusOK {
		t.Errorf("health: %d %s", status, body)
	}
	// Over HTTP/2 an edge asks whether a key is good before the body: such a line has no fate.
	callsOf := func() []map[string]any {
		return slices.DeleteFunc(entries(t, r.Core.Log(), "call"), func(line map[string]any) bool {
			return line["method"] == "CheckAccess" && line["reason"] == nil
		})
	}
	await(t, func() bool { return len(callsOf()) >= 5 && len(entries(t, r.Edge.Log(), "request")) >= 5 }, r.Core.Log)
	calls := callsOf()
	for i, want := range []map[string]any{
		{"asked_model": "alias", "model": "real-2026", "route": "ali*", "upstream": "up", "attempts": 1.0, "protocol": "messages"},
		{"asked_model": "strict-x", "model": "", "route": "strict-*", "upstream": "up", "attempts": 0.0, "protocol": "messages"},
		{"asked_model": "strict-x", "model": "", "route": "strict-*", "upstream": "up", "attempts": 0.0, "protocol": "messages"},
		{"protocol": "messages", "reason": "INVALID_KEY", "key": ""},
		{"protocol": "messages", "reason": "WRONG_GROUP"},
	} {
		for name, value := range want {
			if got := calls[i][name]; got != value {
				t.Errorf("line %d of the core: %s is %v, want %v: %v", i, name, got, value, calls[i])
			}
		}
	}
	for _, line := range append(calls, entries(t, r.Edge.Log(), "request")...) {
		seconds, ok := line["duration_seconds"].(float64)
		if _, old := line["duration"]; !ok || old || seconds <= 0 || seconds > 60 {
			t.Errorf("its duration is not in seconds: %v", line)
		}
		if line["path"] == "/healthz" {
			t.Errorf("a probe is logged at info: %v", line)
		}
	}
	db := rows.Open(t, r.Data)
	await(t, func() bool {
		return !slices.ContainsFunc(db.Ledger(t), func(row rows.Row) bool { return row.Outcome == "open" })
	}, r.Core.Log)
	for _, row := range db.Ledger(t) {
		if want := map[string]int64{"alias": 1, "strict-x": 0}[row.Model]; row.Attempts != want {
			t.Errorf("the ledger: %+v, want %d attempts", row, want)
		}
	}
}

// followedKeys has the file with an upstream's key change under a running server, to another
// key, to none and back.
func followedKeys(t *testing.T, _ stores) {
	shown := make(chan string, 1000)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	key := filepath.Join(dir, "secrets", "key")
	if err := os.Mkdir(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, key, "first-key\n")
	file := filepath.Join(dir, "genway.yaml")
	write(t, file, fmt.Sprintf("upstreams:\n  up: {kind: chat, base_url: \"%s/v1\", api_key_file: secrets/key}\nroutes:\n  - {model: \"*\", targets: [{upstream: up}]}\n", upstream.URL))
	r := server.Start(t, server.Options{Args: []string{"--config", file}})
	asked := func() string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.Keys["chat"])
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
		}
		return strings.TrimPrefix(<-shown, "Bearer ")
	}
	if got := asked(); got != "first-key" {
		t.Errorf("the upstream is shown %q", got)
	}
	previous := "first-key"
	for i, content := range []string{"second-key\n", "", "third\nkey\n", "fourth-key"} {
		write(t, key+".new", content)
		if err := os.Rename(key+".new", key); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSpace(content)
		if want == "" || strings.Contains(want, "\n") {
			want = previous
			await(t, func() bool { return strings.Count(r.Core.Log(), "the old one stays") == i }, r.Core.Log)
		}
		previous = want
		await(t, func() bool { return asked() == want }, func() string { return strconv.Quote(content) + ": the key is not " + want })
	}
	if log := r.Core.Log(); strings.Contains(log, "configuration reloaded") || strings.Contains(log, "-key") {
		t.Errorf("it was reloaded, or a key is logged:\n%s", log)
	}
}
