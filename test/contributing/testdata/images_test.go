package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/test/servers"
)

// The limit of the example bounds images, by a flag and by the configuration, in memory and in Redis. It is settled by
// the images that were made, and refused by its own words.
func TestImagesPerMinute(t *testing.T) {
	for name, store := range map[string]string{"in memory": "", "in Redis": "store: \"" + servers.NewRedis(t).URL() + "\", timeout: 10s, "} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "genway.yaml")
			text := "routes: [{model: \"*\", targets: [{upstream: sandbox}]}]\nlimits: {" + store + "owners: [{owner: team, images_per_minute: 5}]}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			create := func(name string, more ...string) string {
				return strings.TrimSpace(must(t, dir, append([]string{"keys", "create", "--group=chat", "--owner=team", "--name=" + name}, more...)...))
			}
			limited, other := create("limited", "--images-per-minute=2"), create("other")
			client, _, end, ended := running(t, serveCommand{
				CoreFlags: coreproc.CoreFlags{Data: coreproc.Data{Dir: dir, Config: file}, Grace: 20 * time.Second, TextModel: "sandbox-text", ImageModel: "sandbox-image"},
				EdgeFlags: edgeproc.EdgeFlags{WriteTimeout: time.Minute},
				Log:       cli.Log{Format: "text"},
			})
			for _, c := range []struct{ key, path, body, refused string }{
				{limited, "images/generations", `{"model":"sandbox-image","prompt":"a","n":2}`, ""},
				{limited, "images/generations", `{"model":"sandbox-image","prompt":"a","n":1}`, "Rate limit reached for this key: 2 images a minute, and this request may take 1. Please try again in "},
				{limited, "chat/completions", `{"model":"sandbox-text","messages":[{"role":"user","content":"hi"}]}`, ""},
				{other, "images/generations", `{"model":"sandbox-image","prompt":"a","n":4}`, "Rate limit reached for the owner of this key: 5 images a minute, and this request may take 4. "},
				{other, "images/generations", `{"model":"sandbox-image","prompt":"a","n":3}`, ""},
			} {
				status, body := posted(t, client, c.key, c.path, c.body)
				if c.refused == "" && status != http.StatusOK || c.refused != "" && (status != http.StatusTooManyRequests || !strings.Contains(body, c.refused)) {
					t.Errorf("%s: %d %.300s", c.body, status, body)
				}
			}
			end()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// posted sends a body and returns the status and the body of the answer.
func posted(t *testing.T, client *http.Client, key, path, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}
