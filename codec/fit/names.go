package fit

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// allows reports whether a name keeps to the rule.
func (r NameRule) allows(name string) bool {
	if len(name) > r.Longest {
		return false
	}
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case c >= '0' && c <= '9', c == '-':
			if i == 0 && r.Lettered {
				return false
			}
		case i > 0 && strings.IndexByte(r.More, c) >= 0:
		default:
			return false
		}
	}
	return true
}

// Names gives the tools of one request names that the upstream's vendor takes, and the
// calls in its answer the names that the caller gave. Nil changes nothing. Not for
// concurrent use.
type Names struct {
	rule NameRule
	// sent has the names to send by those of the caller, and given is its inverse.
	sent, given map[string]string
}

// NewNames gives nil where the rule allows all names of the request.
func NewNames(req *genwayv1.GenerateTextRequest, rule NameRule) *Names {
	if rule.Longest == 0 {
		return nil
	}
	fits := true
	eachName(req, func(name string) { fits = fits && rule.allows(name) })
	if fits {
		return nil
	}
	n := &Names{rule: rule, sent: map[string]string{}, given: map[string]string{}}
	eachName(req, func(name string) {
		if name != "" && rule.allows(name) {
			n.given[name] = name // which no other may get
		}
	})
	eachName(req, n.add)
	return n
}

// eachName calls do with all names of tools in a request: offered, chosen, called, and of
// results.
func eachName(req *genwayv1.GenerateTextRequest, do func(name string)) {
	for _, t := range req.GetTools() {
		do(t.GetFunction().GetName())
		do(t.GetCustom().GetName())
	}
	for _, name := range req.GetToolChoice().GetNames() {
		do(name)
	}
	for _, m := range req.GetMessages() {
		for _, p := range m.GetParts() {
			do(p.GetToolCall().GetName())
			do(p.GetToolResult().GetName())
		}
	}
}

// add finds a name to send: as much of the caller's as can be read, and a hash of all of it.
func (n *Names) add(name string) {
	if _, known := n.sent[name]; known || n.rule.allows(name) {
		return
	}
	for try := 0; ; try++ {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d/%s", try, name)
		tail := fmt.Sprintf("_%016x", h.Sum64())
		head := codec.LegibleName(name)
		sent := head[:min(len(head), n.rule.Longest-len(tail))] + tail
		if _, taken := n.given[sent]; !taken {
			n.sent[name], n.given[sent] = sent, name
			return
		}
	}
}

// Request gives the request with the names to send. req is not changed.
func (n *Names) Request(req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	if n == nil {
		return req
	}
	out := new(genwayv1.GenerateTextRequest)
	codec.Share(out, req)
	out.Tools = slices.Clone(req.GetTools())
	for i, t := range out.Tools {
		out.Tools[i] = n.tool(t)
	}
	if names := req.GetToolChoice().GetNames(); len(names) > 0 {
		out.ToolChoice = proto.CloneOf(req.ToolChoice)
		for i, name := range names {
			out.ToolChoice.Names[i] = n.name(name)
		}
	}
	out.Messages = slices.Clone(req.GetMessages())
	for i, m := range out.Messages {
		if !slices.ContainsFunc(m.GetParts(), n.renames) {
			continue
		}
		own := new(genwayv1.Message)
		codec.Share(own, m)
		own.Parts = slices.Clone(m.GetParts())
		for j, p := range own.Parts {
			if n.renames(p) {
				own.Parts[j] = n.part(p)
			}
		}
		out.Messages[i] = own
	}
	return out
}

func (n *Names) name(given string) string {
	if sent, ok := n.sent[given]; ok {
		return sent
	}
	return given
}

func (n *Names) tool(t *genwayv1.Tool) *genwayv1.Tool {
	sent, ok := n.sent[t.GetFunction().GetName()+t.GetCustom().GetName()]
	if !ok {
		return t
	}
	out := proto.CloneOf(t)
	if f := out.GetFunction(); f != nil {
		f.Name = sent
	} else {
		out.GetCustom().Name = sent
	}
	return out
}

// renames reports whether a part has a name that is not sent as it is.
func (n *Names) renames(p *genwayv1.Part) bool {
	_, call := n.sent[p.GetToolCall().GetName()]
	_, result := n.sent[p.GetToolResult().GetName()]
	return call || result
}

func (n *Names) part(p *genwayv1.Part) *genwayv1.Part {
	out := new(genwayv1.Part)
	codec.Share(out, p)
	switch k := p.Kind.(type) {
	case *genwayv1.Part_ToolCall:
		call := new(genwayv1.ToolCall)
		codec.Share(call, k.ToolCall)
		call.Name = n.name(call.Name)
		out.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
	case *genwayv1.Part_ToolResult:
		result := new(genwayv1.ToolResult)
		codec.Share(result, k.ToolResult)
		result.Name = n.name(result.Name)
		out.Kind = &genwayv1.Part_ToolResult{ToolResult: result}
	}
	return out
}

// Response gives the calls of a unary answer the caller's names, in place.
func (n *Names) Response(resp *genwayv1.GenerateTextResponse) {
	if n == nil {
		return
	}
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			if given, ok := n.given[p.GetToolCall().GetName()]; ok {
				p.GetToolCall().Name = given
			}
		}
	}
}

// Events does so for those of a stream.
func (n *Names) Events(events []*genwayv1.StreamGenerateTextResponse) []*genwayv1.StreamGenerateTextResponse {
	if n == nil {
		return events
	}
	var out []*genwayv1.StreamGenerateTextResponse
	for i, ev := range events {
		given, ok := n.given[ev.GetPartStarted().GetPart().GetToolCall().GetName()]
		if !ok {
			continue
		}
		if out == nil {
			out = slices.Clone(events)
		}
		out[i] = proto.CloneOf(ev) // its decoder may look at it again
		out[i].GetPartStarted().Part.GetToolCall().Name = given
	}
	if out == nil {
		return events
	}
	return out
}
