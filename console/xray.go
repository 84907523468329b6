package console

import (
	"bytes"
	_ "embed" // the examples
	"encoding/json"
	"net/http"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// examplesText has an example of each protocol's body: a line "## PROTOCOL", and the body.
//
//go:embed examples.txt
var examplesText string

// example is a body to begin with.
type example struct{ Protocol, Body string }

var examples = parseExamples(examplesText)

func parseExamples(text string) []example {
	var list []example
	for _, part := range strings.Split("\n"+text, "\n## ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		list = append(list, example{name, strings.TrimSpace(body)})
	}
	return list
}

// memberRow is a member and what becomes of it.
type memberRow struct {
	Fate string
	*adminv1.ExplainedMember
}

type xrayPage struct {
	Protocols, Upstreams                 []choice
	Body, Model, Answer                  string
	Strict, Stream                       bool
	Explained                            *adminv1.ExplainResponse
	Members, Back                        []memberRow
	Message, Sent, AnswerMessage, Caller string
	// Folded is what the events of an upstream's stream amount to; empty for a unary answer.
	Folded string
	Counts []formField
	Wrong  string
	// Request is the id of a request of whose protocol and target an example is shown; empty for none.
	Request string
}

// showXRay shows the form, and what a translation does to the body in it. Nothing is sent to
// an upstream.
func showXRay(c *call) error {
	form := c.r.FormValue
	p := xrayPage{Model: form("model"), Body: c.r.PostFormValue("body"), Answer: c.r.PostFormValue("answer"), Strict: c.r.PostFormValue("strict") != "", Stream: c.r.PostFormValue("stream") != ""}
	protocol, chosen := examples[0], form("upstream")
	for _, e := range examples {
		if e.Protocol == form("protocol") {
			protocol = e
		}
	}
	for _, e := range examples {
		p.Protocols = append(p.Protocols, choice{Value: e.Protocol, Title: e.Protocol, Current: e.Protocol == protocol.Protocol})
	}
	upstreams, err := c.admin.ListUpstreams(c.ctx, &adminv1.ListUpstreamsRequest{})
	if err != nil {
		return err
	}
	p.Upstreams = []choice{{Value: "", Title: "the one that its route tries first", Current: chosen == ""}}
	for _, u := range upstreams.GetUpstreams() {
		p.Upstreams = append(p.Upstreams, choice{Value: u.GetName(), Title: "upstream " + u.GetName(), Current: chosen == u.GetName()})
	}
	for _, e := range examples {
		value := "protocol:" + e.Protocol
		p.Upstreams = append(p.Upstreams, choice{Value: value, Title: "any that speaks " + e.Protocol, Current: chosen == value})
	}
	if p.Body == "" {
		p.Body, p.Request = protocol.Body, form("request")
	}
	if c.r.Method == http.MethodPost {
		if err := c.explain(&p, protocol.Protocol, chosen); err != nil {
			return err
		}
	}
	c.show(http.StatusOK, "xray.html", "X-ray", p)
	return nil
}

func (c *call) explain(p *xrayPage, protocol, target string) error {
	req := &adminv1.ExplainRequest{Protocol: protocolNamed(protocol), Body: []byte(p.Body), Model: p.Model, Stream: p.Stream, Strict: p.Strict, Answer: []byte(strings.TrimSpace(p.Answer))}
	if of, ok := strings.CutPrefix(target, "protocol:"); ok {
		req.UpstreamProtocol = protocolNamed(of)
	} else {
		req.Upstream = target
	}
	resp, err := c.admin.Explain(c.ctx, req)
	if err != nil {
		if wrong, ok := wrongInput(err); ok {
			p.Wrong = wrong
			return nil
		}
		return err
	}
	p.Explained, p.Members, p.Back = resp, membersOf(resp.GetMembers()), membersOf(resp.GetAnswer().GetMembers())
	p.Message, p.Sent = pretty(resp.GetMessageJson()), pretty(string(resp.GetUpstreamBody()))
	p.AnswerMessage, p.Caller = pretty(resp.GetAnswer().GetMessageJson()), pretty(string(resp.GetAnswer().GetCallerBody()))
	p.Folded = pretty(string(resp.GetAnswer().GetUpstreamBody()))
	counts := map[string]int{}
	for _, m := range append(p.Members, p.Back...) {
		counts[m.Fate]++
	}
	for _, fate := range []string{"refused", "lost", "changed", "added", "kept", "mapped", "implied"} {
		if counts[fate] > 0 {
			p.Counts = append(p.Counts, formField{Name: fate, Value: count(int64(counts[fate]))})
		}
	}
	return nil
}

func membersOf(members []*adminv1.ExplainedMember) []memberRow {
	rows := make([]memberRow, len(members))
	for i, m := range members {
		rows[i] = memberRow{strings.ToLower(strings.TrimPrefix(m.GetFate().String(), "FATE_")), m}
	}
	return rows
}

// pretty indents JSON; anything else stays as it is.
func pretty(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}
