package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

type grammar struct {
	Ends   ends   `cmd:"" help:"Succeeds."`
	Fails  fails  `cmd:"" help:"Fails."`
	Misuse misuse `cmd:"" help:"Was called wrongly."`
	Waits  waits  `cmd:"" help:"Waits for the end of its context."`
}

type (
	ends   struct{}
	fails  struct{}
	misuse struct{}
	waits  struct{}
)

func (ends) Run(context.Context, io.Writer) error   { return nil }
func (fails) Run(context.Context, io.Writer) error  { return errors.New("no luck") }
func (misuse) Run(context.Context, io.Writer) error { return UsageError{errors.New("not so")} }
func (waits) Run(ctx context.Context, _ io.Writer) error {
	<-ctx.Done()
	return fmt.Errorf("wait: %w", ctx.Err())
}

// The exit code and one line report the outcome of a command. A command that was
// interrupted has not done what it was to do.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"ends", 0, ""},
		{"fails", 1, "test: no luck\n"},
		{"misuse", 2, "test: not so\n"},
		{"waits", 1, "test: interrupted\n"},
		{"end", 2, "test: unexpected argument end, did you mean \"ends\"? (see test --help)\n"},
		{"--version", 0, ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr strings.Builder
		program := Program{Name: "test", Description: "A test.", Grammar: &grammar{}}
		if code := program.run(ctx, []string{c.args}, &stdout, &stderr); code != c.code || stderr.String() != c.says {
			t.Errorf("%s: exit %d, %s", c.args, code, stderr.String())
		}
	}
}
