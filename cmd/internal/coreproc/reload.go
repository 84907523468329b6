package coreproc

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
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
	retain   atomic.Int64                // days the ledger keeps its rows
	oidc     atomic.Pointer[config.OIDC] // the console's identity provider; nil for none
	hangup   chan os.Signal              // SIGHUP; taken from the start, since it ends a process otherwise
	replaced chan struct{}               // signalled when the listings change

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
	built, err = Build(c, r.embedded, r.Answers)
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

// follow gives the file's limits to the core's limiter, now and whenever they change.
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
