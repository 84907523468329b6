package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/gateway"
	"google.golang.org/grpc"
)

// BenchmarkRequest is one chat completion through edge and core, over HTTP, from
// the sandbox: in one process, and over the unix socket that joins two.
func BenchmarkRequest(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	core, err := coreproc.CoreFlags{Data: coreproc.Data{Dir: b.TempDir()}, Grace: time.Second}.Open(ctx, log)
	if err != nil {
		b.Fatal(err)
	}
	key, _, err := core.Keys.Create(ctx, keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		b.Fatal(err)
	}
	socket := filepath.Join(b.TempDir(), "core")
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- core.Serve(ctx, listener) }()
	remote, err := gateway.Dial(gateway.CoreConfig{Targets: []string{"unix:" + socket}})
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range []struct {
		name string
		core grpc.ClientConnInterface
	}{{"all-in-one", core.Channel()}, {"two-processes", remote}} {
		for _, stream := range []bool{false, true} {
			for _, size := range []int{1 << 10, 200 << 10} {
				b.Run(fmt.Sprintf("%s/stream=%v/%dKB", form.name, stream, size>>10), func(b *testing.B) {
					edge, err := gateway.New(gateway.Config{Core: form.core, Logger: log})
					if err != nil {
						b.Fatal(err)
					}
					server := httptest.NewServer(edge)
					defer server.Close()
					body := fmt.Sprintf(`{"model":"sandbox-text","max_tokens":32,"stream":%v,"messages":[{"role":"user","content":%q}]}`, stream, strings.Repeat("word ", size/5))
					b.ReportAllocs()
					b.SetBytes(int64(len(body)))
					for b.Loop() {
						if err := ask(ctx, server, key, body); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
	_ = remote.Close()
	stop()
	if err := <-served; err != nil {
		b.Error(err)
	}
	if err := core.Close(); err != nil {
		b.Error(err)
	}
}

func ask(ctx context.Context, server *httptest.Server, key, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := server.Client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", resp.StatusCode, answer)
	}
	return err
}
