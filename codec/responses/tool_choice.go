package responses

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
