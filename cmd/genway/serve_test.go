package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/core/keys"
)

// When the end is asked for, both sides close their doors at once: a request that
// goes on over JSON keeps the gRPC side from nothing, and is still answered.
func TestBothSidesEndTogether(t *testing.T) {
	dir := t.TempDir()
	var key string
	if err := (coreproc.Data{Dir: dir}).WithNewKeys(t.Context(), func(service *keys.Service) (err error) {
		key, _, err = service.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c := serveCommand{
		CoreFlags: coreproc.CoreFlags{Data: coreproc.Data{Dir: dir}, Grace: 20 * time.Second, TextModel: "sandbox-text", ImageModel: "sandbox-image"},
		EdgeFlags: edgeproc.EdgeFlags{WriteTimeout: time.Minute},
		Log:       cli.Log{Format: "text"},
	}
	client, grpc, end, ended := running(t, c)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/chat/completions",
		strings.NewReader(`{"model":"sandbox-drip-50ms","stream":true,"messages":[{"role":"user","content":"`+strings.Repeat("word ", 60)+`"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	end()
	whole := make(chan string)
	go func() {
		answer, _ := io.ReadAll(resp.Body)
		whole <- string(answer)
	}()
	for open := true; open; {
		select {
		case <-whole:
			t.Fatal("the gRPC side is open until the last JSON answer is out")
		default:
			conn, err := new(net.Dialer).DialContext(t.Context(), "unix", grpc)
			if open = err == nil; open {
				_ = conn.Close()
			}
		}
	}
	if answer := <-whole; !strings.Contains(answer, `"finish_reason":"stop"`) {
		t.Errorf("cut: %s", answer)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Without a grace a request that is in flight ends as soon as the end is asked for, by an error that says why. The
// bound is below the default grace, and far above what it takes.
func TestNoGrace(t *testing.T) {
	dir := t.TempDir()
	var key string
	if err := (coreproc.Data{Dir: dir}).WithNewKeys(t.Context(), func(service *keys.Service) (err error) {
		key, _, err = service.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c := serveCommand{
		CoreFlags: coreproc.CoreFlags{Data: coreproc.Data{Dir: dir}, TextModel: "sandbox-text", ImageModel: "sandbox-image"},
		EdgeFlags: edgeproc.EdgeFlags{WriteTimeout: time.Minute},
		Log:       cli.Log{Format: "text"},
	}
	client, _, end, ended := running(t, c)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/chat/completions",
		strings.NewReader(`{"model":"sandbox-drip-50ms","stream":true,"messages":[{"role":"user","content":"`+strings.Repeat("word ", 2000)+`"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	asked := time.Now()
	end()
	answer, _ := io.ReadAll(resp.Body)
	if !strings.Contains(string(answer), `"error"`) {
		t.Errorf("%.300s", answer)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(asked); took > 18*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// A setting of the edge that cannot be meant stops the start before anything is announced or made.
func TestWrongOrigin(t *testing.T) {
	dir := t.TempDir()
	c := serveCommand{
		CoreFlags: coreproc.CoreFlags{Data: coreproc.Data{Dir: dir}, GRPC: "127.0.0.1:0", TextModel: "sandbox-text", ImageModel: "sandbox-image"},
		EdgeFlags: edgeproc.EdgeFlags{HTTP: "127.0.0.1:0", CORSOrigin: []string{"http://localhost/"}},
		Log:       cli.Log{Format: "text"},
	}
	var out strings.Builder
	err := c.Run(t.Context(), &out)
	if _, usage := errors.AsType[cli.UsageError](err); !usage || !strings.HasPrefix(err.Error(), `--cors-origin (GENWAY_CORS_ORIGINS): "http://localhost/": expected `) || out.Len() > 0 {
		t.Errorf("%v; printed %q", err, out.String())
	}
	if made, _ := os.ReadDir(dir); len(made) > 0 {
		t.Errorf("%v was made", made)
	}
}

// running runs a command on sockets of its own once it listens, and returns a client of its JSON side, the
// path of its gRPC side, what asks it to end, and its end.
func running(t *testing.T, c serveCommand) (client *http.Client, grpc string, end func(), ended <-chan error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "serve") // a short path, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	json, grpc := filepath.Join(dir, "json"), filepath.Join(dir, "grpc")
	c.HTTP, c.GRPC = "unix:"+json, "unix:"+grpc
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	up, printed := io.Pipe()
	result := make(chan error, 1)
	go func() { result <- c.Run(ctx, printed) }()
	if _, err := up.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, up) }()
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", json)
	}}}, grpc, end, result
}
