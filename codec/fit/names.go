package fit

import (
	"fmt"
	"hash/fnv"
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

// Names returns the tools of one request names that the upstream's vendor takes, and the
// calls in its answer the names that the caller gave. Nil changes nothing. Not for
// concurrent use.
type Names struct {
	rule NameRule
	// sent has the names to send by those of the caller, and given is its inverse.
	sent, given map[string]string
}

// NewNames returns nil where the rule allows all names of the request.
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

// Request returns the request with the names to send. req is not changed.
func (n *Names) Request(req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	if n == nil {
		return req
	}
	out := codec.Shared(req)
	out.Tools, _ = codec.Rewritten(req.GetTools(), func(_ int, t *genwayv1.Tool) *genwayv1.Tool { return n.tool(t) })
	if names := req.GetToolChoice().GetNames(); len(names) > 0 {
		out.ToolChoice = proto.CloneOf(req.ToolChoice)
		for i, name := range names {
			out.ToolChoice.Names[i] = n.name(name)
		}
	}
	out.Messages, _ = codec.RewrittenParts(req.GetMessages(), func(_, _ int, p *genwayv1.Part) *genwayv1.Part { return n.part(p) })
	return out
}

func (n *Names) name(given string) string {
	if sent, ok := n.sent[given]; ok {
		return sent
	}
	return given
}

// tool returns a tool with the name to send; nil where it stays.
func (n *Names) tool(t *genwayv1.Tool) *genwayv1.Tool {
	sent, ok := n.sent[t.GetFunction().GetName()+t.GetCustom().GetName()]
	if !ok {
		return nil
	}
	out := proto.CloneOf(t)
	if f := out.GetFunction(); f != nil {
		f.Name = sent
	} else {
		out.GetCustom().Name = sent
	}
	return out
}

// part returns a call or a result with the name to send; nil where it stays.
func (n *Names) part(p *genwayv1.Part) *genwayv1.Part {
	if sent, ok := n.sent[p.GetToolCall().GetName()]; ok {
		return codec.WithCall(p, func(call *genwayv1.ToolCall) { call.Name = sent })
	}
	if sent, ok := n.sent[p.GetToolResult().GetName()]; ok {
		return codec.WithResult(p, func(result *genwayv1.ToolResult) { result.Name = sent })
	}
	return nil
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
	out, _ := codec.Rewritten(events, func(_ int, ev *genwayv1.StreamGenerateTextResponse) *genwayv1.StreamGenerateTextResponse {
		given, ok := n.given[ev.GetPartStarted().GetPart().GetToolCall().GetName()]
		if !ok {
			return nil
		}
		own := proto.CloneOf(ev) // its decoder may look at it again
		own.GetPartStarted().Part.GetToolCall().Name = given
		return own
	})
	return out
}
