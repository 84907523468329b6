package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/go-json-experiment/json"
)

// checkpoint is a file with what a check of the ledger had found until it was broken off.
type checkpoint struct {
	path string
	of   string // what is checked: the store and the prices
}

// checkpointed is the file's content.
type checkpointed struct {
	Of    string             `json:"of"`
	Found *reconcile.Checked `json:"found"`
}

// newCheckpoint returns the checkpoint at a path, nil for none. What the store is called and what
// the prices say is not in the file, but a hash of it.
func newCheckpoint(path, location, prices string) (*checkpoint, error) {
	if path == "" {
		return nil, nil
	}
	hash := sha256.New()
	hash.Write([]byte(location + "\x00"))
	if prices != "" {
		text, err := os.ReadFile(prices) //nolint:gosec // the operator says which
		if err != nil {
			return nil, err
		}
		hash.Write(text)
	}
	c := &checkpoint{path, hex.EncodeToString(hash.Sum(nil))}
	if err := c.tryWriting(); err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	return c, nil
}

// tryWriting fails where the file cannot be written: a check of an hour should not find that
// out after its first day.
func (c *checkpoint) tryWriting() error {
	if info, err := os.Stat(c.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", c.path)
	}
	file, err := os.OpenFile(c.next(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(c.next()))
}

// next is where the file is written before it takes its place.
func (c *checkpoint) next() string { return c.path + ".next" }

// read returns what was found until the check was broken off, nil where there is no file.
func (c *checkpoint) read() (*reconcile.Checked, error) {
	if c == nil {
		return nil, nil
	}
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var had checkpointed
	if err := json.Unmarshal(text, &had); err != nil || had.Found == nil {
		return nil, fmt.Errorf("%s is no checkpoint of a check; remove it to begin at the beginning", c.path)
	}
	if had.Of != c.of {
		return nil, fmt.Errorf("%s is of a check of another store or with other prices; remove it to begin at the beginning", c.path)
	}
	return had.Found, nil
}

// write replaces the file as a whole, so that a check that is killed leaves one of the two.
func (c *checkpoint) write(found *reconcile.Checked) error {
	if c == nil {
		return nil
	}
	text, err := json.Marshal(checkpointed{c.of, found})
	if err != nil {
		return err
	}
	err = os.WriteFile(c.next(), text, 0o600)
	if err == nil {
		err = os.Rename(c.next(), c.path)
	}
	if err != nil {
		_ = os.Remove(c.next()) // the error says more; of a full disk a part of the file is left
	}
	return err
}

// remove removes the file of a check that has come to its end.
func (c *checkpoint) remove() error {
	if c == nil {
		return nil
	}
	if err := os.Remove(c.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// reportDays shows how far a check is.
func reportDays(progress *cli.Progress, found *reconcile.Checked) {
	days := func(t time.Time) int64 { return int64(t.Sub(found.First)/(24*time.Hour)) + 1 }
	progress.Report(days(found.Next)-1, days(found.Until), fmt.Sprintf("days are checked, %d requests", found.Entries))
}
