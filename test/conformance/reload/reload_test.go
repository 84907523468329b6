// Package reload replaces the configuration of a running gateway again and again while
// requests go through it.
package reload

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

const reloads = 100

// upstream answers with its own name, the model it was asked for and the header that a
// configuration sets: all three are of one configuration, or it was a mixed one.
func upstream(t *testing.T, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model  string
			Stream bool
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text := strings.Join([]string{name, body.Model, r.Header.Get("X-Configuration")}, " ")
		if !body.Stream {
			fmt.Fprintf(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, text)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", text)
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, "data: {\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// configure writes the n-th configuration, whole or not at all. Both upstreams have the
// same name in it, so that only all of a configuration is right.
func configure(t *testing.T, file string, n int, base string) {
	t.Helper()
	text := fmt.Sprintf(`upstreams:
  u: {kind: chat, base_url: %q, headers: {X-Configuration: "%d"}}
routes:
  - {model: asked, targets: [{upstream: u, model: model-%d}]}
`, base, n, n)
	next := file + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}

// ask makes one request and returns what the upstream was sent.
func ask(s *server.Server, stream bool) (string, error) {
	body := fmt.Sprintf(`{"model":"asked","stream":%t,"messages":[{"role":"user","content":"Who are you?"}]}`, stream)
	req, err := http.NewRequest(http.MethodPost, s.URL()+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+s.Keys["chat"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK || stream && !strings.Contains(string(answer), "[DONE]") {
		return "", fmt.Errorf("%s: %s", resp.Status, answer)
	}
	_, text, _ := strings.Cut(string(answer), `"content":"`)
	text, _, _ = strings.Cut(text, `"`)
	return text, nil
}

// TestUnderLoad reloads a hundred times under load: no request fails, none sees a
// mixture of two configurations, and each reload takes effect.
func TestUnderLoad(t *testing.T) {
	bases := []string{upstream(t, "even").URL, upstream(t, "odd").URL}
	file := filepath.Join(t.TempDir(), "genway.yaml")
	configure(t, file, 0, bases[0])
	s := server.Start(t, server.Options{Args: []string{"--config", file}})
	var stop atomic.Bool
	var answered atomic.Int64
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for !stop.Load() {
				got, err := ask(s, c%2 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				var name string
				var model, header int
				if _, err := fmt.Sscanf(got, "%s model-%d %d", &name, &model, &header); err != nil || model != header || name != []string{"even", "odd"}[model%2] {
					t.Errorf("a mixed configuration: %q", got)
				}
				answered.Add(1)
			}
		})
	}
	for n := 1; n <= reloads; n++ {
		configure(t, file, n, bases[n%2])
		if err := s.Core.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for want := fmt.Sprintf("%s model-%d %d", []string{"even", "odd"}[n%2], n, n); !t.Failed(); {
			got, err := ask(s, false)
			if err != nil {
				t.Fatal(err)
			}
			if got == want {
				break
			}
		}
	}
	stop.Store(true)
	callers.Wait()
	t.Logf("%d reloads, %d requests", reloads, answered.Load())
	if strings.Contains(s.Core.Log(), "the new configuration is bad") {
		t.Error("a configuration was bad")
	}
}
