package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gateway is the program under test, before one place.
type gateway struct {
	address string
	keys    map[string]string
	process *exec.Cmd
	log     bytes.Buffer
}

// groups are the groups of keys that the protocols of recordings are asked with.
var groups = map[string]string{"chat": "chat", "responses": "chat", "messages": "messages", "count_tokens": "messages", "generatecontent": "generatecontent"}

// start runs a program with one upstream, whose data are in a folder.
func start(ctx context.Context, program, dir, upstream string, protocols []string) (*gateway, error) {
	file := filepath.Join(dir, "config.yaml")
	// Each exchange is one call: failures are recordings too, so none is tried again and none
	// keeps the next away.
	text := "upstreams:\n  u: {" + upstream + ", retries: -1, break_after: -1}\nroutes:\n  - {model: \"*\", targets: [{upstream: u}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	g := &gateway{keys: map[string]string{}}
	data := filepath.Join(dir, "data")
	for _, protocol := range protocols {
		group := groups[protocol]
		if g.keys[group] != "" {
			continue
		}
		made, err := exec.CommandContext(ctx, program, "keys", "create", "--data", data, "--group", group, "--name", "replay").Output()
		if err != nil {
			return nil, fmt.Errorf("keys create: %w", err)
		}
		g.keys[group] = strings.TrimSpace(string(made))
	}
	g.process = exec.CommandContext(ctx, program, "serve", "--data", data, "--config", file, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-format", "json")
	printed, err := g.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := g.process.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(printed)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		g.log.Write(append(lines.Bytes(), '\n'))
		var line struct{ Msg, HTTP string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "genway is up" {
			g.address = "http://" + line.HTTP
			break
		}
	}
	if g.address == "" {
		return nil, errors.Join(fmt.Errorf("the gateway did not start: %s", g.log.String()), g.end())
	}
	go func() {
		for lines.Scan() { // what follows is not looked at, and must not fill the pipe
		}
	}()
	return g, nil
}

// end ends the program.
func (g *gateway) end() error {
	if err := g.process.Process.Kill(); err != nil {
		return err
	}
	_ = g.process.Wait() // it was killed
	return nil
}
