package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/explain"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/protobuf/encoding/protojson"
)

// xrayCommand says what a translation does to a body. Nothing is sent.
type xrayCommand struct {
	serverFlags
	Config   string `env:"GENWAY_CONFIG" placeholder:"FILE" help:"The configuration file with the routes. Without it and without --server, --to is required."`
	Protocol string `enum:"chat,responses,messages,generatecontent,images" default:"chat" help:"Protocol of the body: chat, responses, messages, generatecontent or images."`
	Model    string `placeholder:"NAME" help:"The model; replaces the one in the body. Required for generatecontent, which has it in the path."`
	Stream   bool   `help:"Request a stream. For generatecontent only; the other protocols have a member of the body for it."`
	Upstream string `placeholder:"NAME" help:"The target of the model's route. Default: the one that is tried first."`
	To       string `enum:",chat,responses,messages,generatecontent,images" default:"" placeholder:"KIND" help:"A kind of upstream in place of a route's target: chat, responses, messages, generatecontent or images."`
	Strict   bool   `help:"Refuse bodies with members that the translation would lose, as strict keys and routes do."`
	Answer   string `type:"existingfile" placeholder:"FILE" help:"The body of an upstream's answer, which is translated back: JSON, or the events of a stream as they came."`
	Format   string `enum:"table,json" default:"table" help:"table or json."`
	File     string `arg:"" optional:"" default:"-" help:"The body; - is the standard input."`
}

// Run explains one body.
func (c *xrayCommand) Run(ctx context.Context, stdout io.Writer) error {
	req := &adminv1.ExplainRequest{Protocol: protocol.ByKind(c.Protocol).Name, Model: c.Model, Stream: c.Stream, Upstream: c.Upstream, Strict: c.Strict}
	if c.To != "" {
		req.UpstreamProtocol = protocol.ByKind(c.To).Name
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
		fmt.Fprintf(stdout, "%s\n\n", how)
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

// printAnswer prints what became of an answer; of a stream that fails, of what came ahead of the failure.
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
