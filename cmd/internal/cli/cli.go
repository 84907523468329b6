// Package cli has the common parts of the three commands: parsing, exit codes, the
// log and the end on a signal.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Exit codes: 1 when the command failed, 2 when it was called wrongly.
const (
	exitFailure = 1
	exitUsage   = 2
)

// Main parses the process's arguments and runs the chosen command with a context that
// ends on SIGINT or SIGTERM; a second one ends the process at once. It returns the process's
// exit code.
func Main(p Program) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return p.run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

func (p Program) run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == completeCommand {
		if err := p.complete(stdout, args[1:]); err != nil {
			return exitFailure
		}
		return 0
	}
	command, err := p.Parse(args)
	if err == nil {
		err = command.Run(ctx, stdout)
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
	if _, ok := errors.AsType[UsageError](err); ok {
		return exitUsage
	}
	return exitFailure
}

// UsageError is a call that can never work as it is.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// TellEnd logs that the end was asked for, which explains the wait that follows.
// The result stops the logging.
func TellEnd(ctx context.Context, log *slog.Logger, grace time.Duration) func() bool {
	return context.AfterFunc(ctx, func() {
		log.Info("shutting down; waiting for requests in flight, a second signal ends them at once", "grace_seconds", grace.Seconds())
	})
}

// ShellWord returns a word as a shell takes it for one.
func ShellWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+:@%,=", c)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
