package programs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// lister is an upstream that returns its list of models as the test says.
type lister struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
}

func newLister(t *testing.T, answer http.HandlerFunc) *lister {
	t.Helper()
	l := &lister{}
	l.answer.Store(&answer)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		(*l.answer.Load())(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *lister) say(answer http.HandlerFunc) { l.answer.Store(&answer) }

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// listedModels asks for a list of models and returns the names in it.
func listedModels(t *testing.T, r *server.Server, path, header, key string) []string {
	t.Helper()
	body, status := get(t, r.URL()+path, header, key)
	var list struct {
		Data   []struct{ ID string }
		Models []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", path, status, body, err)
	}
	names := []string{}
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	for _, m := range list.Models {
		names = append(names, strings.TrimPrefix(m.Name, "models/"))
	}
	return names
}

func get(t *testing.T, url, header, key string) (string, int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(header, key)
	if header == "X-Api-Key" {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	return fetch(t, http.DefaultClient, req)
}

func fetch(t *testing.T, client *http.Client, req *http.Request) (string, int) {
	t.Helper()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), resp.StatusCode
}

// discoveredModels has upstreams of three protocols asked for their models under routes
// that are globs alone.
func discoveredModels(t *testing.T, _ stores) {
	forever := make(chan struct{})
	defer close(forever)
	hangs := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-forever:
		}
	}
	chat := newLister(t, says(`{"object":"list","data":[{"id":"org/one:tag"},{"id":"claude-by-chat"},{"id":"two\u0007"},{"id":"one"},{"id":"one"}]}`))
	messages := newLister(t, func(w http.ResponseWriter, r *http.Request) {
		page := map[string]string{"": `{"data":[{"id":"claude-a"}],"has_more":true,"last_id":"claude-a"}`, "claude-a": `{"data":[{"id":"claude-b"},{"id":"other"}],"has_more":false}`}
		_, _ = io.WriteString(w, page[r.URL.Query().Get("after_id")])
	})
	gemini := newLister(t, says(`{"models":[{"name":"models/gemini-a","supportedGenerationMethods":["generateContent"]},{"name":"models/gemini-embed","supportedGenerationMethods":["embedContent"]}]}`))
	sick := newLister(t, hangs)
	file := filepath.Join(t.TempDir(), "genway.yaml")
	write(t, file, fmt.Sprintf(`upstreams:
  chat: {kind: chat, base_url: "%s/v1", api_key: k, models: discover}
  claude: {kind: messages, base_url: "%s", api_key: k, models: discover}
  gemini: {kind: generatecontent, base_url: "%s", api_key: k, models: discover}
  sick: {kind: chat, base_url: "%s/v1", models: discover}
routes:
  - {model: "claude-*", targets: [{upstream: claude}]}
  - {model: "gemini-*", targets: [{upstream: gemini}]}
  - {model: "alias-*", targets: [{upstream: sick, model: real}]}
  - {model: "*", targets: [{upstream: chat}, {upstream: sick}]}
`, chat.URL, messages.URL, gemini.URL, sick.URL))
	r := server.Start(t, server.Options{Args: []string{"--config", file}})
	limited, err := server.CreateKey(r.Data, "chat", "limited", "--models", "claude-*,one")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"claude-a", "claude-b", "gemini-a", "one", "org/one:tag"}
	await(t, func() bool {
		return slices.Equal(listedModels(t, r, "/v1/models", "Authorization", "Bearer "+r.Keys["chat"]), all)
	}, func() string {
		return fmt.Sprint(listedModels(t, r, "/v1/models", "Authorization", "Bearer "+r.Keys["chat"]))
	})
	for _, c := range []struct {
		path, header, key string
		want              []string
	}{
		{"/v1/models", "X-Api-Key", r.Keys["messages"], all},
		{"/v1beta/models", "X-Goog-Api-Key", r.Keys["generatecontent"], all},
		{"/v1/models", "Authorization", "Bearer " + limited, []string{"claude-a", "claude-b", "one"}},
	} {
		if got := listedModels(t, r, c.path, c.header, c.key); !slices.Equal(got, c.want) {
			t.Errorf("%s with %s: %q, want %q", c.path, c.header, got, c.want)
		}
	}
	for path, status := range map[string]int{"claude-a": 200, "org/one:tag": 200, "claude-by-chat": 404, "gemini-embed": 404, "unheard-of": 404} {
		if body, got := get(t, r.URL()+"/v1/models/"+path, "Authorization", "Bearer "+r.Keys["chat"]); got != status {
			t.Errorf("the model %s: %d %s, want %d", path, got, body, status)
		}
	}
	// A model that is not listed is served all the same: the list is for pickers.
	before := chat.asked.Load()
	_, _ = get(t, r.URL()+"/v1/models", "Authorization", "Bearer "+r.Keys["chat"])
	if chat.asked.Load() != before {
		t.Error("a caller's list asks the upstream")
	}
	// What goes wrong at each next asking, of which a reload makes one, changes nothing.
	for name, answer := range map[string]http.HandlerFunc{
		"401":             func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
		"a redirect":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, gemini.URL, http.StatusFound) },
		"HTML":            says("<html>Sign in</html>"),
		"100 MB":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, endless{}, 100<<20) },
		"a million names": func(w http.ResponseWriter, _ *http.Request) { millionNames(w) },
		"pages for ever":  says(`{"data":[{"id":"x"}],"has_more":true,"last_id":"x"}`),
	} {
		messages.say(answer)
		asked := messages.asked.Load()
		if err := r.Core.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { return messages.asked.Load() > asked }, func() string { return name + ": the upstream was not asked" })
		if got := listedModels(t, r, "/v1/models", "Authorization", "Bearer "+r.Keys["chat"]); !slices.Equal(got, all) {
			t.Errorf("%s: %q, want %q", name, got, all)
		}
	}
	if !strings.Contains(r.Core.Log(), "list of models cannot be read") {
		t.Error("the log says nothing of the failures")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func millionNames(w io.Writer) {
	_, _ = io.WriteString(w, `{"data":[{"id":"m"}`)
	for i := range 1_000_000 {
		if _, err := fmt.Fprintf(w, `,{"id":"m%d"}`, i); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, `]}`)
}

// await waits for something to become so.
func await(t *testing.T, so func() bool, otherwise func() string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); !so(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come about: %s\n", otherwise())
		}
	}
}
