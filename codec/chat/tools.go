package chat

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// functionsName marks a tool that came in the deprecated list of that name.
const functionsName = "functions"

// tools reads tools, and the deprecated functions behind them.
func (d decoder) tools(list []tool, functions []function) ([]*genwayv1.Tool, error) {
	var out []*genwayv1.Tool
	for i := range list {
		t, err := d.tool(&list[i], member.Index("tools", i))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	for i := range functions {
		f := &functions[i]
		if f.Name == "" {
			return nil, fault.Missing(member.Index(functionsName, i) + ".name")
		}
		t := f.tool()
		t.NativeFields = append([]*genwayv1.NativeField{mark(functionsName)}, t.NativeFields...)
		out = append(out, t)
	}
	return out, nil
}

// tool reads one tool; one of an unknown type is kept whole.
func (d decoder) tool(t *tool, path string) (*genwayv1.Tool, error) {
	var out *genwayv1.Tool
	switch {
	case t.Type == "" && t.Function == nil:
		return nil, fault.Missing(path + ".type")
	case t.Type == "function" || t.Type == "":
		if t.Function == nil {
			return nil, fault.Missing(path + ".function")
		}
		if t.Function.Name == "" {
			return nil, fault.Missing(path + ".function.name")
		}
		out = t.Function.tool()
	case t.Type == "custom":
		if t.Custom == nil {
			return nil, fault.Missing(path + ".custom")
		}
		if t.Custom.Name == "" {
			return nil, fault.Missing(path + ".custom.name")
		}
		c := &genwayv1.CustomTool{Name: t.Custom.Name, Description: t.Custom.Description}
		if given(t.Custom.Format) {
			c.FormatJson = flatFormat(t.Custom.Format)
		}
		out = &genwayv1.Tool{Kind: &genwayv1.Tool_Custom{Custom: c}, NativeFields: member.NativesUnder(protocol, "custom.", t.Custom.Extra)}
	default:
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{
			Protocol: protocol, Type: t.Type, Json: t.verbatim.of(d.body)}}}, nil
	}
	out.CacheControl = decodeCacheControl(t.CacheControl, nil)
	out.NativeFields = append(out.NativeFields, natives(t.Extra)...)
	return out, nil
}

func (f *function) tool() *genwayv1.Tool {
	out := &genwayv1.FunctionTool{Name: f.Name, Description: f.Description, Strict: f.Strict}
	if given(f.Parameters) {
		out.ParametersJson = member.Text(f.Parameters)
	}
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: out}, NativeFields: member.NativesUnder(protocol, "function.", f.Extra)}
}

// grammar is the type of a format of custom tools. Its members are in an object of that name in this protocol
// (ChatCompletionCustomToolCustomFormatGrammar), and beside the type in the contract, as in responses
// (CustomToolInputFormatGrammar).
const grammar = "grammar"

// flatFormat returns a format of a custom tool as the contract has it.
func flatFormat(raw jsontext.Value) string {
	inner := member.Value(raw, grammar)
	if member.Raw(member.Value(raw, "type")).String() != grammar || jsontext.Value(inner).Kind() != '{' {
		return member.Text(raw)
	}
	return reformatted(raw, func(w *member.Writer, name string, value jsontext.Value) {
		if name != grammar {
			w.RawText(name, string(value))
			return
		}
		_ = member.Walk(inner, func(name string, value jsontext.Value) bool { w.RawText(name, string(value)); return true }, member.Options())
	})
}

// nestedFormat returns a format of a custom tool as this protocol has it.
func nestedFormat(text string) string {
	raw := []byte(text)
	if member.Raw(member.Value(raw, "type")).String() != grammar || member.Value(raw, grammar) != nil {
		return text
	}
	nested := false
	return reformatted(raw, func(w *member.Writer, name string, value jsontext.Value) {
		switch {
		case name == "type":
			w.RawText(name, string(value))
		case !nested:
			nested = true
			w.Object(grammar)
			_ = member.Walk(raw, func(name string, value jsontext.Value) bool {
				if name != "type" {
					w.RawText(name, string(value))
				}
				return true
			}, member.Options())
			w.End()
		}
	})
}

// reformatted writes an object by its members.
func reformatted(raw jsontext.Value, write func(w *member.Writer, name string, value jsontext.Value)) string {
	w := member.NewWriter(len(raw) + 16)
	w.Begin()
	err := member.Walk(raw, func(name string, value jsontext.Value) bool { write(w, name, value); return true }, member.Options())
	w.End()
	out, failed := w.Finish()
	if err != nil || failed != nil {
		return member.Text(raw)
	}
	return string(out)
}

// tools writes the tools into the request, in their order (T16).
func (e *encoder) tools(r *request, list []*genwayv1.Tool) error {
	for i, t := range list {
		if fit.Hosted(t, protocol) {
			continue
		}
		path := member.Index("tools", i)
		out, err := e.tool(t, path)
		if err != nil {
			return err
		}
		if marked(t.NativeFields, functionsName) && out.Function != nil {
			r.Functions = append(r.Functions, *out.Function)
			continue
		}
		r.Tools = append(r.Tools, out)
	}
	return nil
}

func (e *encoder) tool(t *genwayv1.Tool, path string) (out tool, err error) {
	switch k := t.Kind.(type) {
	case *genwayv1.Tool_Function:
		f := &function{Name: k.Function.Name, Description: k.Function.Description, Strict: k.Function.Strict, Extra: inner(t.NativeFields, "function.")}
		f.Parameters, err = jsonText(k.Function.ParametersJson, path+".function.parameters_json")
		if f.Parameters == nil && e.dialect != nil {
			f.Parameters = noParameters(f.Strict)
		}
		if strict := f.Strict; strict != nil && !e.dialect.Takes("tools.function.strict") {
			if f.Strict = nil; *strict {
				e.lose(path + ".function.strict")
			}
		}
		out = tool{Type: "function", Function: f}
	case *genwayv1.Tool_Custom:
		if !e.dialect.Takes("tools.custom") {
			if codec.InputFormat(k.Custom) != "" {
				e.lose(path + ".custom.format_json")
			}
			out = tool{Type: "function", Function: &function{Name: k.Custom.Name, Description: k.Custom.Description, Parameters: jsontext.Value(codec.FreeFormSchema(k.Custom))}}
			break
		}
		c := &customTool{Name: k.Custom.Name, Description: k.Custom.Description, Extra: inner(t.NativeFields, "custom.")}
		c.Format, err = jsonText(nestedFormat(k.Custom.FormatJson), path+".custom.format_json")
		out = tool{Type: "custom", Custom: c}
	case *genwayv1.Tool_Hosted:
		raw, err := jsonText(string(k.Hosted.Json), path+".hosted.json")
		return tool{verbatim: verbatim{raw: raw}}, err
	default:
		return tool{}, fault.Invalid(path, "%s has no kind", path)
	}
	if err != nil {
		return tool{}, err
	}
	if t.CacheControl != nil && !e.dialect.Takes("tools.cache_control") {
		e.lose(path + ".cache_control")
	} else if out.CacheControl, _, err = e.cacheControl(t.CacheControl, path); err != nil {
		return tool{}, err
	}
	out.Extra, err = extra(t.NativeFields, path, e.losses, "function.", "custom.")
	return out, err
}

// noParameters is the schema of a function that takes none. To OpenAI an absent schema means the
// same; xAI and Mistral answer 422 to it. Strict schemas of OpenAI are closed.
func noParameters(strict *bool) jsontext.Value {
	if strict != nil && *strict {
		return jsontext.Value(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return jsontext.Value(`{"type":"object","properties":{}}`)
}

// jsonText checks a JSON text that a field of the message holds; empty is absent.
func jsonText(s, path string) (jsontext.Value, error) {
	if s == "" {
		return nil, nil
	}
	v := jsontext.Value(s)
	if !v.IsValid(jsontext.AllowInvalidUTF8(true)) {
		return nil, fault.Invalid(path, "%s is not valid JSON", path)
	}
	return v, nil
}

const toolChoiceName = "tool_choice"

// choiceModes are the words of tool_choice. Mistral says any for required (T13).
var choiceModes = map[string]genwayv1.ToolChoice_Mode{
	"auto":     genwayv1.ToolChoice_MODE_AUTO,
	"none":     genwayv1.ToolChoice_MODE_NONE,
	"required": genwayv1.ToolChoice_MODE_REQUIRED,
	"any":      genwayv1.ToolChoice_MODE_REQUIRED,
}

// decodeToolChoice reads tool_choice: a word, one tool to be called, a list of
// allowed tools, or what only this protocol knows.
func decodeToolChoice(raw jsontext.Value) (*genwayv1.ToolChoice, error) {
	switch raw.Kind() {
	case '"':
		return choiceOfWord(raw), nil
	case '{':
	default:
		return nil, wrongType(toolChoiceName, "string or object", raw.Kind())
	}
	var c toolChoice
	if err := json.Unmarshal(raw, &c, member.Options()); err != nil {
		return nil, fault.Invalid(toolChoiceName, "%s: malformed tool choice", toolChoiceName)
	}
	whole := &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Protocol: protocol, Name: toolChoiceName, Json: raw, Binding: true}}
	switch {
	case c.Type == "function" || c.Type == "custom":
		called := c.Function
		if c.Type == "custom" {
			called = c.Custom
		}
		if called == nil || called.Name == "" {
			return nil, fault.Missing(toolChoiceName + "." + c.Type + ".name")
		}
		return &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{called.Name}}, nil
	case c.Type == "allowed_tools" && c.AllowedTools != nil && c.AllowedTools.Mode != "" && len(c.AllowedTools.Tools) > 0:
		out := choiceOfMode(c.AllowedTools.Mode)
		out.AllowedList = true
		for _, t := range c.AllowedTools.Tools {
			name := t.name()
			if name == "" || t.Type != "" && t.Type != "function" && t.Type != "custom" {
				return whole, nil // a hosted tool is among them
			}
			out.Names = append(out.Names, name)
		}
		return out, nil
	case c.Type == "":
		return nil, fault.Missing(toolChoiceName + ".type")
	}
	return whole, nil
}

func choiceOfWord(raw jsontext.Value) *genwayv1.ToolChoice {
	var word string
	if err := json.Unmarshal(raw, &word, member.Options()); err != nil {
		return &genwayv1.ToolChoice{}
	}
	return choiceOfMode(word)
}

func choiceOfMode(word string) *genwayv1.ToolChoice {
	if mode, ok := choiceModes[word]; ok {
		return &genwayv1.ToolChoice{Mode: mode}
	}
	return &genwayv1.ToolChoice{NativeMode: word}
}

func (n *named) name() string {
	switch {
	case n.Function != nil:
		return n.Function.Name
	case n.Custom != nil:
		return n.Custom.Name
	}
	return ""
}

// decodeFunctionCall reads the deprecated function_call: a word, or one function.
func decodeFunctionCall(raw jsontext.Value) (*genwayv1.ToolChoice, error) {
	switch raw.Kind() {
	case '"':
		return choiceOfWord(raw), nil
	case '{':
		var f callee
		if err := json.Unmarshal(raw, &f, member.Options()); err != nil || f.Name == "" {
			return nil, fault.Missing(functionCallName + ".name")
		}
		return &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{f.Name}}, nil
	}
	return nil, wrongType(functionCallName, "string or object", raw.Kind())
}

// toolChoice writes the choice among the tools of the request. A word of another
// protocol goes as it is (F18); a choice only another protocol can express is
// refused.
func (e *encoder) toolChoice(r *request, req *genwayv1.GenerateTextRequest) error {
	c := req.ToolChoice
	if c == nil {
		return nil
	}
	r.ParallelToolCalls = c.Parallel
	if c.Native != nil {
		if c.Native.Protocol != protocol {
			return fault.Unsupported(toolChoiceName, "this tool choice cannot be carried to the upstream this model is routed to")
		}
		r.ToolChoice = c.Native.Json
		return nil
	}
	var word string
	switch {
	case c.NativeMode != "" && c.Mode == genwayv1.ToolChoice_MODE_UNSPECIFIED:
		word = c.NativeMode
	case c.Mode == genwayv1.ToolChoice_MODE_NONE:
		word = "none"
	case c.Mode == genwayv1.ToolChoice_MODE_REQUIRED:
		word = "required"
	case c.Mode == genwayv1.ToolChoice_MODE_AUTO || len(c.Names) > 0:
		word = "auto"
	default:
		return nil
	}
	deprecated := marked(req.NativeFields, functionCallName)
	switch {
	case deprecated && len(c.Names) == 1:
		r.FunctionCall = append(member.AppendQuote([]byte(`{"name":`), c.Names[0]), '}')
	case deprecated:
		r.FunctionCall = member.AppendQuote(nil, word)
	case len(c.Names) == 0 && !c.AllowedList || word == "none":
		r.ToolChoice = member.AppendQuote(nil, word)
	case len(c.Names) == 1 && !c.AllowedList && c.Mode == genwayv1.ToolChoice_MODE_REQUIRED:
		if !e.dialect.Takes("tool_choice.function") {
			r.only(c.Names, word)
			return nil
		}
		n := e.callOf(req.Tools, c.Names[0])
		r.ToolChoice = spelled(&toolChoice{Type: n.Type, Function: n.Function, Custom: n.Custom})
	default:
		if !e.dialect.Takes("tool_choice.allowed_tools") {
			r.only(c.Names, word)
			return nil
		}
		list := &allowedTools{Mode: word, Tools: []named{}}
		for _, name := range c.Names {
			list.Tools = append(list.Tools, e.callOf(req.Tools, name))
		}
		r.ToolChoice = spelled(&toolChoice{Type: "allowed_tools", AllowedTools: list})
	}
	return nil
}

// only offers no tools but those of the names, which says without a list what one of allowed
// tools says.
func (r *request) only(names []string, word string) {
	r.Tools = slices.DeleteFunc(r.Tools, func(t tool) bool {
		return t.Function == nil || !slices.Contains(names, t.Function.Name)
	})
	r.ToolChoice = member.AppendQuote(nil, word)
}

// callOf names a tool as what it is among the tools: function unless custom.
func (e *encoder) callOf(tools []*genwayv1.Tool, name string) named {
	for _, t := range tools {
		if !e.dialect.Takes("tools.custom") {
			break
		}
		if t.GetCustom().GetName() == name {
			return named{Type: "custom", Custom: &callee{Name: name}}
		}
	}
	return named{Type: "function", Function: &callee{Name: name}}
}

// identified returns identifiers to the tool calls and results of a conversation that lacks
// them. Calls of the deprecated function_call have none.
func identified(list []*genwayv1.Message) []*genwayv1.Message {
	return codec.Pair(list, func(m *genwayv1.Message, p *genwayv1.Part) bool {
		return marked(m.GetNativeFields(), functionRole) || marked(p.GetNativeFields(), functionCallName)
	})
}

const idCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// shortened replaces the identifiers of tool calls and results by ones of the length that the dialect
// wants, the same for the same one.
func (e *encoder) shortened(list []*genwayv1.Message) []*genwayv1.Message {
	if e.dialect == nil || e.dialect.CallIDs == 0 {
		return list
	}
	out, _ := codec.RewrittenParts(list, func(_, _ int, p *genwayv1.Part) *genwayv1.Part { return shortID(p, e.dialect.CallIDs) })
	return out
}

// shortID returns a part with an identifier of that length; nil for one that needs none.
func shortID(p *genwayv1.Part, length int) *genwayv1.Part {
	id := p.GetToolCall().GetId() + p.GetToolResult().GetToolCallId()
	if id == "" || len(id) == length && strings.Trim(id, idCharacters) == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, length)
	for i := range short {
		short[i] = idCharacters[int(sum[i])%len(idCharacters)]
	}
	if p.GetToolCall() != nil {
		return codec.WithCall(p, func(call *genwayv1.ToolCall) { call.Id = string(short) })
	}
	return codec.WithResult(p, func(result *genwayv1.ToolResult) { result.ToolCallId = string(short) })
}
