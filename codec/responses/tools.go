package responses

import (
	"bytes"
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
)

const (
	typeFunction = "function"
	typeCustom   = "custom"
	// strictAbsent marks a function without the member strict.
	strictAbsent = "strict absent"
)

// decodeTools reads tool definitions. All but functions and custom tools are the
// vendor's, or of a kind that is new.
func decodeTools(raws []jsontext.Value, path string) ([]*genwayv1.Tool, error) {
	var tools []*genwayv1.Tool
	for i, raw := range raws {
		at := member.Index(path, i)
		kind, err := typeOf(raw, member.Place{Path: at})
		if err != nil {
			return nil, err
		}
		if kind == typeNamespace {
			nested, err := decodeNamespace(raw, at)
			if err != nil {
				return nil, err
			}
			tools = append(tools, nested...)
			continue
		}
		tool, err := decodeTool(raw, kind, at)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// decodeNamespace returns the tools of a namespace under their canonical names; one
// without tools offers nothing that could be called, and is kept whole.
func decodeNamespace(raw jsontext.Value, path string) ([]*genwayv1.Tool, error) {
	var w wireNamespace
	if err := member.DecodeAt(raw, &w, member.Place{Path: path}); err != nil {
		return nil, err
	}
	if w.Name == "" {
		return nil, fault.Missing(member.Join(path, "name"))
	}
	var tools []*genwayv1.Tool
	for i, nested := range w.Tools {
		at := member.Index(member.Join(path, "tools"), i)
		kind, err := typeOf(nested, member.Place{Path: at})
		if err != nil {
			return nil, err
		}
		tool, err := decodeTool(nested, kind, at)
		if err != nil {
			return nil, err
		}
		s := spaced{w.Name, toolName(tool)}
		if s.name != "" {
			rename(tool, s.flat())
		}
		tool.NativeFields = append(tool.NativeFields, s.marks()...)
		tools = append(tools, tool)
	}
	if tools == nil {
		return []*genwayv1.Tool{hosted(raw, typeNamespace)}, nil
	}
	tools[0].NativeFields = append(tools[0].NativeFields, member.NativesUnder(protocol, ofSpace, w.Extra)...)
	return tools, nil
}

func hosted(raw jsontext.Value, kind string) *genwayv1.Tool {
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: protocol, Type: kind, Json: bytes.Clone(raw)}}}
}

func decodeTool(raw jsontext.Value, kind, path string) (_ *genwayv1.Tool, err error) {
	switch kind {
	case "":
		return nil, fault.Missing(member.Join(path, "type"))
	case typeFunction, typeCustom:
	default:
		return hosted(raw, kind), nil
	}
	var w wireTool
	if err := member.DecodeAt(raw, &w, member.Place{Path: path}); err != nil {
		return nil, err
	}
	if w.Name == "" {
		return nil, fault.Missing(member.Join(path, "name"))
	}
	tool := &genwayv1.Tool{NativeFields: member.Natives(protocol, w.Extra, nil)}
	if kind == typeCustom {
		custom := &genwayv1.CustomTool{Name: w.Name, Description: w.Description}
		if custom.FormatJson, err = object(w.Format, member.Join(path, "format")); err != nil {
			return nil, err
		}
		tool.Kind = &genwayv1.Tool_Custom{Custom: custom}
		return tool, nil
	}
	function := &genwayv1.FunctionTool{Name: w.Name, Description: w.Description, Strict: w.Strict}
	if function.ParametersJson, err = object(w.Parameters, member.Join(path, "parameters")); err != nil {
		return nil, err
	}
	if w.Strict == nil {
		// Absent is strict here and lax in all other protocols, so that absence
		// must be kept apart from theirs.
		tool.NativeFields = append(tool.NativeFields, member.Mark(protocol, strictAbsent))
	}
	tool.Kind = &genwayv1.Tool_Function{Function: function}
	return tool, nil
}

// object returns the text of an optional member that must be an object.
func object(raw jsontext.Value, path string) (string, error) {
	switch raw.Kind() {
	case 0, 'n':
		return "", nil
	case '{':
		return member.Text(raw), nil
	}
	return "", fault.Invalid(path, "%s: expected an object", path)
}

// encodeSchema writes JSON text verbatim; none is null, which the vendor asks for.
func encodeSchema(w *member.Writer, name, text, path string) error {
	if text == "" {
		w.RawText(name, "null")
		return nil
	}
	if !jsontext.Value(text).IsValid(member.Options()) {
		return fault.Invalid(path, "%s: not valid JSON", path)
	}
	w.RawText(name, text)
	return nil
}

// encodeTools writes the tools but for those that items of the conversation bring. In
// answers, which repeat them, a function has all members that the vendor's types require.
func encodeTools(w *member.Writer, req *genwayv1.GenerateTextRequest, losses *codec.Losses, answer bool) error {
	own := offered(req)
	if !slices.ContainsFunc(req.Tools, own) {
		return nil
	}
	w.List("tools")
	// Neighbours of one namespace stand in one entry, which ends where another one's
	// members begin.
	open := ""
	for i, tool := range req.Tools {
		if !own(tool) {
			continue
		}
		at := spacedIn(tool.NativeFields)
		natives, members := split(tool.NativeFields, ofSpace)
		if open != "" && (at.space != open || members != nil) {
			w.EndList()
			w.End()
			open = ""
		}
		if at.space != open {
			open = at.space
			w.Begin()
			w.Str("type", typeNamespace)
			w.Str("name", at.space)
			w.Spliced(extras(members, "", losses))
			w.List("tools")
		}
		if err := encodeTool(w, tool, natives, at.name, member.Index("tools", i), losses, answer); err != nil {
			return err
		}
	}
	if open != "" {
		w.EndList()
		w.End()
	}
	w.EndList()
	return nil
}

// encodeTool writes a tool, under the name it has in its namespace if it is in one.
func encodeTool(w *member.Writer, tool *genwayv1.Tool, natives []*genwayv1.NativeField, name, path string, losses *codec.Losses, answer bool) error {
	if tool.CacheControl != nil {
		losses.Add(path+".cache_control", "the target protocol marks no tools")
	}
	if hosted := tool.GetHosted(); hosted != nil {
		w.Value(hosted.Json)
		return nil
	}
	if name == "" {
		name = toolName(tool)
	}
	extra, err := member.Extra(protocol, natives, path, losses)
	if err != nil {
		return err
	}
	w.Begin()
	switch {
	case tool.GetFunction() != nil:
		f := tool.GetFunction()
		w.Str("type", typeFunction)
		w.Str("name", name)
		if answer {
			encodeNullable(w, "description", f.Description)
		} else {
			w.StrOpt("description", f.Description)
		}
		if err := encodeSchema(w, "parameters", f.ParametersJson, path+".function.parameters_json"); err != nil {
			return err
		}
		if f.Strict != nil || answer || !member.Marked(protocol, natives, strictAbsent) {
			w.Bool("strict", f.GetStrict())
		}
	case tool.GetCustom() != nil:
		c := tool.GetCustom()
		w.Str("type", typeCustom)
		w.Str("name", name)
		w.StrOpt("description", c.Description)
		if c.FormatJson != "" {
			if err := encodeSchema(w, "format", c.FormatJson, path+".custom.format_json"); err != nil {
				return err
			}
		}
	default:
		return fault.Invalid(path, "%s: a tool without a kind", path)
	}
	w.Spliced(extra)
	w.End()
	return nil
}

const typeAllowedTools = "allowed_tools"

// choiceModes are the string forms of tool_choice (SDK: ToolChoiceOptions); any
// other word is passed on as it is (case F18).
var choiceModes = map[string]genwayv1.ToolChoice_Mode{
	"auto":     genwayv1.ToolChoice_MODE_AUTO,
	"none":     genwayv1.ToolChoice_MODE_NONE,
	"required": genwayv1.ToolChoice_MODE_REQUIRED,
}

func decodeToolChoice(raw jsontext.Value, parallel *bool, tools []*genwayv1.Tool) (*genwayv1.ToolChoice, error) {
	choice := &genwayv1.ToolChoice{Parallel: parallel}
	switch raw.Kind() {
	case 0, 'n':
		if parallel == nil {
			return nil, nil
		}
	case '"':
		decodeMode(choice, unquote(raw))
	case '{':
		var w wireToolChoice
		if err := member.DecodeAt(raw, &w, member.Place{Path: "tool_choice"}); err != nil {
			return nil, err
		}
		if !w.canonical(choice, tools) {
			choice.Native = &genwayv1.NativeField{Protocol: protocol, Name: "tool_choice", Json: raw, Binding: true}
		}
	default:
		return nil, fault.Invalid("tool_choice", "tool_choice: expected a string or an object")
	}
	return choice, nil
}

func decodeMode(choice *genwayv1.ToolChoice, word string) {
	mode, ok := choiceModes[word]
	if !ok {
		choice.NativeMode = word
	}
	choice.Mode = mode
}

// canonical reports whether a canonical choice says all of it: a named function
// or custom tool, or a list of such.
func (w *wireToolChoice) canonical(choice *genwayv1.ToolChoice, tools []*genwayv1.Tool) bool {
	if len(w.Extra) > 0 {
		return false
	}
	switch w.Type {
	case typeFunction, typeCustom:
		if w.Name == "" {
			return false
		}
		choice.Mode, choice.Names = genwayv1.ToolChoice_MODE_REQUIRED, []string{w.chosen(tools)}
		return true
	case typeAllowedTools:
		var names []string
		for _, raw := range w.Tools {
			var tool wireToolChoice
			if json.Unmarshal(raw, &tool, member.Options()) != nil || tool.Type != typeFunction && tool.Type != typeCustom ||
				tool.Name == "" || len(tool.Extra) > 0 {
				return false
			}
			names = append(names, tool.chosen(tools))
		}
		if len(names) == 0 || w.Mode == "" {
			return false
		}
		decodeMode(choice, w.Mode)
		choice.Names, choice.AllowedList = names, true
		return true
	}
	return false
}

// chosen is the canonical name of the tool that is meant. One in a namespace may be
// meant without it.
func (w *wireToolChoice) chosen(tools []*genwayv1.Tool) string {
	name := w.Name
	for _, t := range tools {
		at := spacedIn(t.NativeFields)
		switch {
		case w.Namespace == "" && toolName(t) == w.Name:
			return w.Name
		case at.space != "" && at.name == w.Name && (w.Namespace == "" || at.space == w.Namespace):
			name = toolName(t)
		}
	}
	return name
}

// encodeToolChoice writes tool_choice and parallel_tool_calls of a request.
func encodeToolChoice(w *member.Writer, req *genwayv1.GenerateTextRequest) error {
	choice := req.GetToolChoice()
	w.BoolOpt("parallel_tool_calls", parallel(choice))
	if n := choice.GetNative(); n != nil {
		if n.Protocol != protocol {
			return fault.Unsupported("tool_choice", "tool_choice: the upstream this model is routed to has no such choice")
		}
		w.Raw("tool_choice", n.Json)
		return nil
	}
	mode := modeWord(choice)
	switch {
	case len(choice.GetNames()) == 0:
		w.StrOpt("tool_choice", mode)
		return nil
	case len(choice.Names) == 1 && !choice.AllowedList && choice.Mode == genwayv1.ToolChoice_MODE_REQUIRED:
		w.Key("tool_choice")
		encodeNamed(w, req.Tools, choice.Names[0])
		return nil
	}
	w.Object("tool_choice")
	w.Str("type", typeAllowedTools)
	w.Str("mode", mode)
	w.List("tools")
	for _, name := range choice.Names {
		encodeNamed(w, req.Tools, name)
	}
	w.EndList()
	w.End()
	return nil
}

// parallel guards against typed nils.
func parallel(choice *genwayv1.ToolChoice) *bool {
	if choice == nil {
		return nil
	}
	return choice.Parallel
}

func modeWord(choice *genwayv1.ToolChoice) string {
	for word, mode := range choiceModes {
		if mode == choice.GetMode() {
			return word
		}
	}
	if choice.GetNativeMode() == "" && len(choice.GetNames()) > 0 {
		return "auto"
	}
	return choice.GetNativeMode()
}

// encodeNamed writes a reference to a tool, whose kind its definition tells.
func encodeNamed(w *member.Writer, tools []*genwayv1.Tool, name string) {
	kind, at := typeFunction, spaced{name: name}
	for _, t := range tools {
		if toolName(t) != name {
			continue
		}
		if t.GetCustom() != nil {
			kind = typeCustom
		}
		if s := spacedIn(t.NativeFields); s.space != "" {
			at = s
		}
	}
	w.Begin()
	w.Str("type", kind)
	w.StrOpt("namespace", at.space)
	w.Str("name", at.name)
	w.End()
}

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
