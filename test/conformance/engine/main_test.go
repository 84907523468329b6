//go:build engine

// Package engine_test puts a real engine behind the gateway: llama-server with the
// tiny model of package model, as chat, responses and messages upstream, for callers
// of all four text protocols by their vendors' SDKs. `make engine` runs it; it needs
// llama-server and says so loudly when that cannot be had.
package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/engine/model"
	"github.com/genway/genway/test/conformance/server"
)

// kinds are the protocols that the engine speaks, each with a model of its own in the
// gateway's routes: tiny-chat goes to the engine's chat completions.
func kinds() []string { return []string{"chat", "responses", "messages"} }

var gateway *server.Server

// TestMain starts the engine and the gateway in front of it.
func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "genway-engine-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base, stop, err := startEngine(dir)
	if err != nil {
		return 1, err
	}
	defer stop()
	config := filepath.Join(dir, "genway.yaml")
	if err := os.WriteFile(config, []byte(configuration(base)), 0o600); err != nil {
		return 1, err
	}
	gateway, err = server.Launch(server.Options{Args: []string{"--config", config}})
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, gateway.Stop()
}

// startEngine runs llama-server on a free port and returns when it answers.
func startEngine(dir string) (base string, stop func(), err error) {
	command := strings.Split(strings.TrimSpace(os.Getenv("ENGINE")), "\n")
	if command[0] == "" {
		return "", nil, errors.New("ENGINE is empty: it is the command of llama-server, one word a line; make engine sets it")
	}
	file := filepath.Join(dir, model.Name+".gguf")
	if err := os.WriteFile(file, model.Bytes(), 0o600); err != nil {
		return "", nil, err
	}
	address := server.Address()
	host, port, _ := net.SplitHostPort(address)
	ctx, cancel := context.WithCancel(context.Background())
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], append(command[1:],
		"--model", file, "--alias", model.Name, "--host", host, "--port", port, "--jinja", "--parallel", "4", "--threads", "1")...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, fmt.Errorf("start llama-server: %w", err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	stop = func() { cancel(); <-ended }
	base = "http://" + address
	if err := await(base+"/health", ended); err != nil {
		stop()
		return "", nil, fmt.Errorf("%w\n%s", err, log.Bytes())
	}
	return base, stop, nil
}

// await asks until the engine has its model loaded.
func await(url string, ended <-chan struct{}) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		select {
		case <-ended:
			return errors.New("llama-server has ended")
		case <-end:
			return errors.New("llama-server is not ready after a minute")
		case <-tick.C:
		}
		answer, err := http.Get(url)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// configuration routes a model for each kind to the engine.
func configuration(base string) string {
	var upstreams, routes strings.Builder
	for _, kind := range kinds() {
		fmt.Fprintf(&upstreams, "  engine-%s: {kind: %s, base_url: %q}\n", kind, kind, base)
		fmt.Fprintf(&routes, "  - {model: tiny-%s, targets: [{upstream: engine-%s, model: %s}]}\n", kind, kind, model.Name)
	}
	return "upstreams:\n" + upstreams.String() + "routes:\n" + routes.String()
}
