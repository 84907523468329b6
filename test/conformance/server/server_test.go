package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// TestStart: both forms answer the same request with the keys they came with, and
// end cleanly.
func TestStart(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]server.Options{"one process": {}, "two processes": {TwoProcess: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server.Start(t, options)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/chat/completions",
				strings.NewReader(`{"model":"sandbox-text","messages":[{"role":"user","content":"Say hello."}]}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+s.Keys["chat"])
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "Say hello.") {
				t.Errorf("%s: %s", resp.Status, body)
			}
		})
	}
}

// TestFailedStart holds that the error has the program's output.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	if _, err := server.Launch(server.Options{Args: []string{"--no-such-flag"}}); err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("error is %v", err)
	}
}
