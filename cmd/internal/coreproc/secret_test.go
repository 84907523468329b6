//go:build unix

package coreproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file with a key is read again when it changes, by whatever way; one that cannot be
// read, or holds no key, changes nothing, and is logged once.
func TestSecretRefresh(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	var used []string
	var log strings.Builder
	s := &secret{upstream: "u", file: file, key: "k1", use: func(key string) { used = append(used, key) }}
	logger := slog.New(slog.NewTextHandler(&log, nil))
	write := func(text string) func() error {
		return func() error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	replace := func(text string) func() error {
		return func() error {
			return errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file))
		}
	}
	still := time.Now().Add(-time.Hour)
	refresh := func() {
		for s.refresh(logger) {
		}
	}
	for i, step := range []struct {
		do   func() error
		used string // the key from then on; empty for no change
		says string // the one line of the log
	}{
		{write("k1\n"), "", ""},
		{write("k22\n"), "k22", "was read again"},
		{func() error { return os.Chtimes(file, still, still) }, "", ""},
		{func() error { return errors.Join(replace("k23\n")(), os.Chtimes(file, still, still)) }, "k23", "was read again"}, // of the same size and age
		{func() error { return os.Remove(file) }, "", "the old one stays"},
		{write(""), "", "the old one stays"},
		{write("canary-1\ncanary-2\n"), "", "the old one stays"},
		{func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }, "", "the old one stays"},
		{func() error { return os.Remove(file) }, "", "the old one stays"},
		{func() error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "v2"), []byte("k3"), 0o600), os.Symlink("v2", file))
		}, "k3", "was read again"},
		{func() error { return os.WriteFile(filepath.Join(dir, "v2"), []byte("k33"), 0o600) }, "k33", "was read again"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		used = nil
		log.Reset()
		refresh()
		if got := strings.Join(used, " "); got != step.used {
			t.Errorf("step %d: %q is used, want %q", i, got, step.used)
		}
		if !strings.Contains(log.String(), step.says) || (step.says == "") != (log.Len() == 0) || strings.Contains(log.String(), "canary") {
			t.Errorf("step %d: the log says %q, want %q", i, log.String(), step.says)
		}
		log.Reset()
		if refresh(); log.Len() > 0 {
			t.Errorf("step %d: logged again: %s", i, log.String())
		}
	}
}

// A file that is being written is not read before it stays as it is, so that no request goes
// out with half a key.
func TestSecretHalfWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	used := ""
	s := &secret{upstream: "u", file: file, key: "first", use: func(key string) { used += key + " " }}
	for i, step := range []struct {
		written string
		again   bool
	}{{"first", true}, {"first", false}, {"sec", true}, {"second-", true}, {"second-key", true}, {"second-key", false}, {"second-key", false}} {
		if err := os.WriteFile(file, []byte(step.written), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+len(step.written)), 0) // a write of the same text is none
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		if again := s.refresh(slog.New(slog.DiscardHandler)); again != step.again {
			t.Errorf("step %d: to be looked at again soon: %t", i, again)
		}
	}
	if used != "second-key " {
		t.Errorf("used %q", used)
	}
}

// A running core uses the new key without a reload, and the old one where the new is none.
func TestKeyFileIsFollowed(t *testing.T) {
	shown := make(chan string, 64)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	key, file := filepath.Join(dir, "key"), filepath.Join(dir, "genway.yaml")
	text := fmt.Sprintf("upstreams:\n  a: {kind: chat, base_url: %q, api_key_file: key}\nroutes:\n  - {model: \"*\", targets: [{upstream: a}]}\n", upstream.URL)
	if err := errors.Join(os.WriteFile(key, []byte("one\n"), 0o600), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 64)
	r := routing(t, file, slog.New(slog.NewTextHandler(writerFunc(func(line string) { lines <- line }), nil)))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx) }()
	expect := func(want string) {
		t.Helper()
		if _, err := ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := <-shown; got != "Bearer "+want {
			t.Errorf("the upstream was shown %q, want %s", got, want)
		}
	}
	says := func(want string) {
		t.Helper()
		select {
		case line := <-lines:
			if !strings.Contains(line, want) {
				t.Errorf("the log says %s, want %s", line, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the log does not say %s", want)
		}
	}
	expect("one")
	for _, step := range []struct{ content, says, key string }{
		{"two\n", "was read again", "two"},
		{"", "the old one stays", "two"},
		{"three", "was read again", "three"},
	} {
		if err := os.WriteFile(key+".new", []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(key+".new", key); err != nil {
			t.Fatal(err)
		}
		says(step.says)
		expect(step.key)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
