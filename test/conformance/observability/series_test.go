package observability

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/test/conformance/vendors"
)

// hostile are requests whose every part that a caller can choose is another: models that
// routes match and models that none does, paths, methods, keys.
func hostile(n int) (method, path, model string) {
	method, path = http.MethodPost, "/v1/chat/completions"
	switch n % 10 {
	case 0:
		return method, fmt.Sprintf("/v1/nowhere/%d", n), "m"
	case 1:
		return fmt.Sprintf("METHOD%d", n), path, "m"
	case 2:
		return method, fmt.Sprintf("/v1beta/models/hostile%d:generateContent", n), "m"
	case 3:
		return method, path, strings.Repeat("é", n%300) + "\"}\n# HELP forged " + strconv.Itoa(n)
	case 4, 5:
		return method, path, vendors.Model("missing", fmt.Sprintf("x%d-untraced", n), n)
	}
	return method, path, fmt.Sprintf("hostile-%d-model", n)
}

// The number of series does not grow with what callers choose: 10,000 requests with as many
// names of models, paths, methods and ids leave as many as 100 of them do.
func hostileNames(t *testing.T, _ bases) {
	exporting(t, "grpc", "always_off")
	r := start(t, false, t.TempDir(), func(dir, side string) []string {
		return []string{"--metrics-listen", "unix:" + filepath.Join(dir, side)}
	})
	send := func(n int) {
		method, path, model := hostile(n)
		req, err := http.NewRequestWithContext(t.Context(), method, r.URL()+path, strings.NewReader(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, model)))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+r.Keys["chat"])
		req.Header.Set("X-Request-ID", fmt.Sprint("mine-", n))
		req.Header.Set("User-Agent", fmt.Sprint("agent-", n))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	series := func() (n int, text string) {
		_, body, err := metricsOfSocket(t.Context(), filepath.Join(r.dir, "core"), "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(body) {
			if line[0] != '#' && !bytes.HasPrefix(line, []byte("go_")) {
				n++
			}
		}
		return n, string(body)
	}
	for n := range 100 {
		send(n)
	}
	before, _ := series()
	work := make(chan int)
	var sending sync.WaitGroup
	for range 8 {
		sending.Go(func() {
			for n := range work {
				send(n)
			}
		})
	}
	for n := 100; n < 10_100; n++ {
		work <- n
	}
	close(work)
	sending.Wait()
	after, text := series()
	// A connection or two more may have been refused or reused for a first time.
	if after > before+20 {
		t.Errorf("%d series after 100 requests, %d after 10,000 more", before, after)
	}
	for _, chosen := range []string{"hostile", "METHOD", "nowhere", "mine-", "agent-", "forged"} {
		if i := strings.Index(text, chosen); i >= 0 {
			t.Errorf("a caller's word is in the metrics: …%.200s", text[max(0, i-100):])
		}
	}
}
