package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
)

// tablePart is how many keys of a table are printed at once: the columns of each part are as
// wide as it needs.
const tablePart = 1000

// put writes a text with keys that do not exist yet, and makes sure that it is out.
func put(output io.Writer, text string) error {
	signal.Ignore(syscall.SIGPIPE) // a pipe that nobody reads is an error of the writing
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

func keyJSON(stdout io.Writer, key keys.Key, now time.Time) error {
	return printJSON(stdout, objectOf(key, now))
}

// printJSON prints a value over several lines.
func printJSON(stdout io.Writer, value any) error {
	if err := json.MarshalWrite(stdout, value, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout)
	return err
}
