package coreproc

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/genway/genway/core/upstream/check"
	"github.com/genway/genway/core/upstream/discover"
	"github.com/genway/genway/internal/stamp"
)

// Watch reloads on SIGHUP and whenever the file or its prices change, and asks upstreams
// for their models where the file says so, until ctx ends.
// What comes of it is logged.
func (r *Routing) Watch(ctx context.Context) (err error) {
	if r.file == "" {
		return r.idle(ctx)
	}
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { r.discover(ctx) })
	var seen <-chan fsnotify.Event
	var failed <-chan error
	if watcher, refused := r.watch(filepath.Dir(r.file)); refused == nil {
		defer func() { err = errors.Join(err, watcher.Close()) }()
		seen, failed = watcher.Events, watcher.Errors
	} else {
		r.log.Warn("the system does not report changes of the configuration; looking every second", "error", refused)
	}
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	// The file may have changed since it was read.
	settled := time.NewTimer(0)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.hangup:
			_ = r.reload() // the log has it
		case <-seen:
			settled.Reset(settle)
		case err := <-failed:
			r.log.Warn("watching the configuration", "error", err)
		case <-look.C:
			if r.reloadIfChanged() {
				settled.Reset(settle)
			}
		case <-settled.C:
			if r.reloadIfChanged() {
				settled.Reset(settle)
			}
		}
	}
}

// discover keeps the lists of models fresh that upstreams are asked for, until ctx ends.
func (r *Routing) discover(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		listings, checks := r.current.listings, r.current.checks
		r.mu.Unlock()
		watching, stop := context.WithCancel(ctx)
		var group sync.WaitGroup
		group.Go(func() { discover.Watch(watching, listings, r.log) })
		group.Go(func() { check.Watch(watching, checks, r.log) })
		select {
		case <-ctx.Done():
		case <-r.replaced:
		}
		stop()
		group.Wait()
	}
}

// idle has nothing to reload, and answers requests to reload with that.
func (r *Routing) idle(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.hangup:
			r.log.Warn("SIGHUP: there is no configuration file to read again")
		}
	}
}

const (
	// settle is how long the file must stay unchanged before it is read: editors write
	// it in several steps.
	settle = 100 * time.Millisecond
	// pollEvery is how often the files are looked at where the system does not report changes, as
	// it does not for the prices: they may be anywhere.
	pollEvery = time.Second
)

// watch watches a directory: editors and orchestrators replace files, and a watch of
// the file itself would go with the old one.
func watch(directory string) (*fsnotify.Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := watcher.Add(directory); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	return watcher, nil
}

// reloadIfChanged reports whether to look again soon, because a file with a key is changing.
func (r *Routing) reloadIfChanged() (again bool) {
	r.mu.Lock()
	changed := stamp.Of(r.file)+stamp.Of(r.files...) != r.read
	secrets := r.current.secrets
	r.expiry.Warn(r.log, r.current.certificates, time.Now())
	r.mu.Unlock()
	if changed {
		_ = r.reload() // the log has it
		return false
	}
	for _, s := range secrets {
		again = s.refresh(r.log) || again
	}
	return again
}

// reload reloads, and says in the log and to onReload what came of it.
func (r *Routing) reload() error {
	err := r.Reload()
	if onReload := r.onReload.Load(); onReload != nil {
		(*onReload)(err == nil)
	}
	if err != nil {
		r.log.Error("the new configuration is bad; the old one stays", "error", err)
		return err
	}
	r.log.Info("configuration reloaded", "file", r.file)
	return nil
}
