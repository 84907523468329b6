package chat

import (
	"slices"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
