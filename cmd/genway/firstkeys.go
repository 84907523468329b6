package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/genway/genway/cmd/internal/consoleproc"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"golang.org/x/term"
)

// What the first start does about keys.
const (
	keysAuto  = "auto"
	keysPrint = "print"
	keysFile  = "file"
	keysNone  = "none"
)

// firstKeys are the keys of a first start: none on later ones. They are printed, or they are
// in a file.
type firstKeys struct {
	minted map[keys.Group]string
	file   string // empty if they are printed
	link   string // signs in to the console, once; empty for no console, or if it is in the file
}

// makeFirstKeys makes the keys of a first start. Keys in a file are there before they are
// good for anything, so that none is lost.
func (c *serveCommand) makeFirstKeys(ctx context.Context, stdout io.Writer, core *coreproc.Core, pages *consoleproc.Listener, log *slog.Logger) (firstKeys, error) {
	way := cmp.Or(c.FirstKeys, keysAuto)
	auto := way == keysAuto
	if auto {
		way = keysFile
		if out, ok := stdout.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
			way = keysPrint
		}
	}
	if way == keysNone {
		return firstKeys{}, nil
	}
	var made firstKeys
	minted, first, err := core.Keys.MintDefaults(ctx, func(minted map[keys.Group]string) (err error) {
		if way == keysFile {
			made.file, err = c.writeFirstKeys(minted)
		}
		return err
	})
	if made.file != "" && !first {
		err = errors.Join(err, os.Remove(made.file))
	}
	var unwritten *unwrittenError
	switch {
	case errors.As(err, &unwritten) && auto:
		log.Warn("no first keys are made: there is no terminal to print them to, and no file for them can be written; see --first-keys", "error", unwritten.error)
		return firstKeys{}, nil
	case err != nil || !first:
		return firstKeys{}, err
	}
	made.minted = minted
	if pages != nil {
		if made.link, err = firstLink(ctx, core.Keys, pages.URL()); err != nil {
			return firstKeys{}, err
		}
		if made.file != "" {
			err = appendLink(made.file, made.link)
			made.link = ""
		}
		if err != nil {
			return firstKeys{}, err
		}
	}
	if made.file != "" {
		log.Info("the first keys are in a file", "file", made.file)
		if filepath.Base(made.file) != firstKeysName {
			log.Warn("the store has no keys though an earlier first start left some: if this directory's store was lost, stop the server and restore a backup",
				"earlier", filepath.Join(filepath.Dir(made.file), firstKeysName))
		}
	}
	return made, nil
}

// unwrittenError is of the file of first keys.
type unwrittenError struct{ error }

func (e *unwrittenError) Unwrap() error { return e.error }

// firstKeysName is the file of a first start. Those of later ones in the same directory have a number.
const firstKeysName = "first-keys"

// firstKeysText is the head of the file, which a shell reads as assignments.
const firstKeysText = "# The first keys of this Genway, one for each group but admin. Remove this file when they are stored elsewhere.\n"

// writeFirstKeys writes keys into a new file in the directory of the data, readable only to its
// own user, and gives its name: first-keys, with a number where there is one already.
func (c *serveCommand) writeFirstKeys(minted map[keys.Group]string) (string, error) {
	name, err := c.newFirstKeys(minted)
	if err != nil {
		return "", &unwrittenError{fmt.Errorf("--first-keys %s: %w", keysFile, err)}
	}
	return name, nil
}

func (c *serveCommand) newFirstKeys(minted map[keys.Group]string) (name string, err error) {
	dir, err := c.Directory()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var file *os.File
	for n := 1; ; n++ {
		name = filepath.Join(dir, firstKeysName)
		if n > 1 {
			name += fmt.Sprint("-", n)
		}
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the directory
		if !errors.Is(err, fs.ErrExist) || n == 1000 {
			break
		}
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString(firstKeysText)
	for _, group := range keys.Groups() {
		if raw, made := minted[group]; made {
			fmt.Fprintf(&text, "%s=%s\n", keyVariable(group), raw)
		}
	}
	_, err = file.WriteString(text.String())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// firstLinkGood is how long the link of the first start is good.
const firstLinkGood = time.Hour

// firstLink makes a link that signs in to the console at an address, once.
func firstLink(ctx context.Context, ring *keys.Service, at string) (string, error) {
	made, err := ring.StartSession(ctx, keys.SessionParams{Link: true, Lifetime: firstLinkGood})
	if err != nil {
		return "", err
	}
	return signInLink(at, made.Raw), nil
}

// signInLink is the URL by which a link's key signs in. What is behind # is sent to no server.
func signInLink(at, raw string) string { return at + "/sign-in#" + raw }

// appendLink writes a link into the file of first keys, as a comment of the shell's.
func appendLink(name, link string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // it is the file just made
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "# The console, for an hour and one sign-in: %s\n", link)
	return errors.Join(err, file.Sync(), file.Close())
}

// keyVariable is the shell's name for the key of a group, as the README has it.
func keyVariable(group keys.Group) string { return strings.ToUpper(string(group)) + "_KEY" }
