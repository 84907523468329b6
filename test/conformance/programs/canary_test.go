package programs

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/otlp"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	canaryPrompt = "canary-words-of-a-prompt"
	canaryAnswer = "Answer number" // as the vendors begin theirs
	canaryEdge   = "canary-secret-of-the-edge"
	canaryRedis  = "canary-password-of-redis"
	// canaryDatabase is the password of the tests' PostgreSQL.
	canaryDatabase = "canary-of-the-database"
)

// leaks is a search for secrets in the output of a gateway.
type leaks struct {
	secrets map[string]string // by what they are
	mu      sync.Mutex
	texts   map[string]*strings.Builder // by where they were found
}

func (l *leaks) add(where, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts[where] == nil {
		l.texts[where] = &strings.Builder{}
	}
	l.texts[where].WriteString(text + "\n")
}

// pieces of a secret that are too long to be shown: a mask that leaves so much hides nothing.
func pieces(secret string) []string {
	const enough = 12
	if len(secret) <= enough+4 {
		return []string{secret}
	}
	return []string{secret[4 : 4+enough], secret[len(secret)-enough:]}
}

// noSecretLeaks starts the programs at debug level with canaries in each place that has a
// secret, sends good and wrong keys in every way through everything that can go wrong, and
// looks for the canaries in all that comes out.
func noSecretLeaks(t *testing.T, _ stores) {
	t.Run("one process on SQLite", func(t *testing.T) {
		t.Parallel()
		canaries(t, server.Options{Data: t.TempDir()}, func() {})
	})
	t.Run("two processes on PostgreSQL", func(t *testing.T) {
		t.Parallel()
		postgres := server.StartPostgres(t)
		canaries(t, server.Options{Data: postgres.Database(t), TwoProcess: true}, func() {
			postgres.Kill(t)
			postgres.Start(t)
		})
	})
}

// canaries does so with a gateway; restart ends its database in the middle.
func canaries(t *testing.T, options server.Options, restart func()) {
	t.Helper()
	// A directory of its own keeps the path below the 108 bytes a socket's may have.
	secret, metricsAt, pages := filepath.Join(t.TempDir(), "secret"), socket(t), socket(t)
	write(t, secret, canaryEdge)
	edge := []string{"--log-level", "debug", "--edge-secret-file", secret, "--max-body-bytes", "1000000"}
	if options.TwoProcess {
		options.EdgeArgs, options.Args = edge, edge[:4]
	} else {
		options.Args = edge
	}
	options.Args = append(slices.Clone(options.Args), "--metrics-listen", "unix:"+metricsAt, "--debug-listen", "unix:"+pages)
	exported, endpoints := otlp.Start(t)
	options.Env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoints["grpc"], "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}
	// No server listens there: the program's error has no password in it.
	r := start(t, options, "limits: {store: \"redis://genway:"+canaryRedis+"@127.0.0.1:1/0\", keys: {requests_per_minute: 1000000000}}\n")
	found := &leaks{texts: map[string]*strings.Builder{}, secrets: map[string]string{
		"upstream's key": upstreamKey, "edge's secret": canaryEdge, "database's password": canaryDatabase, "Redis' password": canaryRedis,
		"wrong key": "gwk_canaryThatNobodyHasEverMade0123456789",
	}}
	for group, key := range r.Keys {
		found.secrets["key of "+group] = key
	}
	admin, err := server.CreateKey(options.Data, "admin", "administrator")
	if err != nil {
		t.Fatal(err)
	}
	found.secrets["key of admin"] = admin
	found.secrets["rotated key"] = strings.TrimSpace(genway(t, options.Data, "keys", "rotate", "administrator"))
	var looks atomic.Int64
	r.vendors.Watch = func(req *http.Request) {
		header := req.Header.Clone()
		for _, place := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
			header.Set(place, strings.ReplaceAll(header.Get(place), upstreamKey, "")) // where it belongs
		}
		found.add("the upstream's requests", fmt.Sprint(req.URL, header))
		if looks.Add(1)%20 == 0 {
			found.add("pages for debugging", page(t, pages, "/debug/requests")) // this one is in flight
		}
	}
	administer(t, r, found, admin)
	sendCanaries(t, r, found)
	restart()
	sendNonsense(t, r, found)
	metrics := page(t, metricsAt, "/metrics")
	if !strings.Contains(metrics, "genway_requests_total{") {
		t.Errorf("no metrics:\n%s", metrics)
	}
	found.add("metrics", metrics)
	for _, path := range []string{"/debug/requests", "/debug/build", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/"} {
		found.add("pages for debugging", page(t, pages, path))
	}
	exported.Await(t, "1,000 spans", func(spans []*tracepb.Span, _ map[string]bool) bool { return len(spans) >= 1000 })
	found.add("traces and metrics", exported.Raw())
	found.outputs(t, r)
	found.search(t)
}

// socket is the path of a socket that a program is to make, which is short enough for one.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "genway-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// page returns a page of a socket.
func page(t *testing.T, socket, path string) string {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %d %v\n%s", path, resp.StatusCode, err, text)
	}
	return string(text)
}

// sendCanaries has everything happen that can to requests of all protocols.
func sendCanaries(t *testing.T, r *rig, found *leaks) {
	t.Helper()
	n := 0
	for _, do := range []string{vendors.Answer, vendors.Busy, vendors.Broken, vendors.Cut, vendors.Garbage, vendors.Echo, vendors.Echo400, vendors.EchoLate, "missing"} {
		for _, protocol := range protocols() {
			for _, stream := range []bool{false, true} {
				for _, key := range slices.Sorted(maps.Keys(found.secrets)) {
					for _, inURL := range []bool{false, true} {
						own := key == "key of "+caller.Group(protocol)
						if inURL && protocol == "grpc" || do != vendors.Answer && !own {
							continue // what has no such place, and what never gets there
						}
						n++
						to := "own"
						if n%2 == 0 {
							to = vendors.Protocols()[n%4]
						}
						seen := r.call(t, caller.Call{Protocol: protocol, Stream: stream, Model: vendors.Model(do, "cancel-"+to, n), Key: found.secrets[key], KeyInURL: inURL, Prompt: canaryPrompt})
						if own && (!inURL || protocol == "generatecontent") && (seen.Status == http.StatusUnauthorized || do == vendors.Answer && !seen.Whole) {
							t.Errorf("%s with its own key: %d %s", protocol, seen.Status, seen.Body)
						}
						found.add("answers", fmt.Sprintln(seen.Header, seen.Body))
					}
				}
			}
		}
	}
}

// sendNonsense makes requests that no client makes, each with keys in it.
func sendNonsense(t *testing.T, r *rig, found *leaks) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, key := range found.secrets {
		paths := []string{
			"/", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/images/generations", "/v1/models", "/v1/models/m",
			"/v1beta/models", "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:countTokens", "/v1beta/models/m:nothing",
			"/nowhere", "//v1/chat/completions", "/v1/chat/completions/", "/healthz", "/metrics", "/debug/pprof/",
		}
		if strings.HasPrefix(key, "gwk_") {
			paths = append(paths, "/v1/models/"+key, "/v1beta/models/"+key+":generateContent", "/v1/"+key, "/%2f"+key, "/v1/models/"+strings.ReplaceAll(key, "_", "%5f"), "/v1/models/"+strings.Repeat("a", 170)+key)
		}
		for _, path := range paths {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				for _, body := range []string{
					`{"model":"m","messages":[{"role":"user","content":"` + canaryPrompt, // ends early
					`{"model":"m","temperature":"` + canaryPrompt + `","messages":[]}`,
					`{"model":"m","` + canaryPrompt + `":1,"` + canaryPrompt + `":2}`,
					strings.Repeat("[", 2000) + canaryPrompt,
				} {
					req, err := http.NewRequestWithContext(t.Context(), method, r.URL()+path+"?key="+key+"&alt=sse", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Anthropic-Version", "2023-06-01")
					req.Header.Set("X-Goog-Api-Key", key)
					resp, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					if !strings.Contains(req.URL.Path, "gwk_") { // what the caller has written there, an answer may say again
						found.add("answers", fmt.Sprintln(resp.Header, string(text)))
					}
				}
			}
		}
	}
	for _, protocol := range protocols() { // a key in the place of the model
		for _, stream := range []bool{false, true} {
			for what, key := range found.secrets {
				if strings.HasPrefix(key, "gwk_") {
					seen := r.call(t, caller.Call{Protocol: protocol, Stream: stream, Model: key, Key: r.Keys[caller.Group(protocol)], Prompt: canaryPrompt})
					if seen.Status != http.StatusBadRequest && protocol != "grpc" || seen.Whole {
						t.Errorf("%s, the %s as the model: %d %s", protocol, what, seen.Status, seen.Body)
					}
					found.add("answers", fmt.Sprintln(seen.Header, seen.Body))
				}
			}
		}
	}
	big := r.call(t, caller.Call{Protocol: "chat", Model: "m", Prompt: strings.Repeat(canaryPrompt, 1_000_000/len(canaryPrompt))})
	if big.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large gets %d", big.Status)
	}
	found.add("answers", big.Body)
}

// outputs gathers what the programs have written: their logs, their database, and what
// the administrator is shown.
func (l *leaks) outputs(t *testing.T, r *rig) {
	t.Helper()
	for _, args := range [][]string{
		{"keys", "list"}, {"keys", "list", "--format", "json"}, {"keys", "show", "administrator"}, {"audit", "list"}, {"audit", "list", "--format", "json"},
		{"audit", "verify"}, {"usage", "--by", "key"}, {"usage", "--by", "model", "--format", "json"},
	} {
		l.add("reports", genway(t, r.Data, args...))
	}
	l.add("rows", r.db.Dump(t))
	files, err := filepath.Glob(filepath.Join(r.Data, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files { // SQLite's: rows that were deleted are still in them
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		l.add("rows", string(text))
	}
	core, edge := r.Core.Log(), r.Edge.Log()
	for name, log := range map[string]string{"core": core, "edge": edge} {
		if strings.Count(log, `"msg":"call"`)+strings.Count(log, `"msg":"request"`) < 100 || !strings.Contains(log, "key_") && name == "core" {
			t.Errorf("the %s's log does not have the requests:\n%.2000s", name, log)
		}
	}
	l.add("logs", core+edge)
}

// search looks for the secrets everywhere, and for prompts and answers where none belongs.
func (l *leaks) search(t *testing.T) {
	t.Helper()
	report := func(what, piece, where, text string) {
		i := strings.Index(text, piece)
		t.Errorf("the %s is in %s %d times: %q", what, where, strings.Count(text, piece), text[max(0, i-300):min(len(text), i+len(piece)+100)])
	}
	for where, text := range l.texts {
		for what, secret := range l.secrets {
			for _, piece := range pieces(secret) {
				if strings.Contains(text.String(), piece) {
					report(what, piece, where, text.String())
				}
			}
		}
		if where != "answers" && where != "the upstream's requests" {
			// What is stored as bytes is dumped as hexadecimal digits.
			for _, words := range []string{canaryPrompt, canaryAnswer, hex.EncodeToString([]byte(canaryPrompt)), hex.EncodeToString([]byte(canaryAnswer))} {
				if strings.Contains(text.String(), words) {
					report("text "+words, words, where, text.String())
				}
			}
		}
	}
}
