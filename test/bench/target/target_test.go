package target

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/upstream"
	"github.com/genway/genway/test/bench/workload"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The built-in proxy carries whole answers and streams.
func TestReverseProxy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, err := FreeAddress(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- upstream.New(upstream.Defaults()).Serve(ctx, listener) }()
	go func() { ended <- ServeProxy(ctx, address, listener.Addr().String()) }()
	client := load.NewClient(address, 2, time.Minute)
	w, to := workload.Chat1K(), workload.Recipient{Address: address, Key: "key"}
	for client.Once(ctx, w.Job(to)) != nil { // until it listens
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	for _, stream := range []bool{false, true} {
		w.Stream = stream
		if result := client.Do(ctx, w.Job(to), load.Run{Duration: time.Minute, Requests: 20}); result.Requests != 20 {
			t.Errorf("stream %v: %v", stream, result.Errors)
		}
	}
	client.Close()
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Targets are chosen by name, in the order of turns.
func TestNamed(t *testing.T) {
	got, err := Named([]string{AllInOne, Nginx})
	if err != nil || len(got) != 2 || got[0].Name != Nginx || got[1].Name != AllInOne {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Named([]string{"envoy"}); err == nil || !strings.Contains(err.Error(), "envoy") {
		t.Error(err)
	}
}

// Where nginx is missing, the error says how to get it.
func TestNoNginx(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	places := nginxPlaces
	nginxPlaces = []string{"nginx"}
	defer func() { nginxPlaces = places }()
	if _, err := nginx().Prepare(t.Context(), Site{Dir: t.TempDir()}); !errors.Is(err, ErrNoNginx) || !strings.Contains(err.Error(), "apt-get install nginx-light") {
		t.Error(err)
	}
}

// The configuration of nginx keeps connections and buffers nothing.
func TestNginxConfig(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "nginx")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	plan, err := nginx().Prepare(t.Context(), Site{Dir: dir, Upstream: "127.0.0.1:9"})
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"worker_processes 1;", "server 127.0.0.1:9; keepalive 4096;", "listen " + plan.Address + ";", "proxy_buffering off;", "proxy_request_buffering off;"} {
		if !strings.Contains(string(config), want) {
			t.Errorf("no %q in\n%s", want, config)
		}
	}
	if size, err := plan.Size(); err != nil || size != 10 {
		t.Errorf("size %d, %v", size, err)
	}
}
