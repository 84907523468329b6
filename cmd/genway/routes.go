package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

type routesCommand struct {
	Explain explainRoute `cmd:"" help:"Print the route of a model, its targets in the order in which they are tried, and the overrides of each."`
}

type explainRoute struct {
	Config   string `env:"GENWAY_CONFIG" placeholder:"FILE" help:"The configuration file."`
	Protocol string `enum:"chat,responses,messages,generatecontent,images,grpc" default:"chat" help:"Protocol of the caller: chat, responses, messages, generatecontent, images or grpc."`
	Model    string `arg:"" help:"The model, as the caller names it."`
}

// Run explains one request.
func (c *explainRoute) Run(_ context.Context, stdout io.Writer) (err error) {
	routing, err := load(c.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, routing.Close()) }()
	caller := protocol.ByKind(c.Protocol)
	e := routing.Router.Explain(caller.ID, c.Model)
	if e.Route < 0 {
		return fmt.Errorf("no route matches model %s of %s callers", c.Model, c.Protocol)
	}
	if len(e.Targets)+len(e.Fallback) == 0 {
		return fmt.Errorf("routes[%d], model %s: it has no target for %s callers of that model", e.Route, e.Model, c.Protocol)
	}
	fmt.Fprintf(stdout, "routes[%d], model %s\n", e.Route, e.Model)
	if e.Strict {
		fmt.Fprintln(stdout, "strict: requests that would lose something are refused")
	}
	if e.Deadline > 0 {
		fmt.Fprintf(stdout, "deadline: %v in all\n", e.Deadline)
	}
	if len(e.Targets) > 1 {
		fmt.Fprintf(stdout, "targets, the first %s:\n", chosen(e))
	} else {
		fmt.Fprintln(stdout, "targets:")
	}
	for i, t := range e.Targets {
		fmt.Fprintf(stdout, "  %d. %s, weight %d\n", i+1, described(t, caller.ID), cmp.Or(t.Weight, 1))
		printCall(stdout, t, c.Model)
		printOverrides(stdout, t)
	}
	if len(e.Fallback) > 0 {
		fmt.Fprintln(stdout, "fallback, in this order:")
	}
	for i, t := range e.Fallback {
		fmt.Fprintf(stdout, "  %d. %s\n", len(e.Targets)+i+1, described(t, caller.ID))
		printCall(stdout, t, c.Model)
		printOverrides(stdout, t)
	}
	return nil
}

// chosen says how the first of several targets is chosen.
func chosen(e route.Explanation) string {
	how := map[route.Strategy]string{
		route.ByWeight: "drawn by weight", route.LeastBusy: "the least busy for its weight", route.Fastest: "the fastest for its weight",
	}[e.Strategy]
	if e.Sticky {
		return "by the session, without one " + how
	}
	return how
}

// printCall says what is called, without the credentials in it.
func printCall(stdout io.Writer, t route.Target, model string) {
	if called, ok := t.Upstream.(coreproc.Called); ok {
		fmt.Fprintf(stdout, "     calls %s\n", called.URL(cmp.Or(t.Model, model)))
	}
}

func printOverrides(stdout io.Writer, t route.Target) {
	if does := t.Overrides.String(); does != "" {
		fmt.Fprintf(stdout, "     %s\n", does)
	}
}

// described says what a target is to a caller.
func described(t route.Target, caller genwayv1.Protocol) string {
	speaks, how := "takes every protocol's requests", ""
	if p := protocol.Of(t.Protocol); p != protocol.Direct {
		speaks, how = "speaks "+p.Kind, ", translated"
		if p.ID == caller {
			how = ", passed through"
		}
	}
	return fmt.Sprintf("%s: %s%s, model %s", t.Name, speaks, how, cmp.Or(t.Model, "as asked"))
}
