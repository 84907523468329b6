// Package coreproc runs the core: its flags, its store and its listener. The edge
// must not import it.
package coreproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// Data are the flags for where data is kept.
type Data struct {
	Dir    string `name:"data" placeholder:"DIR" group:"Data:" help:"Directory of keys and ledger. Default: $GENWAY_DATA, else the user's data directory."`
	Store  string `name:"store" env:"GENWAY_STORE" placeholder:"URL" group:"Data:" help:"Database in place of genway.db there: postgres://…, or the path of an SQLite file."`
	Config string `env:"GENWAY_CONFIG" placeholder:"FILE" group:"Data:" help:"Configuration file, reloaded when it changes. Default: the sandbox answers everything."`

	Migrate store.Migrate `env:"GENWAY_MIGRATE" enum:"auto,check,off" default:"auto" group:"Data:" help:"If the store's schema is older: auto migrates it, check ends, off does not check."`
}

// Location is where the store is: by the flag, else by the configuration, else a file in
// the data directory.
func (d Data) Location() (string, error) {
	if d.Store != "" {
		return d.Store, nil
	}
	if d.Config != "" {
		location, err := config.LoadStore(d.Config, os.LookupEnv)
		if location != "" || err != nil {
			return location, err
		}
	}
	dir, err := store.DataDir(d.Dir, os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, store.FileName), nil
}

// Directory is the directory of the data, or of the SQLite file that has them. It need not exist.
func (d Data) Directory() (string, error) {
	location, err := d.Location()
	if err == nil && !store.IsPostgres(location) {
		return filepath.Dir(location), nil
	}
	return store.DataDir(d.Dir, os.Getenv)
}

// journal is the directory of the ledger's journal. Empty where there is none, which the
// log says.
func (d Data) journal(log *slog.Logger) string {
	dir, err := d.Directory()
	if err != nil {
		log.Warn("the ledger keeps no journal: a process that is killed loses what it has not written yet", "error", err)
		return ""
	}
	return dir
}

// openStore opens the store and its keys. The flags set the location of config, and the store is that of with.
func (d Data) openStore(ctx context.Context, config store.Config, with keys.Config) (*store.Store, *keys.Service, error) {
	location, err := d.Location()
	if err != nil {
		return nil, nil, err
	}
	config.Location, config.Migrate = location, d.Migrate
	if config.Waits == nil {
		config.Waits = SayWaits
	}
	db, err := store.Open(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	with.Store = db.Keys()
	service, err := keys.New(with)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, service, nil
}

// existing requires that there is a store to read or change: a mistyped directory is an
// error, not a new and empty store.
var existing = store.Config{Existing: true}

// WithNewKeys runs do on the keys of the store, which is created where it is missing.
func (d Data) WithNewKeys(ctx context.Context, do func(*keys.Service) error) error {
	return d.withKeys(ctx, store.Config{}, do)
}

// WithNewStore runs do on the store, which is created where it is missing.
func (d Data) WithNewStore(ctx context.Context, do func(*store.Store) error) error {
	db, service, err := d.openStore(ctx, store.Config{}, keys.Config{})
	if err != nil {
		return err
	}
	service.Close()
	return errors.Join(do(db), db.Close())
}

// WithKeys runs do on the keys of the store, which must exist.
func (d Data) WithKeys(ctx context.Context, do func(*keys.Service) error) error {
	return d.withKeys(ctx, existing, do)
}

func (d Data) withKeys(ctx context.Context, config store.Config, do func(*keys.Service) error) error {
	db, service, err := d.openStore(ctx, config, keys.Config{})
	if err != nil {
		return err
	}
	err = do(service)
	service.Close()
	return errors.Join(err, db.Close())
}

// WithAudit runs do on the record of changes of the store, which must exist.
func (d Data) WithAudit(ctx context.Context, do func(audit.Store) error) error {
	db, _, err := d.openStore(ctx, existing, keys.Config{})
	if err != nil {
		return err
	}
	return errors.Join(do(db.Audit()), db.Close())
}

// WithLedger runs do on the ledger of the store, which must exist, and on its keys.
func (d Data) WithLedger(ctx context.Context, do func(ledger.Store, *keys.Service) error) error {
	db, service, err := d.openStore(ctx, existing, keys.Config{})
	if err != nil {
		return err
	}
	return errors.Join(do(db.Ledger(), service), db.Close())
}

// Schema reads the schema of the store and changes nothing.
func (d Data) Schema(ctx context.Context) (store.Schema, error) {
	location, err := d.Location()
	if err != nil {
		return store.Schema{}, err
	}
	return store.ReadSchema(ctx, store.Config{Location: location})
}

// MigrateUp brings the schema of the store up to date, and returns the migrations made.
func (d Data) MigrateUp(ctx context.Context) ([]store.Migration, error) {
	location, err := d.Location()
	if err != nil {
		return nil, err
	}
	return store.MigrateUp(ctx, store.Config{Location: location, Waits: SayWaits})
}

// Flag is what other commands need to find the same data, beside the environment.
// It has no URL, which may have a password.
func (d Data) Flag(getenv func(string) string) (string, error) {
	switch {
	case d.Store != "" && d.Store == getenv("GENWAY_STORE"):
		return "", nil
	case store.IsPostgres(d.Store):
		return " --store URL", nil
	case d.Store != "":
		return " --store " + cli.ShellWord(d.Store), nil
	}
	if d.Config != "" && d.Config != getenv("GENWAY_CONFIG") {
		location, err := config.LoadStore(d.Config, os.LookupEnv)
		if location != "" || err != nil {
			return " --config " + cli.ShellWord(d.Config), err
		}
	}
	if d.Dir != "" {
		return " --data " + cli.ShellWord(d.Dir), nil
	}
	return "", nil
}

// SayWaits says on standard error that a command waits for another process that migrates the store.
func SayWaits(w store.Wait) {
	so := ""
	if w.Waited >= time.Second {
		so = fmt.Sprintf(" (%s so far)", w.Waited.Round(time.Second))
	}
	fmt.Fprintf(os.Stderr, "%s: store %s: waiting for the lock of migrations, which %s holds%s\n", cli.ProgramName(), w.Store, w.Holder, so)
}

// logWaits logs that a server waits for another process that migrates the store.
func logWaits(log *slog.Logger) func(store.Wait) {
	return func(w store.Wait) {
		log.Info("waiting for the lock of migrations, which another process holds", "store", w.Store, "holder", w.Holder, "waited_seconds", w.Waited.Round(time.Second).Seconds())
	}
}

// bySource returns what is in force with where it is from: the flags of the process, then the members of the file.
func bySource(settings []cli.Setting, members []config.Member) []*adminv1.ConfigurationMember {
	var all []*adminv1.ConfigurationMember
	overrides := map[string]string{} // members of the file that a flag has precedence over
	for _, s := range settings {
		m := &adminv1.ConfigurationMember{Name: s.Flag, Value: config.MaskedValue(s.Value), Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_DEFAULT}
		if s.Flag == "--data" && !s.Given {
			m.Value, s.Variable = defaultData()
		}
		switch {
		case s.Given:
			m.Source = adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FLAG
		case s.Variable != "":
			m.Source, m.Variables = adminv1.ConfigurationSource_CONFIGURATION_SOURCE_ENVIRONMENT, []string{s.Variable}
		}
		if s.Flag == "--store" && s.Value != "" {
			overrides["store"] = s.Flag
		}
		all = append(all, m)
	}
	for _, member := range members {
		m := &adminv1.ConfigurationMember{
			Name: member.Path, Value: member.Value, Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FILE, Line: int32(member.Line),
			Variables: member.Variables, OverriddenBy: overrides[member.Path],
		}
		if member.Referred {
			m.Source = adminv1.ConfigurationSource_CONFIGURATION_SOURCE_ENVIRONMENT
		}
		all = append(all, m)
	}
	return all
}

// defaultData is the directory of the data where no argument says which, and the variable that says so, if it
// does.
func defaultData() (directory, variable string) {
	directory, err := store.DataDir("", os.Getenv)
	if err != nil {
		return "", ""
	}
	if os.Getenv("GENWAY_DATA") != "" {
		variable = "GENWAY_DATA"
	}
	return directory, variable
}

// partLimits is the store that cores share their limits in. A core is ready without it.
const partLimits = "limits"

// node is what this core reports of itself in the store.
type node struct {
	fixed   ledger.Node
	routing *Routing
	// limitsUnavailable is set while the store of limits does not answer.
	limitsUnavailable atomic.Bool
	// server is nil until there is one.
	server atomic.Pointer[core.Server]
}

func newNode(address string, routing *Routing) *node {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return &node{fixed: ledger.Node{Host: host, Version: cli.Version(), Address: address}, routing: routing}
}

// now is what holds at present.
func (n *node) now() ledger.Node {
	is := n.fixed
	is.Configuration = n.routing.Hash()
	if server := n.server.Load(); server != nil {
		is.Degraded = slices.Clone(server.Failing())
	}
	if n.limitsUnavailable.Load() {
		is.Degraded = append(is.Degraded, partLimits)
	}
	return is
}
