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
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/genway/genway/core/ledger"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/sandbox"
	"google.golang.org/protobuf/proto"
)

// engine is a chat upstream that answers with its name.
func engine(t *testing.T, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, name)
	}))
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, file, base string) {
	t.Helper()
	text := fmt.Sprintf("upstreams:\n  a: {kind: chat, base_url: %q}\nroutes:\n  - {model: \"*\", targets: [{upstream: a}]}\n", base)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func routing(t *testing.T, file string, log *slog.Logger) *Routing {
	t.Helper()
	embedded := sandbox.New(sandbox.Config{})
	r, err := NewRouting(file, embedded, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func ask(ctx context.Context, r *Routing) (string, error) {
	resp, err := r.Router.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{{
		Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "a"}}}}}}}))
	if err != nil {
		return "", err
	}
	return resp.GetCandidates()[0].GetParts()[0].GetText().GetText(), nil
}

// A good file replaces the old one, a bad one changes nothing, and no request fails
// on the way.
func TestReloadUnderLoad(t *testing.T) {
	one, two := engine(t, "one"), engine(t, "two")
	file := filepath.Join(t.TempDir(), "genway.yaml")
	write(t, file, one.URL)
	r := routing(t, file, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if got, err := ask(t.Context(), r); err != nil || (got != "one" && got != "two") {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	for i := range 100 {
		write(t, file, []string{one.URL, two.URL}[i%2])
		if err := r.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	group.Wait()
	if got, err := ask(t.Context(), r); got != "two" || err != nil {
		t.Errorf("after the last: %q, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("routes: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), file+":1:") {
		t.Errorf("a bad file: %v", err)
	}
	if got, err := ask(t.Context(), r); got != "two" || err != nil {
		t.Errorf("after a bad file: %q, %v", got, err)
	}
}

// A change of the file is seen without being asked, with the system's help or
// without it.
func TestWatch(t *testing.T) {
	for name, watching := range map[string]func(string) (*fsnotify.Watcher, error){
		"reported by the system": watch,
		"not reported":           func(string) (*fsnotify.Watcher, error) { return nil, errors.New("no watches left") },
	} {
		t.Run(name, func(t *testing.T) {
			one, two, three := engine(t, "one"), engine(t, "two"), engine(t, "three")
			file := filepath.Join(t.TempDir(), "genway.yaml")
			write(t, file, one.URL)
			reloaded := make(chan struct{}, 16)
			log := slog.New(slog.NewTextHandler(writerFunc(func(line string) {
				if strings.Contains(line, "configuration reloaded") {
					reloaded <- struct{}{}
				}
			}), nil))
			r := routing(t, file, log)
			r.watch = watching
			write(t, file, two.URL+"/") // ahead of the watch
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Watch(ctx) }()
			for _, next := range []string{"two", "three"} {
				select {
				case <-reloaded:
				case <-time.After(time.Minute):
					t.Fatal("the change was not seen")
				}
				if got, err := ask(t.Context(), r); got != next || err != nil {
					t.Errorf("%q, %v", got, err)
				}
				write(t, file, three.URL)
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// pricedAt writes a configuration whose prices file says what a model costs.
func pricedAt(t *testing.T, file, base, prices string, dollars int) {
	t.Helper()
	write(t, file, base)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prices, fmt.Appendf(nil, "prices: [{model: m, input: %d, output: 0}]\n", dollars), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(text, "prices: %q\n", prices), 0o600); err != nil {
		t.Fatal(err)
	}
}

func cost(r *Routing) int64 {
	p, _ := r.Prices.Find("a", "m", time.Now())
	return p.Cost(ledger.Usage{Input: 1_000_000})
}

// Prices come and go with the configuration; bad ones change nothing.
func TestPrices(t *testing.T) {
	one := engine(t, "one")
	file, prices := filepath.Join(t.TempDir(), "genway.yaml"), filepath.Join(t.TempDir(), "prices.yaml")
	pricedAt(t, file, one.URL, prices, 3)
	r := routing(t, file, slog.New(slog.DiscardHandler))
	if got := cost(r); got != 3e9 {
		t.Errorf("at the start: %d", got)
	}
	pricedAt(t, file, one.URL, prices, 4)
	if err := r.Reload(); err != nil || cost(r) != 4e9 {
		t.Errorf("reloaded: %d, %v", cost(r), err)
	}
	if err := os.WriteFile(prices, []byte("prices: [{model: m}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), prices+":1:10") || cost(r) != 4e9 {
		t.Errorf("bad prices: %d, %v", cost(r), err)
	}
	if _, err := NewRouting(file, nil, nil, nil); err == nil {
		t.Error("bad prices were taken at the start")
	}
	write(t, file, one.URL)
	if err := r.Reload(); err != nil || cost(r) != 0 {
		t.Errorf("without prices: %d, %v", cost(r), err)
	}
}

// Lists of models state the prices of the upstream's names, as they are in force.
func TestModelsHavePrices(t *testing.T) {
	one := engine(t, "one")
	file, prices := filepath.Join(t.TempDir(), "genway.yaml"), filepath.Join(t.TempDir(), "prices.yaml")
	text := fmt.Sprintf("upstreams:\n  a: {kind: chat, base_url: %q}\nroutes:\n  - {model: alias, targets: [{upstream: a, model: m}]}\n  - {model: free, targets: [{upstream: a}]}\n", one.URL)
	write := func(text, catalogue string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(prices, []byte(catalogue), 0o600), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(text, "")
	r := routing(t, file, slog.New(slog.DiscardHandler))
	if got := r.Router.Models()[0].GetPrice(); got != nil {
		t.Errorf("without prices: %v", got)
	}
	write(fmt.Sprintf("%sprices: %q\n", text, prices), "prices: [{model: m, input: 3, output: 15, cache_read: 0.3, image: 0.04}]\n")
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	want := &genwayv1.ModelPrice{InputNanoDollars: 3e9, OutputNanoDollars: 15e9, CacheReadNanoDollars: 3e8, CacheWriteNanoDollars: 3e9, ImageNanoDollars: new(int64(4e7))}
	if got := r.Router.Models(); !proto.Equal(got[0].GetPrice(), want) || got[1].Price != nil {
		t.Errorf("%v, want %v of the first alone", got, want)
	}
}

// A change of the prices is followed without a signal, and a bad one is logged once.
func TestWatchPrices(t *testing.T) {
	one := engine(t, "one")
	file, prices := filepath.Join(t.TempDir(), "genway.yaml"), filepath.Join(t.TempDir(), "prices.yaml")
	pricedAt(t, file, one.URL, prices, 1)
	lines := make(chan string, 16)
	r := routing(t, file, slog.New(slog.NewTextHandler(writerFunc(func(line string) { lines <- line }), nil)))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx) }()
	for _, step := range []struct {
		text, says string
		cost       int64
	}{
		{"prices: [{model: m, input: 22, output: 0}]\n", "configuration reloaded", 22e9},
		{"prices: [{model: m, input: 22}]\n", "output is missing", 22e9},
		{"prices: [{model: m, input: 333, output: 0}]\n", "configuration reloaded", 333e9},
	} {
		if err := os.WriteFile(prices+".new", []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(prices+".new", prices); err != nil {
			t.Fatal(err)
		}
		select {
		case line := <-lines:
			if !strings.Contains(line, step.says) || cost(r) != step.cost {
				t.Errorf("%d after %s", cost(r), line)
			}
		case <-time.After(time.Minute):
			t.Fatal("the change was not seen")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type writerFunc func(line string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// Without a file the sandbox answers everything.
func TestNoFile(t *testing.T) {
	r := routing(t, "", slog.New(slog.DiscardHandler))
	if e := r.Router.Explain(genwayv1.Protocol_PROTOCOL_MESSAGES, "anything"); e.Route != 0 || e.Targets[0].Name != "sandbox" {
		t.Errorf("%+v", e)
	}
}
