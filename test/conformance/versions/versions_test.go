package versions

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/fleet"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// version is programs of one version.
type version struct {
	name string
	dir  string // empty for this version
}

func (v version) program(name string) (string, error) {
	if v.dir == "" {
		return server.Binary(name)
	}
	return filepath.Join(v.dir, name), nil
}

func (v version) start(name string, args ...string) (*server.Process, error) {
	path, err := v.program(name)
	if err != nil {
		return nil, err
	}
	return server.StartProgram(v.name+" "+name, path, args...)
}

// severalCores reports whether an edge of the version takes several targets.
func (v version) severalCores(t *testing.T) bool {
	t.Helper()
	path, err := v.program("genway-edge")
	if err != nil {
		t.Fatal(err)
	}
	help, err := server.OutputOf("genway-edge", path, "--help")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(help, "dns:///")
}

// Edges of either version serve every protocol with cores of either, and with one of each.
func TestPairs(t *testing.T) {
	own, other := version{"this version's", ""}, version{"the other version's", os.Getenv("GENWAY_OTHER_BIN")}
	if other.dir == "" {
		t.Log("GENWAY_OTHER_BIN is not set: both are of this version; make versions OTHER=REF runs this with another one")
	}
	for _, edge := range []version{own, other} {
		for _, cores := range [][]version{{own}, {other}, {other, own}} {
			if edge == other && !slices.Contains(cores, own) {
				continue // nothing of this version
			}
			if other.dir == "" && (edge != own || cores[0] != other) {
				continue // the same again
			}
			if len(cores) > 1 && !edge.severalCores(t) {
				t.Logf("an edge that is %s takes one core", edge.name)
				continue
			}
			t.Run(name(edge, cores), func(t *testing.T) { pair(t, edge, cores) })
		}
	}
}

func name(edge version, cores []version) string {
	all := []string{edge.name, "edge,"}
	for _, c := range cores {
		all = append(all, c.name, "core")
	}
	return strings.Join(all, " ")
}

// pair starts cores on one store, the earlier version first, since the later one brings the
// store up to date, and an edge before them.
func pair(t *testing.T, edge version, cores []version) {
	t.Helper()
	f := fleet.NewWithoutKeys(t, t.TempDir(), vendors.Start(t))
	genway, err := cores[0].program("genway")
	if err != nil {
		t.Fatal(err)
	}
	f.Made(genway)
	for _, c := range cores {
		f.StartBy(c.start, f.Data, "127.0.0.1:0")
	}
	e := f.EdgeBy(edge.start, "127.0.0.1:0", f.Addresses()...)
	for range cores { // each of several cores gets each request once
		generations(t, f, e)
		others(t, f, e)
	}
	keys(t, f, e, cores[len(cores)-1])
	for _, c := range f.Cores {
		fleet.Within(t, fleet.WaitLimit, "a core got no calls", func() bool { return len(c.Served()) > 0 })
	}
}

// keys makes a key and revokes it, by the later version's command: all cores follow.
func keys(t *testing.T, f *fleet.Fleet, e *fleet.Edge, by version) {
	t.Helper()
	genway, err := by.program("genway")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, err := server.OutputOf("genway", genway, append(args, server.At(f.Data)...)...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	key := run("keys", "create", "--group", "chat", "--name", "late")
	client := f.Client(e)
	// inTurn is whether the key gets a status ten times in a row, at each of the cores.
	inTurn := func(status int) bool {
		for range 10 {
			call := caller.Call{Protocol: "chat", Key: key, Model: vendors.Model(vendors.Answer, "cancel-own", int(number.Add(1)))}
			if seen, err := client.Do(t.Context(), call); err != nil || seen.Status != status {
				return false
			}
		}
		return true
	}
	if !inTurn(http.StatusOK) {
		t.Error("a new key is not taken")
	}
	run("keys", "revoke", "late")
	fleet.Within(t, fleet.WaitLimit, "a revoked key is taken", func() bool { return inTurn(http.StatusUnauthorized) })
}

// number is that of the last request.
var number atomic.Int64

// generations asks in each protocol, unary and streamed, an upstream of the same protocol and
// of each other one for whole answers, and one of the same protocol for such as fail.
func generations(t *testing.T, f *fleet.Fleet, e *fleet.Edge) {
	t.Helper()
	client := f.Client(e)
	var asking sync.WaitGroup
	for _, protocol := range caller.Text() {
		asking.Go(func() {
			for _, upstream := range append(vendors.Protocols(), "own") {
				for _, do := range []string{vendors.Answer, vendors.Cut, vendors.Broken} {
					if do != vendors.Answer && upstream != "own" {
						continue
					}
					for _, stream := range []bool{false, true} {
						n := int(number.Add(1))
						call := caller.Call{
							Protocol: protocol, Stream: stream, Key: f.Keys[caller.Group(protocol)],
							Model: vendors.Model(do, "cancel-"+upstream, n), Prompt: prompt(n),
						}
						seen, err := client.Do(t.Context(), call)
						if err != nil || seen.Whole != (do == vendors.Answer) || do == vendors.Answer && !strings.Contains(seen.Body, "Answer number") {
							t.Errorf("%s of %s, upstream %s, stream %v: %v, %d: %.300s", do, protocol, upstream, stream, err, seen.Status, seen.Body)
						}
						if do == vendors.Broken && seen.Status < 500 {
							t.Errorf("%s, upstream %s, stream %v: a failure is %d", protocol, upstream, stream, seen.Status)
						}
					}
				}
			}
		})
	}
	asking.Wait()
}

// prompt is a long one for every fifth request: its body is read once the key is accepted.
func prompt(n int) string {
	if n%5 == 0 {
		return strings.Repeat("lorem ", 20_000)
	}
	return "Say hello."
}

// others asks for what is no generation of text.
func others(t *testing.T, f *fleet.Fleet, e *fleet.Edge) {
	t.Helper()
	chat := `{"model":"answer-cancel-own-7","messages":[{"role":"user","content":"hi"}]}`
	count := `{"model":"answer-cancel-messages-7","messages":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct {
		method, path, group, body, encoding string
		want                                []int
		says                                string
	}{
		{http.MethodGet, "/healthz", "", "", "", []int{200}, ""},
		{http.MethodGet, "/v1/models", "chat", "", "", []int{200}, `"data"`},
		{http.MethodGet, "/v1beta/models", "generatecontent", "", "", []int{200}, ""},
		{http.MethodPost, "/v1/chat/completions", "chat", chat, "gzip", []int{200}, "Answer number 7."},
		{http.MethodPost, "/v1/chat/completions", "wrong", chat, "", []int{401}, `"error"`},
		{http.MethodPost, "/v1/chat/completions", "wrong", chat, "gzip", []int{401}, `"error"`},
		{http.MethodPost, "/v1/chat/completions", "messages", chat, "", []int{403}, `"error"`},
		{http.MethodPost, "/v1/chat/completions", "chat", chat[:20], "", []int{400}, `"error"`},
		{http.MethodPost, "/v1/messages/count_tokens", "messages", count, "", []int{200, 404, 501}, ""}, // the fake has no such path, which older versions pass on as 404
		{http.MethodPost, "/v1/images/generations", "chat", `{"model":"answer-image-7","prompt":"a square"}`, "", []int{200}, `"b64_json"`},
		{http.MethodPost, "/v1/chat/completions", "chat", strings.ReplaceAll(chat, "answer-cancel-own", "nothing"), "", []int{404}, `"error"`},
	} {
		body := []byte(c.body)
		if c.encoding == "gzip" {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, _ = w.Write(body)
			_ = w.Close()
			body = packed.Bytes()
		}
		req, err := http.NewRequestWithContext(t.Context(), c.method, e.URL+c.path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		key := f.Keys[c.group]
		if c.group == "wrong" {
			key = "gwk_wrong"
		}
		req.Header.Set("Authorization", "Bearer "+key)
		if c.group == "generatecontent" {
			req.Header.Del("Authorization")
			req.Header.Set("X-Goog-Api-Key", key)
		}
		if c.group == "messages" && strings.HasPrefix(c.path, "/v1/messages") {
			req.Header.Set("Anthropic-Version", "2023-06-01")
		}
		req.Header.Set("Content-Type", "application/json")
		if c.encoding != "" {
			req.Header.Set("Content-Encoding", c.encoding)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
			continue
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !slices.Contains(c.want, resp.StatusCode) || !bytes.Contains(text, []byte(c.says)) {
			t.Errorf("%s %s with %s %s: %v, %d: %.300s", c.method, c.path, c.group, c.encoding, err, resp.StatusCode, text)
		}
	}
}
