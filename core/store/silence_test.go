//go:build unix

package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// Case N86: a server that stands still is given up some time after its own clock would have ended a statement, whatever
// is under way.
func TestPostgresThatStandsStill(t *testing.T) {
	t.Parallel()
	from := filled(t)
	for name, c := range map[string]struct {
		at string
		do func(ctx context.Context, through string) error
	}{
		"report": {"FROM ledger", func(ctx context.Context, through string) error {
			s, err := store.Open(ctx, store.Config{Location: through, Migrate: store.MigrateOff})
			if err != nil {
				return err
			}
			_, err = s.Ledger().Report(ctx, ledger.Query{By: []ledger.Dimension{ledger.ByKey}})
			return errors.Join(err, s.Close())
		}},
		"migrate status": {"schema_least", func(ctx context.Context, through string) error {
			_, err := store.ReadSchema(ctx, store.Config{Location: through})
			return err
		}},
		"migrate up": {"CREATE INDEX ledger_faults", func(ctx context.Context, through string) error {
			_, err := store.MigrateUp(ctx, store.Config{Location: through})
			return err
		}},
		"store copy": {`copy "ledger"`, func(ctx context.Context, through string) error {
			_, err := store.Copy(ctx, from, through, nil, nil)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			location := servers.PostgresDatabase(t)
			if name != "migrate up" {
				if err := opened(t, location).Close(); err != nil {
					t.Fatal(err)
				}
			}
			server, through := relayBefore(t, location, c.at)
			server.freezes = true
			done := make(chan error, 1)
			go func() { done <- c.do(t.Context(), through) }()
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), "the database was silent for 3s") || !server.met() {
					t.Errorf("got %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("a server that stands still is waited for")
			}
		})
	}
}

// Case N87: an error of a connection that is cut says which database it is of, without its password, and no
// statement is sent twice.
func TestPostgresThatIsCutOff(t *testing.T) {
	from := filled(t)
	for name, c := range map[string]struct {
		at   string
		do   func(ctx context.Context, through string) error
		want string
		// then is what the same says of the server without the relay.
		then string
	}{
		"report": {"FROM ledger", func(ctx context.Context, through string) error {
			s, err := store.Open(ctx, store.Config{Location: through, Migrate: store.MigrateOff})
			if err != nil {
				return err
			}
			_, err = s.Ledger().Report(ctx, ledger.Query{By: []ledger.Dimension{ledger.ByKey}})
			return errors.Join(err, s.Close())
		}, "report: store postgres://", ""},
		"migrate up": {"CREATE INDEX ledger_faults", func(ctx context.Context, through string) error {
			_, err := store.MigrateUp(ctx, store.Config{Location: through})
			return err
		}, "migrate store postgres://", ""},
		"store copy": {`copy "ledger"`, func(ctx context.Context, through string) error {
			_, err := store.Copy(ctx, from, through, nil, nil)
			return err
		}, "copy to postgres://", ""},
		"commit of store copy": {"commit", func(ctx context.Context, through string) error {
			_, err := store.Copy(ctx, from, through, nil, nil)
			if errors.Is(err, store.ErrUnknown) {
				return err
			}
			return errors.Join(err, errors.New("the end is known"))
		}, "it is not known whether the change was made: copy to postgres://", "the database is in use: its table"},
	} {
		t.Run(name, func(t *testing.T) {
			location := servers.PostgresDatabase(t)
			if name != "migrate up" {
				if err := opened(t, location).Close(); err != nil {
					t.Fatal(err)
				}
			}
			server, through := relayBefore(t, location, c.at)
			err := c.do(t.Context(), through)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "the connection to the server was lost") || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v", err)
			}
			if met := server.times.Load(); met != 1 {
				t.Errorf("%q was sent %d times", c.at, met)
			}
			err = c.do(t.Context(), location)
			if c.then == "" && err != nil || c.then != "" && (err == nil || !strings.Contains(err.Error(), c.then)) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
