//go:build unix

package coreproc

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/servers"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(servers.Main{M: m}) }

// cores are processes' worth of cores on one data directory and one configuration.
func cores(t *testing.T, n int, config string) (clients []genwayv1.GenerationClient, key string, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "genway.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for range n {
		flags := CoreFlags{Data: Data{Dir: dir, Config: file}, Grace: time.Second, TextModel: "sandbox-text", ImageModel: "sandbox-image"}
		core, err := flags.Open(context.WithoutCancel(t.Context()), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if key == "" {
			if key, _, err = core.Keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupInternal}); err != nil {
				t.Fatal(err)
			}
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- core.Serve(ctx, listener) }()
		conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, genwayv1.NewGenerationClient(conn))
		t.Cleanup(func() {
			_ = conn.Close()
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := core.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return clients, key, file
}

// generate asks for a word, and returns the reason of the refusal; empty is admitted.
func generate(ctx context.Context, client genwayv1.GenerationClient, key string) string {
	_, err := client.GenerateText(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key), &genwayv1.GenerateTextRequest{
		Model: "sandbox-text", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "a"}}}}}}})
	if err == nil {
		return ""
	}
	for _, d := range status.Convert(err).Details() {
		if detail, ok := d.(*genwayv1.ErrorDetail); ok {
			return detail.GetReason()
		}
	}
	return err.Error()
}

const sandboxRoute = "routes: [{model: \"*\", targets: [{upstream: sandbox}]}]\n"

// Case K4: a limit is one for all cores that share a store, and each core's own without.
func TestK4LimitsAcrossCores(t *testing.T) {
	redis := servers.SharedRedis(t)
	for name, c := range map[string]struct {
		store string
		want  int64
	}{
		"shared": {"store: \"" + redis.URL() + "\", timeout: 10s, ", 7},
		"apart":  {"", 14},
	} {
		t.Run(name, func(t *testing.T) {
			clients, key, _ := cores(t, 2, sandboxRoute+"limits: {"+c.store+"keys: {requests_per_minute: 7}}\n")
			begun := time.Now()
			var admitted atomic.Int64
			var group sync.WaitGroup
			for i := range 60 {
				group.Go(func() {
					switch reason := generate(t.Context(), clients[i%2], key); reason {
					case "":
						admitted.Add(1)
					case "REQUESTS_PER_MINUTE":
					default:
						t.Error(reason)
					}
				})
			}
			group.Wait()
			// Time goes on meanwhile: 7 a minute are one more in 8.6 s, for each count.
			more := int64(time.Since(begun)/(8*time.Second)) * c.want / 7
			if got := admitted.Load(); got < c.want || got > c.want+more {
				t.Errorf("%d admitted, want %d", got, c.want)
			}
		})
	}
}

// Limits follow the file, with what was counted; a store they do not.
func TestLimitsAreReloaded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "genway.yaml")
	put := func(limits string) {
		if err := os.WriteFile(file, []byte(sandboxRoute+limits), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("limits: {keys: {concurrent: 1, requests_per_minute: 2}}\n")
	core, err := CoreFlags{Data: Data{Dir: dir, Config: file}, TextModel: "sandbox-text", ImageModel: "sandbox-image"}.Open(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	key, _, err := core.Keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupInternal})
	if err != nil {
		t.Fatal(err)
	}
	client := genwayv1.NewGenerationClient(core.Channel())
	for i, want := range []string{"", "", "REQUESTS_PER_MINUTE"} {
		if got := generate(t.Context(), client, key); got != want {
			t.Errorf("%d: %q", i, got)
		}
	}
	put("limits: {keys: {requests_per_minute: 3}}\n")
	if err := core.routing.Reload(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "REQUESTS_PER_MINUTE"} {
		if got := generate(t.Context(), client, key); got != want {
			t.Errorf("of three, %d: %q", i, got)
		}
	}
	put("limits: {store: \"redis://localhost:1\", keys: {requests_per_minute: 100}}\n")
	if err := core.routing.Reload(); err == nil || !strings.Contains(err.Error(), "store, prefix and timeout cannot change") {
		t.Error(err)
	}
	if got := generate(t.Context(), client, key); got != "REQUESTS_PER_MINUTE" {
		t.Errorf("a bad file counts: %q", got)
	}
}

// The metrics are served where they are asked for, and hold no key.
func TestMetricsAreServed(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "metrics")
	core, err := CoreFlags{Data: Data{Dir: dir}, Telemetry: cli.Telemetry{Metrics: "unix:" + socket}, TextModel: "sandbox-text", ImageModel: "sandbox-image"}.Open(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	key, made, err := core.Keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupInternal})
	if err != nil {
		t.Fatal(err)
	}
	client := genwayv1.NewGenerationClient(core.Channel())
	if got := generate(t.Context(), client, key); got != "" {
		t.Fatal(got)
	}
	answer := httptest.NewRecorder()
	core.telemetry.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	text := answer.Body.String()
	if want := `genway_requests_total{outcome="ok",protocol="grpc",route="*"} 1`; !strings.Contains(text, want) {
		t.Errorf("the scrape has no line %s, but:\n%s", want, linesWith(text, "genway_requests_total"))
	}
	for _, secret := range []string{key, made.ID} {
		if strings.Contains(text, secret) {
			t.Errorf("the scrape names a key:\n%s", linesWith(text, secret))
		}
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := core.Close(); err != nil {
		t.Error(err)
	}
}

// linesWith returns the lines that contain a word.
func linesWith(text, word string) string {
	var found strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found.WriteString(line)
		}
	}
	return found.String()
}
