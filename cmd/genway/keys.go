package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

type keysCommand struct {
	Create createKey  `cmd:"" help:"Create a key and print it, and nothing else. It cannot be shown again. Creates the store if there is none."`
	List   listKeys   `cmd:"" help:"List all keys, without their secrets."`
	Show   showKey    `cmd:"" help:"Show the settings and state of a key, without its secrets."`
	Update updateKey  `cmd:"" help:"Change the given settings of a key; the others stay."`
	Rotate rotateKey  `cmd:"" help:"Give a key a new secret and print it, and nothing else. The previous secret stays valid for --grace."`
	Revoke revokeKey  `cmd:"" help:"Revoke a key and all its secrets, permanently."`
	Import importKeys `cmd:"" help:"Create keys from a CSV file, all or none, and print them as CSV, or write them to a file."`
}

// keyring is where keys are kept: *keys.Service on a store, admin.Client elsewhere.
type keyring interface {
	CanCreate(ctx context.Context, params keys.CreateParams) error
	Create(ctx context.Context, params keys.CreateParams) (raw string, key keys.Key, err error)
	ImportAll(ctx context.Context, of keys.Importing) error
	All(ctx context.Context, query keys.Query) iter.Seq2[keys.Key, error]
	Get(ctx context.Context, ref string) (keys.Key, error)
	Update(ctx context.Context, ref string, change func(*keys.Settings) error) (keys.Key, error)
	Rotate(ctx context.Context, ref string, how keys.Rotation) (keys.Created, error)
	Revoke(ctx context.Context, ref string) (keys.Key, error)
}

// storeFlags name the store of the keys.
type storeFlags struct {
	coreproc.Data
	serverFlags
}

// with runs do on the keys: on a store in the name of the operating system's user, on a
// server in that of its admin key. The store must exist.
func (f storeFlags) with(ctx context.Context, do func(context.Context, keyring) error) error {
	return f.on(ctx, f.WithKeys, do)
}

// withKey is with, of commands that name a key: where there is no store there is no key.
func (f storeFlags) withKey(ctx context.Context, do func(context.Context, keyring) error) error {
	err := f.with(ctx, do)
	if errors.Is(err, store.ErrMissing) {
		return fmt.Errorf("%w: %w", keys.ErrNotFound, err)
	}
	return err
}

// making is with, of commands that make keys: they create the store where it is missing.
func (f storeFlags) making(ctx context.Context, do func(context.Context, keyring) error) error {
	return f.on(ctx, f.WithNewKeys, do)
}

// opens runs do on the keys of a store.
type opens func(ctx context.Context, do func(*keys.Service) error) error

func (f storeFlags) on(ctx context.Context, open opens, do func(context.Context, keyring) error) error {
	if f.Server != "" {
		return f.ask(ctx, do)
	}
	return open(ctx, func(service *keys.Service) error { return do(audit.WithActor(ctx, actor()), service) })
}

// actor is who the audit says has made a change at the command line.
func actor() string {
	u, err := user.Current()
	if err != nil {
		return "user:unknown"
	}
	name := strconv.Quote(u.Username) // a name of a directory's may have anything in it
	return "user:" + name[1:len(name)-1]
}

// keyArgument is the argument that names a key.
type keyArgument struct {
	Key string `arg:"" help:"The key's id, or its name if only one live key has it, or GROUP/NAME. Never the key itself."`
}

type createKey struct {
	storeFlags
	Group string `required:"" enum:"chat,messages,generatecontent,internal,admin" placeholder:"GROUP" help:"What the key is for: chat (chat completions, responses, images), messages, generatecontent, internal (direct gRPC) or admin (the Admin service, and nothing that generates)."`
	settingFlags
}

// Run prints the raw key and nothing else on standard output, and then makes the key.
func (c *createKey) Run(ctx context.Context, stdout io.Writer) error {
	params := keys.CreateParams{Group: keys.Group(c.Group)}
	if err := c.apply(&params.Settings, time.Now()); err != nil {
		return err
	}
	return c.making(ctx, func(ctx context.Context, ring keyring) error {
		if err := ring.CanCreate(ctx, params); err != nil {
			return err
		}
		if err := warnOfBudget(os.Stderr, c.Data, c.Server, params.Settings); err != nil {
			return err
		}
		var raw string
		var err error
		if params.Drawn, raw, err = keys.Draw(rand.Reader); err != nil {
			return err
		}
		return handOver(stdout, raw+"\n", func() error {
			_, _, err := ring.Create(ctx, params)
			return err
		})
	})
}

type listKeys struct {
	storeFlags
	Owner  *string `placeholder:"NAME" help:"Only keys of that owner."`
	Format string  `enum:"table,json" default:"table" help:"table or json."`
}

// Run prints a table, or a JSON array, as the keys are read.
func (c *listKeys) Run(ctx context.Context, stdout io.Writer) error {
	return c.with(ctx, func(ctx context.Context, ring keyring) error {
		list := ring.All(ctx, keys.Query{Owner: c.owner()})
		if c.Owner != nil && *c.Owner == "" {
			list = ownerless(list)
		}
		if c.Format == "json" {
			return keysJSON(stdout, list, time.Now())
		}
		return keysTable(stdout, list, time.Now())
	})
}

// owner is whose keys are listed; empty is everyone's.
func (c *listKeys) owner() string {
	if c.Owner == nil {
		return ""
	}
	return *c.Owner
}

// ownerless are those of the keys that have no owner.
func ownerless(list iter.Seq2[keys.Key, error]) iter.Seq2[keys.Key, error] {
	return func(yield func(keys.Key, error) bool) {
		for key, err := range list {
			if (err != nil || key.Owner == "") && !yield(key, err) {
				return
			}
		}
	}
}

type showKey struct {
	storeFlags
	keyArgument
	Format string `enum:"table,json" default:"table" help:"table or json."`
}

// Run prints a line for each member, or a JSON object.
func (c *showKey) Run(ctx context.Context, stdout io.Writer) error {
	return c.withKey(ctx, func(ctx context.Context, ring keyring) error {
		key, err := ring.Get(ctx, c.Key)
		if err != nil {
			return err
		}
		if c.Format == "json" {
			return keyJSON(stdout, key, time.Now())
		}
		return keyLines(stdout, key, time.Now())
	})
}

type updateKey struct {
	storeFlags
	keyArgument
	settingFlags
}

// Run changes the settings and prints them as they are now.
func (c *updateKey) Run(ctx context.Context, stdout io.Writer) error {
	if c.settingFlags == (settingFlags{}) {
		return cli.UsageError{Err: errors.New("nothing to change: give the settings as flags")}
	}
	return c.withKey(ctx, func(ctx context.Context, ring keyring) error {
		key, err := ring.Update(ctx, c.Key, func(s *keys.Settings) error { return c.apply(s, time.Now()) })
		if err != nil {
			return err
		}
		if c.BudgetDay != nil || c.BudgetMonth != nil {
			if err := warnOfBudget(os.Stderr, c.Data, c.Server, key.Settings); err != nil {
				return err
			}
		}
		return keyLines(stdout, key, time.Now())
	})
}

type rotateKey struct {
	storeFlags
	keyArgument
	Grace time.Duration `default:"24h" placeholder:"D" help:"How long the previous secret stays valid, up to 2160h; 0s ends it at once."`
}

// Run prints the new raw key and nothing else on standard output, and then rotates the key.
func (c *rotateKey) Run(ctx context.Context, stdout io.Writer) error {
	return c.withKey(ctx, func(ctx context.Context, ring keyring) error {
		checked, err := ring.Rotate(ctx, c.Key, keys.Rotation{Grace: c.Grace, Dry: true})
		if err != nil {
			return err
		}
		drawn, raw, err := keys.Draw(rand.Reader)
		if err != nil {
			return err
		}
		return handOver(stdout, raw+"\n", func() error {
			_, err := ring.Rotate(ctx, checked.Key.ID, keys.Rotation{Grace: c.Grace, Secret: drawn.Secret})
			return err
		})
	})
}

type revokeKey struct {
	storeFlags
	keyArgument
}

// Run revokes and says what was revoked.
func (c *revokeKey) Run(ctx context.Context, stdout io.Writer) error {
	return c.withKey(ctx, func(ctx context.Context, ring keyring) error {
		key, err := ring.Revoke(ctx, c.Key)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "revoked %s (%s %s)\n", key.ID, key.Group, dash(key.Name))
		return err
	})
}
