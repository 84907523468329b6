package coreproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/sandbox"
)

// retireAfter is how long the upstreams of a replaced configuration are kept for
// the requests that began with them.
const retireAfter = 10 * time.Minute

// Routing is the router of a configuration file, kept up to date with it.
type Routing struct {
	Router   *route.Router
	file     string
	embedded *sandbox.Sandbox
	log      *slog.Logger

	mu      sync.Mutex
	current io.Closer
	retired map[io.Closer]*time.Timer
}

// NewRouting loads the file and builds its upstreams; without a file the sandbox
// answers everything.
func NewRouting(file string, embedded *sandbox.Sandbox, log *slog.Logger) (*Routing, error) {
	r := &Routing{file: file, embedded: embedded, log: log, retired: map[io.Closer]*time.Timer{}}
	built, err := r.build()
	if err != nil {
		return nil, err
	}
	r.Router, r.current = route.New(built.Routes), built
	return r, nil
}

func (r *Routing) build() (*Upstreams, error) {
	c := &config.Config{}
	if r.file != "" {
		var err error
		if c, err = config.Load(r.file, os.LookupEnv); err != nil {
			return nil, err
		}
	}
	return Build(c, r.embedded)
}

// Reload builds the file anew and swaps it in; a bad file changes nothing. Requests
// that have begun end with what they began with.
func (r *Routing) Reload() error {
	built, err := r.build()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Router.Swap(built.Routes)
	old := r.current
	r.current = built
	r.retired[old] = time.AfterFunc(retireAfter, func() { r.retire(old) })
	return nil
}

func (r *Routing) retire(old io.Closer) {
	r.mu.Lock()
	delete(r.retired, old)
	r.mu.Unlock()
	if err := old.Close(); err != nil {
		r.log.Warn("closing replaced upstreams", "error", err)
	}
}

// Close closes all upstreams, the replaced ones too.
func (r *Routing) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := []error{r.current.Close()}
	for old, timer := range r.retired {
		if timer.Stop() {
			errs = append(errs, old.Close())
		}
	}
	return errors.Join(errs...)
}

// Watch reloads on SIGHUP and whenever the file changes, until ctx ends. What comes
// of it is logged.
func (r *Routing) Watch(ctx context.Context) (err error) {
	if r.file == "" {
		<-ctx.Done()
		return nil
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	// Editors and orchestrators replace files, so the directory is watched.
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", r.file, err)
	}
	defer func() { err = errors.Join(err, watcher.Close()) }()
	if err := watcher.Add(filepath.Dir(r.file)); err != nil {
		return fmt.Errorf("watch %s: %w", r.file, err)
	}
	settled := time.NewTimer(0)
	<-settled.C
	before := r.stamp()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangup:
			before = r.stamp()
			r.reload()
		case <-watcher.Events:
			settled.Reset(100 * time.Millisecond)
		case err := <-watcher.Errors:
			r.log.Warn("watching the configuration", "error", err)
		case <-settled.C:
			if now := r.stamp(); now != before {
				before = now
				r.reload()
			}
		}
	}
}

// stamp tells one state of the file from another.
func (r *Routing) stamp() string {
	info, err := os.Stat(r.file)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

func (r *Routing) reload() {
	if err := r.Reload(); err != nil {
		r.log.Error("the new configuration is bad; the old one stays", "error", err)
		return
	}
	r.log.Info("configuration reloaded", "file", r.file)
}
