package responses

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Tools may stand in namespaces here (SDK: NamespaceTool), and a call of such a tool
// says which (ResponseFunctionToolCall.Namespace). No other protocol has them, so that
// the canonical name of the tool, of its calls and of a choice is made of both. What
// it was made of is kept in marks, by which requests are written again; answers of an
// upstream that knows only the canonical name find it among the tools of the request.

// spaced is the place of a tool in a namespace.
type spaced struct{ space, name string }

const (
	typeNamespace = "namespace"
	// ofSpace prefixes the members of a namespace, which its first tool carries.
	ofSpace = "namespace."
	// markSpace and markName begin marks; the rest of a mark is the value.
	markSpace = "namespace="
	markName  = "name="
)

// longestName is what the vendors of all protocols take as a tool's name; they take
// letters, digits, _ and -, and generateContent no digit or - at its beginning.
const longestName = 64

// flat is the canonical name: namespace__name, or the hashed one where that is no
// name of all protocols.
func (s spaced) flat() string {
	name := s.joined()
	if name != codec.LegibleName(name) || len(name) > longestName {
		return s.hashed()
	}
	return name
}

// called is the canonical name in a call. The vendor gives a tool that stands in no
// namespace and was loaded late its own name as namespace when it is called. Where a
// namespace has a tool of its own name, rejoin gives the call the other name.
func (s spaced) called() string {
	if s.space == s.name {
		return s.name
	}
	return s.flat()
}

// rejoin renames the calls of tools that have the name of their namespace: they get the name of the
// tool.
func rejoin(tools []*genwayv1.Tool, messages []*genwayv1.Message) {
	for _, t := range tools {
		s := spacedIn(t.NativeFields)
		if s.space == "" || s.space != s.name {
			continue
		}
		for _, m := range messages {
			for _, p := range m.Parts {
				if spacedIn(p.NativeFields) != s {
					continue
				}
				if call := p.GetToolCall(); call != nil {
					call.Name = toolName(t)
				}
				if result := p.GetToolResult(); result != nil {
					result.Name = toolName(t)
				}
			}
		}
	}
}

// joined keeps the separator of a namespace that brings its own ("mcp__files__").
func (s spaced) joined() string {
	if strings.HasSuffix(s.space, "__") {
		return s.space + s.name
	}
	return s.space + "__" + s.name
}

// hashed is a name that no other tool has: the readable beginning of the joined one,
// and a hash of the place.
func (s spaced) hashed() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%s", len(s.space), s.space, s.name)
	tail := fmt.Sprintf("_%016x", h.Sum64())
	name := codec.LegibleName(s.joined())
	return name[:min(len(name), longestName-len(tail))] + tail
}

func (s spaced) marks() []*genwayv1.NativeField {
	return []*genwayv1.NativeField{member.Mark(protocol, markSpace+s.space), member.Mark(protocol, markName+s.name)}
}

// spacedIn reads the marks; the zero value is a tool without a namespace.
func spacedIn(fields []*genwayv1.NativeField) (s spaced) {
	for _, f := range fields {
		if f.Protocol != protocol || !member.IsMark(f) {
			continue
		}
		if space, ok := strings.CutPrefix(f.Name, markSpace); ok {
			s.space = space
		}
		if name, ok := strings.CutPrefix(f.Name, markName); ok {
			s.name = name
		}
	}
	return s
}

// spaces finds the places of tools by their canonical names.
type spaces map[string]spaced

func spacesOf(tools []*genwayv1.Tool) spaces {
	var out spaces
	for _, t := range tools {
		if s := spacedIn(t.NativeFields); s.space != "" {
			if out == nil {
				out = spaces{}
			}
			out[toolName(t)] = s
		}
	}
	return out
}

// place is the one a name was written at, else the one its tool has.
func (s spaces) place(fields []*genwayv1.NativeField, name string) spaced {
	if own := spacedIn(fields); own.space != "" {
		return own
	}
	if place, ok := s[name]; ok {
		return place
	}
	return spaced{name: name}
}

// toolName is the canonical name of a tool; a hosted one has none.
func toolName(t *genwayv1.Tool) string {
	return t.GetFunction().GetName() + t.GetCustom().GetName()
}

func rename(t *genwayv1.Tool, name string) {
	if f := t.GetFunction(); f != nil {
		f.Name = name
	} else if c := t.GetCustom(); c != nil {
		c.Name = name
	}
}

// distinguish renames the tools of namespaces whose canonical names others have, too: they get
// the hashed names, in all places of the request.
func distinguish(tools []*genwayv1.Tool, messages []*genwayv1.Message) {
	if spacesOf(tools) == nil {
		return
	}
	first := map[string]spaced{}
	clashing := map[string]bool{}
	for _, t := range tools {
		name, at := toolName(t), spacedIn(t.NativeFields)
		if name == "" {
			continue // a tool of an unknown type has no name that could clash
		}
		if other, taken := first[name]; taken && other != at {
			clashing[name] = true
		}
		first[name] = at
	}
	if len(clashing) == 0 {
		return
	}
	for _, t := range tools {
		if s := spacedIn(t.NativeFields); s.space != "" && clashing[toolName(t)] {
			rename(t, s.hashed())
		}
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			s := spacedIn(p.NativeFields)
			if s.space == "" {
				continue
			}
			if call := p.GetToolCall(); clashing[call.GetName()] {
				call.Name = s.hashed()
			}
			if result := p.GetToolResult(); clashing[result.GetName()] {
				result.Name = s.hashed()
			}
		}
	}
}
