package programs

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/genway/genway/test/conformance/server"
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

// keysGetOut runs each command that makes a key with outputs that cannot be written: none makes, rotates or ends a key.
func keysGetOut(t *testing.T, each stores) {
	binary, err := server.Binary("genway")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "k.csv")
	write(t, file, "group,name\nchat,a\nchat,b\n")
	// A shell closes an output as operators do: what is left out for a process of Go's is /dev/null.
	closing := func(how string) func(args ...string) *exec.Cmd {
		return func(args ...string) *exec.Cmd {
			return exec.Command("sh", append([]string{"-c", `"$@" ` + how, "sh", binary}, args...)...)
		}
	}
	outputs := map[string]func(args ...string) *exec.Cmd{
		"a full disk": closing(">/dev/full"), "a closed output": closing(">&-"), "closed outputs": closing(">&- 2>&-"), "a file to be read": closing(">&0 </dev/null"),
		"a pipe without a reader": func(args ...string) *exec.Cmd {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = writer.Close() })
			_ = reader.Close()
			cmd := exec.Command(binary, args...)
			cmd.Stdout = writer
			return cmd
		},
	}
	each.each(t, func(t *testing.T, data string) {
		key := genway(t, data, "keys", "create", "--group=chat", "--name=ci")
		state := func() string {
			return genway(t, data, "keys", "list", "--format=json") + genway(t, data, "audit", "list")
		}
		before := state()
		for _, line := range []string{"keys create --group=chat --name=lost", "keys rotate ci --grace=0s", "keys import " + file, "console link"} {
			for how, command := range outputs {
				if err := command(append(strings.Fields(line), server.At(data)...)...).Run(); err == nil {
					t.Errorf("%s, %s: it exits with 0", line, how)
				}
				if after := state(); after != before {
					t.Fatalf("%s, %s: %s", line, how, after)
				}
			}
		}
		// An operator who discards a key says so.
		if err := closing(">/dev/null")(append([]string{"keys", "create", "--group=chat", "--name=discarded"}, server.At(data)...)...).Run(); err != nil {
			t.Error(err)
		}
		if list := genway(t, data, "keys", "list"); strings.Count(list, "key_") != 2 || !strings.Contains(list, "discarded") {
			t.Error(list)
		}
		if next := genway(t, data, "keys", "rotate", "ci", "--grace=0s"); !strings.HasPrefix(next, "gwk_") || next == key {
			t.Errorf("rotated to %q", next)
		}
	})
}
