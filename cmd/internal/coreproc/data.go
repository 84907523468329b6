// Package coreproc runs the core: its flags, its store and its listener. The edge
// must not import it.
package coreproc

import (
	"context"
	"errors"
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
	Config string `env:"GENWAY_CONFIG" placeholder:"FILE" help:"Configuration: where data is kept, unless --store says so, upstreams and routes. A server reads it again on SIGHUP and on change; without it the sandbox answers everything."`
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

// open opens the store and the keys in it; relaxed is store.Config.RelaxLedger.
func (d Data) open(ctx context.Context, relaxed bool) (*store.Store, *keys.Service, error) {
	location, err := d.Location()
	if err != nil {
		return nil, nil, err
	}
	db, err := store.Open(ctx, store.Config{Location: location, RelaxLedger: relaxed})
	if err != nil {
		return nil, nil, err
	}
	service, err := keys.New(keys.Config{Store: db.Keys()})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, service, nil
}

// WithKeys runs do on the keys of the store.
func (d Data) WithKeys(ctx context.Context, do func(*keys.Service) error) error {
	db, service, err := d.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(do(service), db.Close())
}

// WithAudit runs do on the record of changes of the store.
func (d Data) WithAudit(ctx context.Context, do func(audit.Store) error) error {
	db, _, err := d.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(do(db.Audit()), db.Close())
}

// WithLedger runs do on the ledger of the store.
func (d Data) WithLedger(ctx context.Context, do func(ledger.Store) error) error {
	db, _, err := d.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(do(db.Ledger()), db.Close())
}
