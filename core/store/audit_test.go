//go:build unix

package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

// recorded is a store with some changes in its audit.
func recorded(t *testing.T, location string) *store.Store {
	t.Helper()
	s := opened(t, location)
	service, err := keys.New(keys.Config{Store: s.Keys()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := service.MintDefaults(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := service.Rotate(t.Context(), "default-chat", keys.Rotation{Grace: 0}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func verify(ctx context.Context, s *store.Store) (audit.Head, error) {
	return audit.Verify(s.Audit().Entries(ctx, audit.Query{}), [sha256.Size]byte{})
}

// The database itself refuses to change what was recorded.
func TestAuditIsAppendOnly(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := recorded(t, location)
		statements := []string{
			`UPDATE audit SET actor = 'user:eve' WHERE number = 3`,
			`UPDATE audit SET number = number + 100`,
			`DELETE FROM audit WHERE number = 7`,
			`DELETE FROM audit`,
		}
		if store.IsPostgres(location) {
			statements = append(statements, `TRUNCATE audit`)
		}
		db := raw(t, location)
		for _, statement := range statements {
			if _, err := db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "audit is append-only") {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if head, err := verify(t.Context(), s); err != nil || head.Number != 7 {
			t.Errorf("%+v, %v", head, err)
		}
	})
}

// A change that gets around the triggers is found by verify.
func TestAuditTampering(t *testing.T) {
	for name, c := range map[string]struct {
		statement string
		broken    int64
	}{
		"changed":      {`UPDATE audit SET actor = 'user:eve' WHERE number = 3`, 3},
		"removed":      {`DELETE FROM audit WHERE number = 5`, 5},
		"first":        {`DELETE FROM audit WHERE number = 1`, 1},
		"another hash": {`UPDATE audit SET hash = previous WHERE number = 4`, 4},
		"put in": {`INSERT INTO audit (number, time, actor, action, subject, detail, previous, hash)
			SELECT 8, time, actor, action, subject, detail, previous, hash FROM audit WHERE number = 7`, 8},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, location string) {
				s := recorded(t, location)
				disarm := []string{`DROP TRIGGER audit_kept`, `DROP TRIGGER audit_unchanged`}
				if store.IsPostgres(location) {
					disarm = []string{`ALTER TABLE audit DISABLE TRIGGER ALL`}
				}
				run(t, raw(t, location), append(disarm, c.statement)...)
				_, err := verify(t.Context(), s)
				if broken, ok := errors.AsType[*audit.BrokenError](err); !ok || broken.Number != c.broken {
					t.Errorf("got %v, want entry %d", err, c.broken)
				}
			})
		})
	}
}

// A policy of a later release is not taken for a smaller one: its key cannot be checked. Other
// keys can.
func TestUnknownPolicy(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location)
		service, err := keys.New(keys.Config{Store: s.Keys()})
		if err != nil {
			t.Fatal(err)
		}
		defer service.Close()
		minted, _, err := service.MintDefaults(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		run(t, raw(t, location), `UPDATE keys SET policy = '{"regions":["eu"]}' WHERE name = 'default-chat'`)
		if _, err := service.Authenticate(t.Context(), minted[keys.GroupChat]); !errors.Is(err, keys.ErrUnavailable) || !strings.Contains(err.Error(), "regions") {
			t.Errorf("the key with that policy: %v", err)
		}
		if _, err := service.Authenticate(t.Context(), minted[keys.GroupMessages]); err != nil {
			t.Errorf("another key: %v", err)
		}
	})
}

// A change that is not the database's has an entry in the same chain.
func TestRecorder(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := recorded(t, location)
		for range 2 {
			if err := s.Recorder().Record(t.Context(), audit.Change{Time: time.Unix(1_800_000_000, 0).UTC(), Actor: "key:key_1", Action: "configuration.write", Subject: "configuration"}); err != nil {
				t.Fatal(err)
			}
		}
		var last *audit.Entry
		for e, err := range s.Audit().Entries(t.Context(), audit.Query{Subject: "configuration"}) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
		}
		if head, err := verify(t.Context(), s); err != nil || head.Number != 9 || last == nil || last.Number != 9 || last.Actor != "key:key_1" {
			t.Errorf("%+v, %+v, %v", head, last, err)
		}
	})
}
