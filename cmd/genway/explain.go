package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/explain"
	"github.com/genway/genway/core/route"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/protobuf/encoding/protojson"
)

type routesCommand struct {
	Explain explainRoute `cmd:"" help:"Print the route of a model, its targets in the order in which they are tried, and the overrides of each."`
}

type explainRoute struct {
	Config   string `env:"GENWAY_CONFIG" placeholder:"FILE" help:"The configuration file."`
	Protocol string `enum:"chat,responses,messages,generatecontent,interactions,images,grpc" default:"chat" help:"Protocol of the caller: chat, responses, messages, generatecontent, interactions, images or grpc."`
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
		fmt.Fprintf(stdout, "  %d. %s%s\n", len(e.Targets)+i+1, described(t, caller.ID), causes(t))
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

// causes says when a fallback is tried; empty for one that is tried after failures alone.
func causes(t route.Target) string {
	if t.On == 0 || t.On == route.Failure {
		return ""
	}
	return ", on " + strings.Join(t.Causes(), " and ")
}

// printCall says what is called, without the credentials in it.
func printCall(stdout io.Writer, t route.Target, model string) {
	if called, ok := t.Upstream.(coreproc.Called); ok {
		fmt.Fprintf(stdout, "     calls %s\n", called.URL(cmp.Or(t.Model, model)))
	}
}

func printOverrides(stdout io.Writer, t route.Target) {
	if does := t.Changes(); does != "" {
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

// xrayCommand says what a translation does to a body. Nothing is sent.
type xrayCommand struct {
	serverFlags
	Config   string `env:"GENWAY_CONFIG" placeholder:"FILE" help:"The configuration file with the routes. Without it and without --server, --to is required."`
	Protocol string `enum:"chat,responses,messages,generatecontent,interactions,images" default:"chat" help:"Protocol of the body: chat, responses, messages, generatecontent, interactions or images."`
	Model    string `placeholder:"NAME" help:"The model; replaces the one in the body. Required for generatecontent, which has it in the path."`
	Stream   bool   `help:"Request a stream. For generatecontent only; the other protocols have a member of the body for it."`
	Upstream string `placeholder:"NAME" help:"The target of the model's route. Default: the one that is tried first."`
	To       string `enum:",chat,responses,messages,generatecontent,interactions,images" default:"" placeholder:"KIND" help:"A kind of upstream in place of a route's target: chat, responses, messages, generatecontent, interactions or images."`
	Strict   bool   `help:"Refuse bodies with members that the translation would lose, as strict keys and routes do."`
	Answer   string `type:"existingfile" placeholder:"FILE" help:"The body of an upstream's answer, which is translated back: JSON, or the events of a stream as they came."`
	Format   string `enum:"table,json" default:"table" help:"table or json."`
	File     string `arg:"" optional:"" default:"-" help:"The body; - is the standard input."`
}

// Run explains one body.
func (c *xrayCommand) Run(ctx context.Context, stdout io.Writer) error {
	req := &adminv1.ExplainRequest{Protocol: protocol.ByKind(c.Protocol).ID, Model: c.Model, Stream: c.Stream, Upstream: c.Upstream, Strict: c.Strict}
	if c.To != "" {
		req.UpstreamProtocol = protocol.ByKind(c.To).ID
	}
	var err error
	if req.Body, err = c.body(os.Stdin); err != nil {
		return err
	}
	if c.Answer != "" {
		if req.Answer, err = c.answer(); err != nil {
			return err
		}
	}
	resp, err := c.explain(ctx, req)
	if err != nil {
		return err
	}
	if c.Format == "json" {
		text, err := protojson.Marshal(resp)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "%s\n", indented(text))
		return err
	}
	printXray(stdout, resp)
	if r := resp.GetRefusal(); r != nil {
		return fmt.Errorf("the request would be refused: %s", r.GetMessage())
	}
	return nil
}

// body reads what is to be explained, and a little more than may be.
func (c *xrayCommand) body(stdin io.Reader) ([]byte, error) {
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // it is only read
		stdin = file
	}
	return io.ReadAll(io.LimitReader(stdin, explain.MaxBody+1))
}

// answer reads the answer, and a little more than may be.
func (c *xrayCommand) answer() ([]byte, error) {
	file, err := os.Open(c.Answer)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	return io.ReadAll(io.LimitReader(file, explain.MaxBody+1))
}

// explain asks the server, or the configuration.
func (c *xrayCommand) explain(ctx context.Context, req *adminv1.ExplainRequest) (resp *adminv1.ExplainResponse, err error) {
	if c.Server != "" {
		err = c.ask(ctx, func(ctx context.Context, k keyring) error {
			client, ok := k.(admin.Client)
			if !ok {
				return errors.New("--server has no Admin service")
			}
			resp, err = client.Admin.Explain(ctx, req)
			return err
		})
		return resp, err
	}
	if c.Config == "" && c.To == "" {
		return nil, cli.UsageError{Err: errors.New("name a configuration (--config), a server (--server) or a kind of upstream (--to)")}
	}
	routing, err := load(c.Config)
	if err != nil {
		return nil, err
	}
	resp, err = (&explain.Explainer{Router: routing.Router}).Explain(ctx, req)
	return resp, errors.Join(err, routing.Close())
}

// printXray prints what became of a request, and of its answer.
func printXray(stdout io.Writer, x *adminv1.ExplainResponse) {
	if x.GetRoute() != "" {
		fmt.Fprintf(stdout, "route %s, upstream %s, model %s\n", x.GetRoute(), x.GetUpstream(), x.GetUpstreamModel())
	}
	how := "translated"
	if x.GetPassedThrough() {
		how = "passed through"
	}
	if x.GetRefusal() == nil {
		fmt.Fprintf(stdout, "%s\n", how)
		if lost := x.GetLost(); len(lost) > 0 {
			fmt.Fprintf(stdout, "lost: %s\n", oneLine(strings.Join(lost, ", ")))
		}
		fmt.Fprintln(stdout)
	}
	printMembers(stdout, x.GetMembers(), x.GetTruncated())
	if len(x.GetUpstreamBody()) > 0 {
		fmt.Fprintf(stdout, "\nthe upstream gets:\n%s\n", indented(x.GetUpstreamBody()))
	}
	a := x.GetAnswer()
	if a == nil {
		return
	}
	fmt.Fprintln(stdout, "\nthe answer:")
	printAnswer(stdout, a)
}

// printAnswer prints what became of an answer; of a stream that fails, of what came before the failure.
func printAnswer(stdout io.Writer, a *adminv1.ExplainedAnswer) {
	if a.GetStream() {
		fmt.Fprintf(stdout, "events of the upstream: %d, events for the caller: %d\n", a.GetUpstreamEvents(), a.GetCallerEvents())
	}
	if r := a.GetRefusal(); r != nil {
		how := "it cannot be used"
		if len(a.GetUpstreamBody()) > 0 {
			how = "it fails"
		}
		fmt.Fprintf(stdout, "%s: %s\n", how, oneLine(r.GetMessage()))
		if len(a.GetUpstreamBody()) == 0 {
			return
		}
	}
	printMembers(stdout, a.GetMembers(), a.GetTruncated())
	if a.GetStream() {
		fmt.Fprintf(stdout, "\nthe upstream's events amount to:\n%s\n", indented(a.GetUpstreamBody()))
	}
	if len(a.GetCallerBody()) > 0 {
		fmt.Fprintf(stdout, "\nthe caller gets:\n%s\n", indented(a.GetCallerBody()))
	}
}

func printMembers(stdout io.Writer, members []*adminv1.ExplainedMember, truncated bool) {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, m := range members {
		fate := strings.ToLower(strings.TrimPrefix(m.GetFate().String(), "FATE_"))
		why := m.GetRule()
		if m.GetReason() != "" {
			why += ": " + m.GetReason()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", fate, oneLine(m.GetPath()), oneLine(strings.Join(m.GetArrives(), ", ")), oneLine(why))
	}
	_ = table.Flush()
	if truncated {
		fmt.Fprintln(stdout, "… and more")
	}
}

// oneLine keeps a text of a stranger's on its line, without what moves a terminal's cursor.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// indented is JSON with a line for each member; what is none is as it is.
func indented(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return oneLine(string(text))
	}
	return b.String()
}
