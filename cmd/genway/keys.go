package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
// server under its admin key's. The store must exist.
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

// groupFlag is a group of keys, one or several, as a flag takes it.
type groupFlag keys.Group

// UnmarshalText reads a group.
func (g *groupFlag) UnmarshalText(text []byte) error {
	group, err := keys.ParseGroup(string(text))
	*g = groupFlag(group)
	return err
}

type createKey struct {
	storeFlags
	Group groupFlag `required:"" placeholder:"GROUP,…" help:"What the key is for: chat (chat completions, responses, images), messages, generatecontent, or several of these; internal (direct gRPC) or admin (the Admin service, and nothing that generates)."`
	settingFlags
}

// Run prints the raw key and nothing else on standard output, and then makes the key.
func (c *createKey) Run(ctx context.Context, stdout io.Writer) error {
	params := keys.CreateParams{Group: keys.Group(c.Group)}
	if err := c.apply(&params.Settings, time.Now()); err != nil {
		return err
	}
	return c.on(ctx, c.WithNewKeys, func(ctx context.Context, ring keyring) error {
		if err := ring.CanCreate(ctx, params); err != nil {
			return err
		}
		if err := checkBudget(os.Stderr, c.Data, c.Server, params.Settings); err != nil {
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

// ownerless returns the keys that have no owner.
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
			return printJSON(stdout, objectOf(key, time.Now()))
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
	var budgets keys.Settings
	if err := (&settingFlags{BudgetDay: c.BudgetDay, BudgetMonth: c.BudgetMonth}).apply(&budgets, time.Now()); err != nil {
		return err
	}
	if err := checkBudget(os.Stderr, c.Data, c.Server, budgets); err != nil {
		return err
	}
	return c.withKey(ctx, func(ctx context.Context, ring keyring) error {
		key, err := ring.Update(ctx, c.Key, func(s *keys.Settings) error { return c.apply(s, time.Now()) })
		if err != nil {
			return err
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

// tablePart is how many keys of a table are printed at once: the columns of each part are as
// wide as it needs.
const tablePart = 1000

// put writes a text with keys that do not exist yet, and makes sure that it is out.
func put(output io.Writer, text string) error {
	signal.Ignore(syscall.SIGPIPE) // writing into a closed pipe returns an error
	file, isFile := output.(*os.File)
	var err error
	if isFile && cli.Closed(file) {
		err = os.ErrClosed
	} else {
		_, err = io.WriteString(output, text)
	}
	if isFile && err == nil {
		if info, unknown := file.Stat(); unknown == nil && info.Mode().IsRegular() {
			err = file.Sync() // some file systems say only then that they are full
		}
	}
	if err != nil {
		return fmt.Errorf("nothing was changed, since the output cannot be written: %w", err)
	}
	return nil
}

// handOver has new keys made once they are out: it prints a text that has them, and then runs do, which makes them. A key
// that was made first would be lost where the output is closed, or its disk full. No store is held meanwhile, since an
// output may take long.
func handOver(output io.Writer, text string, do func() error) error {
	if err := put(output, text); err != nil {
		return err
	}
	err := do()
	if maybeMade(err) {
		return fmt.Errorf("%w; genway keys list shows it, and what was printed is good only then", err)
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted") // the program would say this and no more
	}
	if err != nil {
		return fmt.Errorf("%w; what was printed is good for nothing", err)
	}
	return nil
}

// maybeMade reports whether keys may have been made in spite of an error.
func maybeMade(err error) bool {
	return errors.Is(err, store.ErrUnknown) || errors.Is(err, admin.ErrUnanswered)
}

func keysTable(stdout io.Writer, list iter.Seq2[keys.Key, error], now time.Time) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tGROUP\tNAME\tOWNER\tCREATED\tSTATE\tMAY")
	n := 0
	for key, err := range list {
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", key.ID, key.Group, dash(key.Name), dash(key.Owner),
			key.CreateTime.Format(time.RFC3339), state(key, now), summary(key.Policy))
		if n++; n%tablePart == 0 {
			if err := table.Flush(); err != nil {
				return err
			}
		}
	}
	return table.Flush()
}

func keyLines(stdout io.Writer, key keys.Key, now time.Time) error {
	limits := key.Policy.Limits
	budget := func(period limit.Period) string {
		for _, b := range limits.Budgets {
			if b.Period == period {
				return "$" + limit.FormatMoney(b.Amount)
			}
		}
		return "-"
	}
	figure := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	lines := [][2]string{
		{"id", key.ID},
		{"group", string(key.Group)},
		{"name", dash(key.Name)},
		{"owner", dash(key.Owner)},
		{"labels", dash(labelsText(key.Labels))},
		{"state", state(key, now)},
		{"created", key.CreateTime.Format(time.RFC3339)},
		{"secrets", secretsText(key, now)},
		{"models", dash(strings.Join(key.Policy.Models, ","))},
		{"addresses", dash(strings.Join(addresses(key.Policy), ","))},
		{"certificates", dash(strings.Join(key.Policy.Certificates, ","))},
	}
	for m, kind := range limit.Kinds {
		lines = append(lines, [2]string{kind.Words, figure(*limits.Figure(limit.Metric(m)))})
	}
	lines = append(lines, [][2]string{
		{"budget a day", budget(limit.Day)},
		{"budget a month", budget(limit.Month)},
		{"strict", strconv.FormatBool(key.Policy.Strict)},
		{"priority", cmp.Or(key.Policy.Priority, interactive)},
	}...)
	if key.Policy.ReadOnly {
		lines = append(lines, [2]string{"read-only", "true"})
	}
	if key.Policy.ReadCaptures {
		lines = append(lines, [2]string{"reads captures", "true"})
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, line := range append(lines, captureLines(key.Policy.Capture)...) {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	return table.Flush()
}

// secretsText returns since when the key's secrets are good, and until when.
func secretsText(key keys.Key, now time.Time) string {
	texts := make([]string, len(key.Secrets))
	for i, secret := range key.Secrets {
		texts[i] = "made " + secret.CreateTime.Format(time.RFC3339)
		switch end := secret.ExpireTime; {
		case end == nil:
		case now.Before(*end):
			texts[i] += ", good until " + end.Format(time.RFC3339)
		default:
			texts[i] += ", ended " + end.Format(time.RFC3339)
		}
	}
	return strings.Join(texts, "; ")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func state(key keys.Key, now time.Time) string {
	switch {
	case key.RevokeTime != nil:
		return "revoked " + key.RevokeTime.Format(time.RFC3339)
	case key.Expired(now):
		return "expired " + key.ExpireTime.Format(time.RFC3339)
	case key.ExpireTime != nil:
		return "live until " + key.ExpireTime.Format(time.RFC3339)
	}
	return "live"
}

// keyObject is a key in JSON: what is absent is empty or never.
type keyObject struct {
	ID           string            `json:"id"`
	Group        keys.Group        `json:"group"`
	Name         string            `json:"name"`
	Owner        string            `json:"owner"`
	Labels       map[string]string `json:"labels"`
	State        string            `json:"state"`
	CreateTime   time.Time         `json:"create_time"`
	ExpireTime   *time.Time        `json:"expire_time,omitzero"`
	RevokeTime   *time.Time        `json:"revoke_time,omitzero"`
	Models       []string          `json:"models"`
	Addresses    []string          `json:"addresses"`
	Certificates []string          `json:"certificates"`
	Limits       limit.Limits      `json:"limits"`
	Strict       bool              `json:"strict"`
	Priority     string            `json:"priority"`
	ReadOnly     bool              `json:"read_only,omitzero"`
	Capture      *capture.Rule     `json:"capture,omitzero"`
	ReadCaptures bool              `json:"read_captures,omitzero"`
	Secrets      []secretObject    `json:"secrets"`
}

type secretObject struct {
	CreateTime time.Time  `json:"create_time"`
	ExpireTime *time.Time `json:"expire_time,omitzero"`
}

func objectOf(key keys.Key, now time.Time) keyObject {
	word, _, _ := strings.Cut(state(key, now), " ")
	o := keyObject{
		ID: key.ID, Group: key.Group, Name: key.Name, Owner: key.Owner, Labels: key.Labels, State: word,
		CreateTime: key.CreateTime, ExpireTime: key.ExpireTime, RevokeTime: key.RevokeTime,
		Models: key.Policy.Models, Addresses: addresses(key.Policy), Certificates: key.Policy.Certificates, Limits: key.Policy.Limits, Strict: key.Policy.Strict,
		Priority: cmp.Or(key.Policy.Priority, interactive), ReadOnly: key.Policy.ReadOnly, Capture: key.Policy.Capture, ReadCaptures: key.Policy.ReadCaptures,
	}
	for _, secret := range key.Secrets {
		o.Secrets = append(o.Secrets, secretObject{CreateTime: secret.CreateTime, ExpireTime: secret.ExpireTime})
	}
	return o
}

// keysJSON prints an array, an object at a time. Where the keys cannot be read to their end,
// the array has none either: what is printed is no JSON then.
func keysJSON(stdout io.Writer, list iter.Seq2[keys.Key, error], now time.Time) error {
	out := jsontext.NewEncoder(stdout, jsontext.WithIndent("  "))
	if err := out.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for key, err := range list {
		if err != nil {
			return err
		}
		if err := json.MarshalEncode(out, objectOf(key, now), json.Deterministic(true)); err != nil {
			return err
		}
	}
	return out.WriteToken(jsontext.EndArray)
}

// printJSON prints a value over several lines.
func printJSON(stdout io.Writer, value any) error {
	if err := json.MarshalWrite(stdout, value, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout)
	return err
}
