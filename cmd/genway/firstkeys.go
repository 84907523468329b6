package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

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

// firstKeys are the keys of a first start, and where they are.
type firstKeys struct {
	minted map[keys.Group]string
	file   string // empty if they are printed
	link   string // signs in to the console, once; empty for no console
}

// makeFirstKeys makes the keys of a first start, once they are printed or in a file: a key that exists first would be lost
// where neither can be written. Of a first start it prints the welcome, which it reports.
func (c *serveCommand) makeFirstKeys(ctx context.Context, stdout io.Writer, core *coreproc.Core, data welcomeData, log *slog.Logger) (welcomed bool, err error) {
	way := cmp.Or(c.FirstKeys, keysAuto)
	auto := way == keysAuto
	if auto {
		way = keysFile
		if out, ok := stdout.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
			way = keysPrint
		}
	}
	if way == keysNone {
		return false, nil
	}
	drawn, raw, err := keys.Draw(rand.Reader)
	if err != nil {
		return false, err
	}
	var made firstKeys
	if data.Console != "" {
		made.link = signInLink(data.Console, raw)
	}
	var text strings.Builder
	_, first, err := core.Keys.MintDefaults(ctx, func(minted map[keys.Group]string) (err error) {
		made.minted = minted
		if way == keysFile {
			made.file, err = c.writeFirstKeys(made)
		}
		if err = errors.Join(err, printWelcome(&text, data, made)); err == nil && way == keysPrint {
			err = put(stdout, text.String())
		}
		return err
	})
	if !first && made.file != "" {
		err = errors.Join(err, os.Remove(made.file))
	}
	if unwritten, ok := errors.AsType[*unwrittenError](err); ok && auto {
		log.Warn("no first keys are made: there is no terminal to print them to, and no file for them can be written; see --first-keys", "error", unwritten.error)
		return false, nil
	}
	if err != nil || !first {
		return false, err
	}
	if made.link != "" {
		if _, err := core.Keys.StartSession(ctx, keys.SessionParams{Link: true, Lifetime: firstLinkGood, Drawn: drawn}); err != nil {
			return false, err
		}
	}
	if made.file == "" {
		return true, nil
	}
	log.Info("the first keys are in a file", "file", made.file)
	if filepath.Base(made.file) != firstKeysName {
		log.Warn("the store has no keys though an earlier first start left some: if this directory's store was lost, stop the server and restore a backup",
			"earlier", filepath.Join(filepath.Dir(made.file), firstKeysName))
	}
	_, err = io.WriteString(stdout, text.String())
	return true, err
}

// unwrittenError is of the file of first keys.
type unwrittenError struct{ error }

func (e *unwrittenError) Unwrap() error { return e.error }

// firstKeysName is the file of a first start. Those of later ones in the same directory have a number.
const firstKeysName = "first-keys"

// firstKeysText is the head of the file, which a shell reads as assignments.
const firstKeysText = "# The first keys of this Genway, one for each group but admin. Remove this file when they are stored elsewhere.\n"

// writeFirstKeys writes keys into a new file in the directory of the data, readable only to its
// own user, and returns its name: first-keys, with a number where there is one already.
func (c *serveCommand) writeFirstKeys(made firstKeys) (string, error) {
	name, err := c.newFirstKeys(made)
	if err != nil {
		return "", &unwrittenError{fmt.Errorf("--first-keys %s: %w", keysFile, err)}
	}
	return name, nil
}

func (c *serveCommand) newFirstKeys(made firstKeys) (name string, err error) {
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
		if raw, minted := made.minted[group]; minted {
			fmt.Fprintf(&text, "%s=%s\n", keyVariable(group), raw)
		}
	}
	if made.link != "" { // a comment of the shell's
		fmt.Fprintf(&text, "# The console, for an hour and one sign-in: %s\n", made.link)
	}
	_, err = file.WriteString(text.String())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// firstLinkGood is how long the link of the first start is good.
const firstLinkGood = time.Hour

// signInLink is the URL by which a link's key signs in. What is behind # is sent to no server.
func signInLink(at, raw string) string { return at + "/sign-in#" + raw }

// keyVariable is the shell's name for the key of a group, as the README has it.
func keyVariable(group keys.Group) string { return strings.ToUpper(string(group)) + "_KEY" }
