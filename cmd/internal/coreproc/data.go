// Package coreproc runs the core: its flags, its store and its listener. The edge
// must not import it.
package coreproc

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// Data are the flags for where data is kept.
type Data struct {
	Dir    string `name:"data" placeholder:"DIR" help:"Directory of the data: keys, hashed, and the ledger. Default: $GENWAY_DATA, else the user's data directory."`
	Store  string `name:"store" env:"GENWAY_STORE" placeholder:"URL" help:"Database of the data instead of genway.db in its directory: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the path of an SQLite file."`
	Config string `env:"GENWAY_CONFIG" placeholder:"FILE" help:"Configuration file: upstreams, routes, and the store unless --store sets it. A server reloads it on SIGHUP and when it changes. Without it the sandbox answers everything."`

	Migrate store.Migrate `env:"GENWAY_MIGRATE" enum:"auto,check,off" default:"auto" help:"What to do if the store's schema is older than this program's: auto migrates it, check refuses to start, off does not check."`
}

// Location is the store's: that of the flag, else of the configuration, else a file in
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

// Directory is that of the data, or of the SQLite file that has them. It need not exist.
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

// openStore opens the store and its keys. The flags set the location of config. log may be nil.
func (d Data) openStore(ctx context.Context, config store.Config, log *slog.Logger) (*store.Store, *keys.Service, error) {
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
	service, err := keys.New(keys.Config{Store: db.Keys(), Logger: log})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, service, nil
}

// existing is of commands that read or change what is there: a mistyped directory is an
// error, not a new and empty store.
var existing = store.Config{Existing: true}

// WithNewKeys runs do on the keys of the store, which is created where it is missing.
func (d Data) WithNewKeys(ctx context.Context, do func(*keys.Service) error) error {
	return d.withKeys(ctx, store.Config{}, do)
}

// WithNewStore runs do on the store, which is created where it is missing.
func (d Data) WithNewStore(ctx context.Context, do func(*store.Store) error) error {
	db, service, err := d.openStore(ctx, store.Config{}, nil)
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
	db, service, err := d.openStore(ctx, config, nil)
	if err != nil {
		return err
	}
	err = do(service)
	service.Close()
	return errors.Join(err, db.Close())
}

// WithAudit runs do on the record of changes of the store, which must exist.
func (d Data) WithAudit(ctx context.Context, do func(audit.Store) error) error {
	db, _, err := d.openStore(ctx, existing, nil)
	if err != nil {
		return err
	}
	return errors.Join(do(db.Audit()), db.Close())
}

// WithLedger runs do on the ledger of the store, which must exist, and on its keys.
func (d Data) WithLedger(ctx context.Context, do func(ledger.Store, *keys.Service) error) error {
	db, service, err := d.openStore(ctx, existing, nil)
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
