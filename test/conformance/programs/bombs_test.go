package programs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
)

// bombBound is how many MiB a core may have had in memory after every bomb, two at a
// time: the budget of the test for answers, which is 256 MiB, as much again as the collector
// lets lie, and what a core has beside them. One answer alone took 1,500.
const bombBound = 700

// bomb is an answer of head, filling repeated to about size bytes, and tail, compressed:
// in members (RFC 1952, 2.2), so that it is made in no time.
func bomb(head, filling, tail string, size int) []byte {
	zipped := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.Bytes()
	}
	member := zipped(strings.Repeat(filling, (1<<20)/len(filling)))
	return slices.Concat(zipped(head), bytes.Repeat(member, size>>20), zipped(tail))
}

// bombs are what a hostile upstream answers, by the model that it is asked for: about a
// thousand times as large as they look, or costlier decoded than they are long.
func bombs() map[string][]byte {
	const chat = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[`
	const text = `{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`
	return map[string][]byte{
		"text":    bomb(chat+text, "a", `"}}]}`, 2<<30),
		"fits":    bomb(chat+text, "a", `"}}]}`, 24<<20),
		"spaces":  bomb(" ", " ", chat+`]}`, 2<<30),
		"choices": bomb(chat, `{},`, `{}]}`, 24<<20),
		"nulls":   bomb(chat+`],"usage":{"x":[`, `null,`, `null]}}`, 24<<20),
		"error":   bomb(`{"error":{"message":"`, "a", `"}}`, 1<<30),
		"event":   bomb(`data: {"id":"`, "a", "\"}\n\n", 2<<30),
		"comment": bomb(": ", "a", "\n\n", 2<<30),
		"flood":   bomb("", ": OPENROUTER PROCESSING\n\n", "data: [DONE]\n\n", 1<<30),
		"pings":   bomb("", "event: ping\ndata: {\"type\": \"ping\"}\n\n", "data: [DONE]\n\n", 1<<30),
		"image":   bomb(`{"created":1,"data":[{"b64_json":"`, "aaaa", `"}]}`, 2<<30),
	}
}

// boundedBombs has upstreams answer with bombs, eight at once, to callers of their own
// protocol and of others.
func boundedBombs(t *testing.T, _ stores) {
	all := bombs()
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for name, answer := range all {
			if !strings.Contains(string(body), `"`+name+`"`) {
				continue
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(string(body), `"stream":true`) {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			if name == "error" {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = w.Write(answer)
		}
	}))
	t.Cleanup(hostile.Close)
	file := filepath.Join(t.TempDir(), "genway.yaml")
	write(t, file, fmt.Sprintf(`upstreams:
  hostile: {kind: chat, base_url: "%[1]s/v1", retries: -1, break_after: -1}
  drawn: {kind: images, base_url: "%[1]s/v1", retries: -1, break_after: -1}
routes:
  - {model: image, targets: [{upstream: drawn}]}
  - {model: "*", targets: [{upstream: hostile}]}
`, hostile.URL))
	r := server.Start(t, server.Options{Args: []string{"--config", file}})
	client, err := caller.New(r.URL(), r.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var wait sync.WaitGroup
		for i := range 2 {
			call := caller.Call{Protocol: []string{"chat", "messages"}[i%2], Model: name}
			call.Stream = name == "event" || name == "comment" || name == "flood" || name == "pings"
			call.Key = r.Keys[caller.Group(call.Protocol)]
			wait.Go(func() {
				if name == "image" {
					drawBomb(t, r)
					return
				}
				seen, err := client.Do(t.Context(), call)
				want := http.StatusBadGateway
				if name == "error" {
					want = http.StatusBadRequest
				}
				fits := name == "fits" || name == "nulls" || name == "choices"
				switch {
				case err != nil:
					t.Errorf("%s: %v", name, err)
				case name == "pings" && seen.Status == http.StatusOK && !seen.Whole && strings.Contains(seen.Body, `"error"`):
				case fits && (seen.Status == http.StatusOK || seen.Status == http.StatusServiceUnavailable):
				case seen.Status != want && (name == "error" || seen.Status != http.StatusServiceUnavailable) || seen.Whole || !strings.Contains(seen.Body, `"error"`):
					t.Errorf("%s to %+v: %d %.300s", name, call, seen.Status, seen.Body)
				}
			})
		}
		wait.Wait()
		now, most := resident(t, r.Core)
		t.Logf("%s: %d bytes of gzip, %d MiB now, %d MiB at most", name, len(all[name]), now, most)
	}
	if _, most := resident(t, r.Core); most > bombBound {
		t.Errorf("the core has had %d MiB, more than %d", most, bombBound)
	}
}

func drawBomb(t *testing.T, r *server.Server) {
	t.Helper()
	rig := &rig{Server: r}
	status, body := rig.post(t, way{"chat", "/v1/images/generations", `{"model":"%s","prompt":"Nothing."}`}, "image", r.Keys["chat"])
	if status != http.StatusBadGateway && status != http.StatusServiceUnavailable || !strings.Contains(body, `"error"`) {
		t.Errorf("image: %d %.300s", status, body)
	}
}
