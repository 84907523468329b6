package fit

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// Request is Unframed, Unplaced, Drawn, Loaded, Tools, Validated and History.
func Request(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	if err := checkCompaction(req, protocol); err != nil {
		return nil, err
	}
	req = Unframed(req, protocol)
	Unplaced(req, protocol, losses)
	req, err := Tools(Loaded(Drawn(req, protocol, losses), protocol), protocol, losses)
	if err != nil {
		return nil, err
	}
	return History(Validated(req, protocol, losses), protocol, losses)
}

// Hosted reports whether the vendor of another protocol runs the tool. Encoders of the
// protocol pass such tools over; Tools has named them.
func Hosted(t *genwayv1.Tool, protocol genwayv1.Protocol) bool {
	return t.GetHosted() != nil && t.GetHosted().GetProtocol() != protocol
}

// Tools names the hosted tools of other protocols in losses: clients offer them by
// themselves, and a model that may choose can do without. It refuses the request when the
// caller demands a tool that is such a one. The result has no tool choice when no tool is
// left to choose, since vendors refuse that; else it is the request itself.
func Tools(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	hosted, left := -1, false
	for i, t := range req.GetTools() {
		if !Hosted(t, protocol) {
			left = true
			continue
		}
		if hosted < 0 {
			hosted = i
		}
		if t.GetHosted().GetType() == notLoaded {
			continue
		}
		losses.Add(member.Index("tools", i), "the upstream of this model has no such tool, so that it is not offered")
		for _, f := range t.GetNativeFields() { // of a namespace, whose other tools are offered
			if err := member.OmitNative(f, member.Index("tools", i), losses); err != nil {
				return nil, err
			}
		}
	}
	choice := req.GetToolChoice()
	switch {
	case hosted < 0:
		return req, nil
	case demanded(req, protocol):
		path := member.Index("tools", hosted) + ".type"
		return nil, fault.Unsupported(path, "%s: the upstream this model is routed to has no tool of the type %q, and tool_choice demands it",
			path, req.GetTools()[hosted].GetHosted().GetType())
	case left, choice == nil, choice.GetNative() != nil:
		return req, nil
	}
	out := codec.Shared(req)
	out.ToolChoice = nil
	return out, nil
}

const (
	// deferLoading is the member of a tool of messages that the model gets to know once a tool_reference names it.
	deferLoading = "defer_loading"
	// notLoaded is the type of a tool that is not offered, which nothing names as lost.
	notLoaded = "not_loaded"
	// searchTool begins the types of the tools by which the vendor of messages finds deferred ones.
	searchTool = "tool_search_tool_"
)

// Loaded returns the request with those deferred tools of messages alone that the conversation has loaded (ToolParam.DeferLoading:
// "only loaded when returned via tool_reference from tool search"): named by a tool_reference, called, or chosen. The
// others are not offered yet, which is no loss, since a tool of the caller's finds them. Where the vendor was to find
// them, all are offered.
func Loaded(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) *genwayv1.GenerateTextRequest {
	if protocol == messages || !slices.ContainsFunc(req.GetTools(), isDeferred) ||
		slices.ContainsFunc(req.GetTools(), func(t *genwayv1.Tool) bool { return strings.HasPrefix(t.GetHosted().GetType(), searchTool) }) {
		return req
	}
	loaded := map[string]bool{}
	for _, name := range req.GetToolChoice().GetNames() {
		loaded[name] = true
	}
	for _, m := range req.GetMessages() {
		for _, p := range m.GetParts() {
			loaded[p.GetToolCall().GetName()] = true
			for _, inner := range append(slices.Clip(p.GetToolResult().GetParts()), p) {
				if o := inner.GetOpaque(); o.GetProtocol() == messages && o.GetType() == "tool_reference" {
					loaded[member.Raw(member.Value(o.GetJson(), "tool_name")).String()] = true
				}
			}
		}
	}
	out := codec.Shared(req)
	out.Tools, _ = codec.Rewritten(req.GetTools(), func(_ int, t *genwayv1.Tool) *genwayv1.Tool {
		switch {
		case !isDeferred(t):
			return nil
		case !loaded[t.GetFunction().GetName()]:
			return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: messages, Type: notLoaded}}}
		}
		return loadedTool(t)
	})
	return out
}

// Distinct returns the request with each name of a tool once, where the vendor refuses a second one. A tool that is
// equal to one before it is left out and named; one that differs is refused, since the model could not tell which one it calls.
func Distinct(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	if !rules.Names.Unique || len(req.GetTools()) < 2 {
		return req, nil
	}
	var repeated []int
	first := make(map[string]int, len(req.GetTools()))
	for i, t := range req.GetTools() {
		name := t.GetFunction().GetName() + t.GetCustom().GetName()
		before, known := first[name]
		switch {
		case name == "":
		case !known:
			first[name] = i
		case proto.Equal(t, req.GetTools()[before]):
			losses.Add(member.Index("tools", i), "it is the same as "+member.Index("tools", before)+", and the vendor takes a tool once")
			repeated = append(repeated, i)
		default:
			path := member.Index("tools", i)
			return nil, fault.Unsupported(path, "%s: it has the name of %s, and the upstream this model is routed to takes a name once", path, member.Index("tools", before))
		}
	}
	if repeated == nil {
		return req, nil
	}
	out := codec.Shared(req)
	out.Tools, _ = codec.Rewritten(req.GetTools(), func(i int, _ *genwayv1.Tool) *genwayv1.Tool {
		if !slices.Contains(repeated, i) {
			return nil
		}
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Type: notLoaded}}}
	})
	return out, nil
}

// loadedTool returns a tool that is not deferred any more.
func loadedTool(t *genwayv1.Tool) *genwayv1.Tool {
	own := codec.Shared(t)
	own.NativeFields = slices.DeleteFunc(slices.Clone(t.GetNativeFields()), func(f *genwayv1.NativeField) bool { return f.GetName() == deferLoading })
	return own
}

func isDeferred(t *genwayv1.Tool) bool {
	return t.GetFunction() != nil && string(member.Native(messages, t.GetNativeFields(), deferLoading)) == "true"
}

// demanded reports whether the caller demands a call, and no tool that is left may be
// called.
func demanded(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) bool {
	names := req.GetToolChoice().GetNames()
	return req.GetToolChoice().GetMode() == genwayv1.ToolChoice_MODE_REQUIRED &&
		!slices.ContainsFunc(req.GetTools(), func(t *genwayv1.Tool) bool {
			name := t.GetFunction().GetName() + t.GetCustom().GetName()
			return !Hosted(t, protocol) && (len(names) == 0 || slices.Contains(names, name))
		})
}

// deepest is how deep a schema of a strict function may nest objects and arrays, for the
// vendor that takes the least.
const deepest = 5

// strictTypes are the types of values that strict schemas may have.
var strictTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// takesStrict reports whether every vendor's strict mode takes the schema of a function's
// parameters. A schema in doubt is not taken, since the vendor would refuse the call.
func takesStrict(schema string) bool {
	s, ok := readSchema(jsontext.Value(schema))
	return ok && len(s.types) == 1 && s.types[0] == "object" && s.AnyOf == nil && s.fits(0)
}

// strictSchema has the keywords that all strict modes take; another one is an error.
type strictSchema struct {
	Type                 jsontext.Value            `json:"type"`
	Title                string                    `json:"title"`
	Description          string                    `json:"description"`
	Properties           map[string]jsontext.Value `json:"properties"`
	Required             []string                  `json:"required"`
	AdditionalProperties *bool                     `json:"additionalProperties"`
	Items                jsontext.Value            `json:"items"`
	AnyOf                []jsontext.Value          `json:"anyOf"`
	Enum                 []jsontext.Value          `json:"enum"`
	Const                jsontext.Value            `json:"const"`
	types                []string
}

func readSchema(raw jsontext.Value) (*strictSchema, bool) {
	s := new(strictSchema)
	if raw.Kind() != '{' || json.Unmarshal(raw, s, json.RejectUnknownMembers(true)) != nil {
		return nil, false
	}
	switch s.Type.Kind() {
	case '"':
		s.types = make([]string, 1)
		return s, json.Unmarshal(s.Type, &s.types[0]) == nil
	case '[':
		return s, json.Unmarshal(s.Type, &s.types) == nil
	}
	return s, s.Type == nil
}

// fits reports whether every object has all its properties and no others, and every value
// one of the types, or one of several schemas.
func (s *strictSchema) fits(depth int) bool {
	if depth > deepest || len(s.types) == 0 && len(s.AnyOf) == 0 {
		return false
	}
	object := slices.Contains(s.types, "object")
	closed := s.AdditionalProperties != nil && !*s.AdditionalProperties
	if object != closed || !object && (s.Properties != nil || s.Required != nil || s.AdditionalProperties != nil) ||
		slices.Contains(s.types, "array") != (s.Items != nil) {
		return false
	}
	for _, t := range s.types {
		if !slices.Contains(strictTypes, t) {
			return false
		}
	}
	if len(s.Required) != len(s.Properties) {
		return false
	}
	within := slices.Clone(s.AnyOf)
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return false
		}
		within = append(within, p)
	}
	if s.Items != nil {
		within = append(within, s.Items)
	}
	return !slices.ContainsFunc(within, func(raw jsontext.Value) bool {
		in, ok := readSchema(raw)
		return !ok || !in.fits(depth+1)
	})
}

// maxStrict is how many strict tools a request of the messages protocol may have.
const maxStrict = 20

// Validated carries the mode VALIDATED of Google's protocols, which is AUTO with arguments that keep
// to their schemas (SDK: FunctionCallingConfigModeValidated). Other protocols hold arguments
// to the schemas of strict functions alone: the functions whose schemas the vendors' strict
// modes take are made strict, and the mode is named as lost where one is left.
func Validated(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	c := req.GetToolChoice()
	if c.GetNativeMode() != "VALIDATED" || c.GetMode() != genwayv1.ToolChoice_MODE_AUTO || googles(protocol) {
		return req
	}
	out := codec.Shared(req)
	out.Tools = slices.Clone(req.GetTools())
	strict, lost := 0, false
	for i, t := range out.Tools {
		f := t.GetFunction()
		if f == nil {
			continue
		}
		full := protocol == genwayv1.Protocol_PROTOCOL_MESSAGES && strict >= maxStrict
		if f.Strict == nil && !full && takesStrict(f.GetParametersJson()) {
			out.Tools[i] = strictly(t)
		}
		if out.Tools[i].GetFunction().GetStrict() {
			strict++
		} else {
			lost = true
		}
	}
	if lost {
		losses.Add("tool_choice.native_mode", "the upstream holds arguments to the schemas of strict tools alone")
	}
	return out
}

// strictly is the function tool, strict.
func strictly(t *genwayv1.Tool) *genwayv1.Tool {
	tool, f := codec.Shared(t), codec.Shared(t.GetFunction())
	f.Strict = new(true)
	tool.Kind = &genwayv1.Tool_Function{Function: f}
	return tool
}

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

// Names renames the tools of one request to what the upstream's vendor takes, and the calls in its
// answer back to the caller's names. Nil changes nothing. Not for
// concurrent use.
type Names struct {
	rule NameRule
	// sent has the names to send by the caller's names, and given is its inverse.
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

// Response renames the calls of a unary answer back to the caller's names, in place.
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

// Events does so for the calls of a stream.
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
