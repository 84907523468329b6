package health

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Action is the argument of a program that serves, and that containers can ask by its own
// binary whether the one that runs is ready: `genway-core health`.
type Action struct {
	Action string `arg:"" optional:"" enum:"serve,health" default:"serve" help:"serve, the default, or health: ask the server that runs with the same settings whether it is ready. Exits with 0 if it is."`
}

// Asked is whether the program is to ask rather than to serve.
func (a Action) Asked() bool { return a.Action == "health" }

// Check is one server that is asked, such as Edge.
type Check func(ctx context.Context, address string, encrypted bool) error

// Target is a listener, and the check that its kind takes.
type Target struct {
	Check     Check
	Address   string
	Encrypted bool
}

// Run asks each target in turn and prints that all are ready. The error is of all that are
// not.
func Run(ctx context.Context, stdout io.Writer, targets ...Target) error {
	var failed []error
	for _, target := range targets {
		if err := target.Check(ctx, target.Address, target.Encrypted); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	_, err := fmt.Fprintln(stdout, "ready")
	return err
}
