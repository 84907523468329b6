package programs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/fleet"
	"github.com/genway/genway/test/conformance/server"
)

// turns are how a protocol spells two turns: the path and the body of a first one, the part of an answer that goes
// back, and the body of a second turn with it.
type turns struct {
	path, group, body, second string
	turn                      func(answer map[string]any) any
}

var conversations = map[string]turns{
	"responses": {
		"/v1/responses", "chat", `{"model":%q,"store":false,"input":[{"role":"user","content":%q}]}`, `{"model":%q,"store":false,"input":[{"role":"user","content":%q},%s,{"role":"user","content":"and?"}]}`,
		func(answer map[string]any) any { return answer["output"].([]any)[0] },
	},
	"messages": {
		"/v1/messages", "messages", `{"model":%q,"max_tokens":99,"messages":[{"role":"user","content":%q}]}`, `{"model":%q,"max_tokens":99,"messages":[{"role":"user","content":%q},%s,{"role":"user","content":"and?"}]}`,
		func(answer map[string]any) any {
			return map[string]any{"role": "assistant", "content": answer["content"]}
		},
	},
	"chat": {
		"/v1/chat/completions", "chat", `{"model":%q,"messages":[{"role":"user","content":%q}]}`, `{"model":%q,"messages":[{"role":"user","content":%q},%s,{"role":"user","content":"and?"}]}`,
		func(answer map[string]any) any { return answer["choices"].([]any)[0].(map[string]any)["message"] },
	},
}

// accounts is a vendor of two accounts, a and b, that refuses what the other one has signed or encrypted.
func accounts(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := strings.TrimPrefix(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), "Bearer ")
	seal := func(account string) string {
		return base64.StdEncoding.EncodeToString([]byte("what only account " + account + " can read"))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", key)
	foreign := strings.Contains(string(body), seal(map[string]string{"a": "b", "b": "a"}[key]))
	switch messages := strings.HasSuffix(r.URL.Path, "/messages"); {
	case foreign && messages:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}")
	case foreign:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"The encrypted content could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content","param":null}}`)
	case messages:
		dropped := ""
		if strings.Contains(string(body), "drop it") {
			dropped = `,"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"organization_binding_mismatch"}]`
		}
		_, _ = fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":%q},{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":5}%s}`, seal(key), dropped)
	default:
		_, _ = fmt.Fprintf(w, `{"id":"resp_1","object":"response","created_at":7,"status":"completed","model":"m","output":[{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":%q},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}`, seal(key))
	}
}

// secondTurns has routes of two accounts in an edge and a core: each second turn goes to the account of the first, native and
// translated, and what does not fit is counted and told.
func secondTurns(t *testing.T, _ stores) {
	vendor := httptest.NewServer(http.HandlerFunc(accounts))
	t.Cleanup(vendor.Close)
	dir := t.TempDir()
	file, metrics := filepath.Join(dir, "genway.yaml"), socket(t)
	var config strings.Builder
	config.WriteString("upstreams:\n")
	for _, kind := range []string{"responses", "messages"} {
		for _, key := range []string{"a", "b"} {
			fmt.Fprintf(&config, "  %s-%s: {kind: %s, base_url: %q, api_key: %s}\n", kind, key, kind, vendor.URL, key)
		}
	}
	config.WriteString("routes:\n  - {model: r, targets: [{upstream: responses-a}, {upstream: responses-b}]}\n  - {model: m, targets: [{upstream: messages-a}, {upstream: messages-b}]}\n")
	write(t, file, config.String())
	s := server.Start(t, server.Options{TwoProcess: true, Args: []string{"--config", file, "--metrics-listen", "unix:" + metrics}})
	post := func(c turns, body string) (int, http.Header, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+c.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.Keys[c.group])
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header, string(answer)
	}
	for name, c := range conversations {
		for _, model := range []string{"r", "m"} {
			went := map[string]bool{}
			for n := 0; n < 6 || len(went) < 2; n++ {
				if n == 64 {
					t.Fatalf("%s of %s: all went to %v", name, model, went)
				}
				status, header, answer := post(c, fmt.Sprintf(c.body, model, fmt.Sprint("conversation ", n)))
				made := header.Get("X-Genway-Upstream")
				went[made] = true
				var read map[string]any
				if err := json.Unmarshal([]byte(answer), &read); err != nil || status != http.StatusOK {
					t.Fatalf("%s of %s: %d %s", name, model, status, answer)
				}
				turn, err := json.Marshal(c.turn(read))
				if err != nil {
					t.Fatal(err)
				}
				status, header, answer = post(c, fmt.Sprintf(c.second, model, fmt.Sprint("conversation ", n), turn))
				if at := header.Get("X-Genway-Upstream"); at != made || status != http.StatusOK || header.Get("X-Genway-Lost") != "" {
					t.Fatalf("%s of %s: the second turn went to %s, and %s made its reasoning: %d, lost %q: %s", name, model, at, made, status, header.Get("X-Genway-Lost"), answer)
				}
			}
		}
	}
	var both []string
	for _, account := range []string{"a", "b"} {
		seal := base64.StdEncoding.EncodeToString([]byte("what only account " + account + " can read"))
		both = append(both, fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":%q},{"type":"text","text":"hi"}]}`, seal))
	}
	if status, _, answer := post(conversations["messages"], fmt.Sprintf(conversations["messages"].second, "m", "refuse it", strings.Join(both, ","))); status != http.StatusBadRequest || !strings.Contains(answer, "Invalid `signature`") {
		t.Errorf("signatures of both: %d %s", status, answer)
	}
	if status, _, answer := post(conversations["messages"], fmt.Sprintf(conversations["messages"].body, "m", "drop it")); status != http.StatusOK || !strings.Contains(answer, "input_transformations") {
		t.Errorf("a vendor that drops: %d %s", status, answer)
	}
	gone := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"genway@0123456789.c2VhbA=="}`
	if status, header, answer := post(conversations["responses"], fmt.Sprintf(conversations["responses"].second, "r", "leave it out", gone)); status != http.StatusOK || header.Get("X-Genway-Lost") == "" {
		t.Errorf("an account that is gone: %d, lost %q: %s", status, header.Get("X-Genway-Lost"), answer)
	}
	fleet.Within(t, fleet.WaitLimit, "the metrics and the log do not tell what did not fit", func() bool {
		text, log, all := page(t, metrics, "/metrics"), s.Core.Log(), true
		for _, reason := range []string{"account", "organization", "refused"} {
			all = all && strings.Contains(text, fmt.Sprintf("genway_reasoning_mismatches_total{reason=%q} 1", reason)) && strings.Contains(log, "reasoning:"+reason)
		}
		return all
	})
}
