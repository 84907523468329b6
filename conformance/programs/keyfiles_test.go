package programs

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/genway/genway/conformance/server"
)

// rotatedKeys rotates an upstream's key by its file while callers ask without a pause. The
// vendor takes the new key from before the file has it, and no key that it never gave.
func rotatedKeys(t *testing.T, _ stores) {
	var uses sync.Map // how often each key that was given was used
	give := func(key string) string {
		uses.Store("Bearer "+key, new(atomic.Int64))
		return key
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used, known := uses.Load(r.Header.Get("Authorization"))
		if !known {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		used.(*atomic.Int64).Add(1)
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	key, file := filepath.Join(dir, "key"), filepath.Join(dir, "genway.yaml")
	write(t, key, give("key-0"))
	write(t, file, fmt.Sprintf("upstreams:\n  up: {kind: chat, base_url: \"%s/v1\", api_key_file: key, retries: -1, break_after: -1}\nroutes:\n  - {model: \"*\", targets: [{upstream: up}]}\n", upstream.URL))
	r := server.Start(t, server.Options{Args: []string{"--config", file}})
	ask := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+r.Keys["chat"])
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK {
			err = errors.Join(err, fmt.Errorf("status %d: %s", resp.StatusCode, body))
		}
		return errors.Join(err, resp.Body.Close())
	}
	ended := make(chan struct{})
	var load sync.WaitGroup
	for range 2 {
		load.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				if err := ask(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	used := func(key string) func() bool {
		return func() bool {
			times, _ := uses.Load("Bearer " + key)
			return times.(*atomic.Int64).Load() > 10
		}
	}
	stays := 0
	for n, rotate := range []func(text string) error{
		func(text string) error {
			return errors.Join(os.WriteFile(key+".new", []byte(text), 0o600), os.Rename(key+".new", key))
		},
		func(text string) error { return os.WriteFile(key, []byte(text), 0o600) }, // emptied first
		func(text string) error {
			if err := os.Remove(key); err != nil {
				return err
			}
			stays++
			await(t, func() bool { return strings.Count(r.Core.Log(), "the old one stays") >= stays }, r.Core.Log)
			return os.WriteFile(key, []byte(text), 0o600)
		},
		func(text string) error { // as Kubernetes does
			return errors.Join(os.WriteFile(filepath.Join(dir, "v2"), []byte(text), 0o600), os.Symlink("v2", key+".new"), os.Rename(key+".new", key))
		},
	} {
		next := give(fmt.Sprintf("key-%d-%s", n+1, strings.Repeat("x", 100*n)))
		if err := rotate(next + "\n"); err != nil {
			t.Fatal(err)
		}
		await(t, used(next), func() string { return fmt.Sprintf("rotation %d: the new key is not used", n) })
	}
	close(ended)
	load.Wait()
}
