package coreproc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/check"
	"github.com/genway/genway/core/upstream/discover"
	"github.com/genway/genway/core/upstream/remote"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/stamp"
	"github.com/genway/genway/sandbox"
)

// retireAfter is how long the upstreams of a replaced configuration are kept for
// the requests that began with them.
const retireAfter = 10 * time.Minute

// Routing is the router of a configuration file, kept up to date with it.
type Routing struct {
	Router *route.Router
	Prices *price.Book
	// Answers is the memory that the answers of all upstreams share.
	Answers  *remote.AnswerMemory
	file     string
	embedded *sandbox.Sandbox
	log      *slog.Logger
	watch    func(directory string) (*fsnotify.Watcher, error)
	retain   atomic.Int64 // days the ledger keeps its rows
	// reportCost says that answers tell what they cost.
	reportCost atomic.Bool
	oidc       atomic.Pointer[config.OIDC] // the console's identity provider; nil for none
	hangup     chan os.Signal              // SIGHUP; taken from the start, since it ends a process otherwise
	replaced   chan struct{}               // signalled when the listings change

	settings []cli.Setting // of the process
	writable bool          // by WriteConfiguration
	writing  sync.Mutex    // of WriteConfiguration

	onReload atomic.Pointer[func(ok bool)] // called after each reload; nil is not

	mu      sync.Mutex
	hash    string // of the file in force
	shown   string // that file, without what may be a secret
	members []config.Member
	prices  string        // the file of prices that is valid; empty without one
	files   []string      // what the file names and is read with it: prices, certificates
	read    string        // the stamp of the files that were read last, good or bad
	limits  *Limits       // nil until the core has one
	section config.Limits // of the file that was read last
	vault   *vault.Vault  // nil until the core has one
	keeping *config.Captures
	current *Upstreams
	retired map[io.Closer]*time.Timer
	expiry  certs.Expiry // of the certificates that upstreams are shown
}

// NewRouting loads the file and builds its upstreams; without a file the sandbox
// answers everything. The answers of all upstreams share the memory.
func NewRouting(file string, embedded *sandbox.Sandbox, answers *remote.AnswerMemory, log *slog.Logger) (*Routing, error) {
	r := &Routing{
		Prices: &price.Book{}, Answers: answers, file: file, embedded: embedded, log: log,
		watch: watch, hangup: make(chan os.Signal, 1), replaced: make(chan struct{}, 1), retired: map[io.Closer]*time.Timer{},
	}
	built, prices, err := r.build()
	if err != nil {
		return nil, err
	}
	r.Router, r.current, r.hash = route.New(built.Routes), built, hashOf(file)
	r.shown, r.members = shownOf(file)
	r.Prices.Swap(prices)
	r.retain.Store(int64(built.retainDays))
	r.reportCost.Store(built.reportCost)
	r.oidc.Store(built.oidc)
	signal.Notify(r.hangup, syscall.SIGHUP)
	return r, nil
}

func (r *Routing) build() (built *Upstreams, prices *price.Catalogue, err error) {
	c := &config.Config{}
	if r.file != "" {
		// Stamps are taken first: what changes while it is read is read again.
		read := stamp.Of(r.file)
		if c, err = config.Load(r.file, os.LookupEnv); err == nil {
			r.prices, r.files = c.Prices, c.Files()
		}
		r.read = read + stamp.Of(r.files...)
		if err != nil {
			return nil, nil, err
		}
	}
	for _, w := range c.Warnings() {
		r.log.Warn("the configuration has a setting that is probably a mistake", "warning", w.Error())
	}
	if c.Prices != "" {
		if prices, err = price.Load(c.Prices); err != nil {
			return nil, nil, err
		}
	}
	r.section, r.keeping = c.EffectiveLimits(), c.Captures
	if err := r.limits.check(r.section); err != nil {
		return nil, nil, err
	}
	if built, err = Build(c, r.embedded, r.Answers); err == nil {
		built.show(prices)
	}
	return built, prices, err
}

// unpriced reports whether requests under a budget are refused for want of any price.
func (r *Routing) unpriced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prices == "" && !r.section.Rules().AllowUnpriced
}

// retainDays is how many days the ledger keeps its rows; 0 is for good.
func (r *Routing) retainDays() int { return int(r.retain.Load()) }

// follow sets the file's limits in the core's limiter, now and whenever they change.
func (r *Routing) follow(limits *Limits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limits = limits
	r.limits.swap(r.section)
}

// keepCaptures has a vault keep captured bodies as the file says, now and whenever it changes.
func (r *Routing) keepCaptures(in *vault.Vault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.vault = in
	in.Use(r.keeping.Ring(), r.keeping.KeepFor())
}

// Called returns the upstreams that are called over a network, by name.
func (r *Routing) Called() map[string]Called {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.called
}

// Reload reads the file again and swaps the result in; a bad file changes nothing. Requests
// that have begun end with what they began with.
func (r *Routing) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	built, prices, err := r.build()
	if err != nil {
		return err
	}
	old := r.current
	for _, listing := range built.listings {
		listing.Adopt(old.listings)
	}
	r.Router.Swap(built.Routes)
	r.Prices.Swap(prices)
	r.retain.Store(int64(built.retainDays))
	r.reportCost.Store(built.reportCost)
	r.oidc.Store(built.oidc)
	r.limits.swap(r.section)
	if r.vault != nil {
		r.vault.Use(r.keeping.Ring(), r.keeping.KeepFor())
	}
	r.current, r.expiry, r.hash = built, certs.Expiry{}, hashOf(r.file)
	r.shown, r.members = shownOf(r.file)
	select {
	case r.replaced <- struct{}{}:
	default: // signalled already
	}
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
	signal.Stop(r.hangup)
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := []error{r.Router.Close(), r.current.Close()}
	for old, timer := range r.retired {
		if timer.Stop() {
			errs = append(errs, old.Close())
		}
	}
	return errors.Join(errs...)
}

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

// before is added to the name of a file whose text was replaced.
const before = ".before"

var _ admin.Configurator = (*Routing)(nil)

// CheckConfiguration says what is wrong with a text that would be the file.
func (r *Routing) CheckConfiguration(text string) *adminv1.CheckConfigurationResponse {
	file, _ := os.ReadFile(r.file) // without one no value is masked
	_, resp := r.checkText([]byte(text), file)
	return resp
}

// checkText checks a text beside the file's, and returns it whole. The environment and the files that the text names are
// for those alone who may write the file, and what is in such a file is shown to no one.
func (r *Routing) checkText(text, file []byte) (whole []byte, resp *adminv1.CheckConfigurationResponse) {
	resp = &adminv1.CheckConfigurationResponse{}
	var secrets []string
	wrong := func(err error) {
		for _, e := range mistakesOf(err) {
			m := &adminv1.ConfigurationMistake{Line: int32(e.Line), Column: int32(e.Column), Message: config.Hide(e.Text, secrets)}
			if e.File != "" && e.File != r.file {
				m = &adminv1.ConfigurationMistake{Message: fmt.Sprintf("%s: line %d is wrong; genway config check, on the server's host, says what it is", e.File, e.Line)}
			}
			resp.Mistakes = append(resp.Mistakes, m)
		}
	}
	whole, secrets, err := config.Unmask(text, file)
	if err != nil {
		_, known := config.ParseAlone(r.file, text) // it has the line
		wrong(cmp.Or(known, err))
		return nil, resp
	}
	if shown, err := config.MaskedText(whole); err == nil {
		resp.Yaml = string(shown)
	}
	parsed, err := config.ParseAlone(r.file, whole)
	if r.writable {
		if parsed, err = config.Parse(r.file, whole, os.LookupEnv); err == nil {
			err = cmp.Or(config.CheckCommands(r.file, whole, file), r.tryOut(parsed))
		}
	}
	if parsed != nil {
		for _, w := range parsed.Warnings() {
			resp.Warnings = append(resp.Warnings, config.Hide(w.Error(), secrets))
		}
	}
	if err != nil {
		wrong(err)
	}
	return whole, resp
}

// mistakesOf returns an error as config.Errors, the errors of a file.
func mistakesOf(err error) config.Errors {
	if all, ok := errors.AsType[config.Errors](err); ok {
		return all
	}
	if one, ok := errors.AsType[*config.Error](err); ok {
		return config.Errors{one}
	}
	return config.Errors{{Text: err.Error()}}
}

// tryOut builds what a configuration describes, without calling anything or taking it.
func (r *Routing) tryOut(c *config.Config) error {
	if c.Prices != "" {
		if _, err := price.Load(c.Prices); err != nil {
			return err
		}
	}
	r.mu.Lock()
	limits := r.limits
	r.mu.Unlock()
	if err := limits.check(c.EffectiveLimits()); err != nil {
		return err
	}
	built, err := Build(c, r.embedded, nil)
	if err != nil {
		return err
	}
	return built.Close()
}

// ReloadConfiguration reads the file again. record is called before it is taken.
func (r *Routing) ReloadConfiguration(record func() error) (hash string, err error) {
	if r.file == "" {
		return "", noFile()
	}
	if err := record(); err != nil {
		return "", err
	}
	if err := r.reload(); err != nil {
		return "", r.refused(err)
	}
	return r.Hash(), nil
}

// WriteConfiguration replaces the file, whose text before it keeps, and takes it. record is called before
// it is written.
func (r *Routing) WriteConfiguration(text, hash string, record func() error) (string, error) {
	switch {
	case !r.writable:
		return "", fault.New(fault.Unprocessable, admin.ReasonConfigurationReadOnly, "the server was started without --console-write, so its file is changed on its host alone")
	case r.file == "":
		return "", noFile()
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	old, err := os.ReadFile(r.file)
	if err != nil {
		return "", fault.Wrap(err, fault.Unavailable, admin.ReasonConfigurationFile, "the file cannot be read; the server's log says why")
	}
	if hashOfText(old) != hash {
		return "", fault.New(fault.Unprocessable, admin.ReasonConfigurationChanged, "the file has changed meanwhile; begin with the present one")
	}
	whole, checked := r.checkText([]byte(text), old)
	if len(checked.GetMistakes()) > 0 {
		f := fault.Invalid("yaml", "")
		for _, m := range checked.GetMistakes() {
			f.Fields = append(f.Fields, fault.Field{Param: "yaml", Message: place(m)})
		}
		f.Message = "yaml: " + f.Fields[0].Message
		return "", f
	}
	if err := record(); err != nil {
		return "", err
	}
	if err := replace(r.file, old, whole); err != nil {
		r.log.Error("the configuration cannot be written", "file", r.file, "error", err)
		return "", fault.Wrap(err, fault.Unavailable, admin.ReasonConfigurationFile, "the file cannot be written; the server's log says why")
	}
	if err := r.reload(); err != nil {
		return "", r.refused(err)
	}
	return r.Hash(), nil
}

// place writes a mistake with its place.
func place(m *adminv1.ConfigurationMistake) string {
	if m.GetLine() == 0 {
		return m.GetMessage()
	}
	return fmt.Sprintf("line %d: %s", m.GetLine(), m.GetMessage())
}

func noFile() error {
	return fault.New(fault.Unprocessable, admin.ReasonConfigurationFile, "this server has no configuration file")
}

// refused is a file that was not taken. What the error repeats of the file may be a secret.
func (r *Routing) refused(err error) error {
	f := fault.Invalid("file", "file: it was not taken; the configuration in force stays. The server's log, and genway config check, say why")
	for _, e := range mistakesOf(err) {
		if e.Line > 0 {
			f.Fields = append(f.Fields, fault.Field{Param: "file", Message: fmt.Sprintf("line %d is wrong", e.Line)})
		}
	}
	return f
}

// replace writes a file at once, with the rights of the one before, and keeps that.
func replace(file string, old, text []byte) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name string
		text []byte
	}{{file + before, old}, {file, text}} {
		if err := writeWhole(one.name, one.text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole writes a file beside its place, and moves it there.
func writeWhole(file string, text []byte, mode os.FileMode) error {
	beside, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name()) //nolint:errcheck // it was moved, unless this fails
	_, err = beside.Write(text)
	if err := errors.Join(err, beside.Chmod(mode), beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), file)
}

// hashOfText returns the first six bytes of the SHA-256 of a file's text, in hexadecimal.
func hashOfText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// shownOf is a file without what may be a secret, and its members; empty where it cannot be shown.
func shownOf(file string) (string, []config.Member) {
	text, err := os.ReadFile(file) //nolint:gosec // the configuration that this program was started with
	if err != nil {
		return "", nil
	}
	shown, err := config.MaskedText(bytes.Clone(text))
	if err != nil {
		return "", nil
	}
	members, err := config.Members(text)
	if err != nil {
		return "", nil
	}
	return string(shown), members
}
