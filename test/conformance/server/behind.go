package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Kinds are the kinds of upstream that generate text, as configurations name them.
func Kinds() []string {
	return []string{"chat", "responses", "messages", "generatecontent", "generation"}
}

// Before launches a gateway that has s for its only upstreams: one of the kind for text,
// and for kinds of vendors' protocols one of the kind images. Models keep their names. It
// shares the data and the keys of s, and neither retries nor breaks the circuit, so that
// each failure of s is seen once. The caller stops it before s.
func (s *Server) Before(kind string) (*Server, error) {
	g := &Server{Data: s.Data, Keys: map[string]string{}}
	dir, err := g.directory("genway-config-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "genway.yaml")
	if err := os.WriteFile(file, []byte(s.configuration(kind)), 0o600); err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	if err := g.launch(Options{Data: s.Data, Keys: s.Keys, Args: []string{"--config", file}}); err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// configuration is that of a gateway before s.
func (s *Server) configuration(kind string) string {
	const once = "retries: -1, break_after: -1"
	if kind == "generation" {
		return fmt.Sprintf("upstreams:\n  text: {kind: generation, target: %q, api_key: %q, %s}\nroutes:\n  - {model: \"*\", targets: [{upstream: text}]}\n",
			s.GRPC, s.Keys["internal"], once)
	}
	group := kind
	if kind == "responses" {
		group = "chat"
	}
	takes := ""
	if kind == "chat" {
		takes = ", takes: everything" // as another Genway does
	}
	return fmt.Sprintf("upstreams:\n  text: {kind: %s, base_url: %q, api_key: %q, %s%s}\n  pictures: {kind: images, base_url: %q, api_key: %q, %s}\n",
		kind, s.URL(), s.Keys[group], once, takes, s.URL(), s.Keys["chat"], once) +
		"routes:\n  - {model: \"*\", targets: [{upstream: text}, {upstream: pictures}]}\n"
}

// Ways are gateways with the sandbox behind each kind of upstream.
type Ways struct {
	// ByKind has the sandbox itself under sandbox, and the gateways before it.
	ByKind map[string]*Server
}

// LaunchWays launches the sandbox and a gateway before it of each kind.
func LaunchWays() (*Ways, error) {
	sandbox, err := Launch(Options{})
	if err != nil {
		return nil, err
	}
	w := &Ways{ByKind: map[string]*Server{"sandbox": sandbox}}
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, kind := range Kinds() {
		wait.Go(func() {
			g, err := sandbox.Before(kind)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", kind, err))
				return
			}
			w.ByKind[kind] = g
		})
	}
	wait.Wait()
	if len(errs) > 0 {
		return nil, errors.Join(append(errs, w.Stop())...)
	}
	return w, nil
}

// Stop ends the gateways, then the sandbox.
func (w *Ways) Stop() error {
	var errs []error
	for _, kind := range append(Kinds(), ForeignCore, "sandbox") {
		if s := w.ByKind[kind]; s != nil {
			errs = append(errs, s.Stop())
		}
	}
	return errors.Join(errs...)
}
