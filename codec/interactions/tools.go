package interactions

import (
	"bytes"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

func decodeTools(list []jsontext.Value) ([]*genwayv1.Tool, error) {
	var tools []*genwayv1.Tool
	for i, raw := range list {
		place := member.Place{Path: "tools", Element: i + 1}
		if raw.Kind() != '{' {
			return nil, fault.Invalid(place.String(), "%s: expected an object", place)
		}
		switch kind := text(raw, "type"); kind {
		case "":
			return nil, fault.Missing(place.Join("type"))
		case "function":
			t, err := decodeFunction(raw, place)
			if err != nil {
				return nil, err
			}
			tools = append(tools, t)
		default:
			tools = append(tools, &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: protocol, Type: kind, Json: bytes.Clone(raw)}}})
		}
	}
	return tools, nil
}

func decodeFunction(raw jsontext.Value, place member.Place) (*genwayv1.Tool, error) {
	var w functionTool
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return nil, err
	}
	if w.Name == "" {
		return nil, fault.Missing(place.Join("name"))
	}
	f := &genwayv1.FunctionTool{Name: w.Name, Description: w.Description}
	if present(w.Parameters) {
		if w.Parameters.Kind() != '{' {
			return nil, fault.Invalid(place.Join("parameters"), "%s.parameters: expected an object", place)
		}
		f.ParametersJson = member.Text(w.Parameters)
	}
	fields, err := natives(w.Extra, place)
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: f}, NativeFields: fields}, err
}

// tools writes the tools in their order.
func (w *writer) tools(list []*genwayv1.Tool) {
	open := false
	for i, t := range list {
		if fit.Hosted(t, protocol) {
			continue
		}
		if !open {
			w.List("tools")
			open = true
		}
		w.tool(t, member.Index("tools", i))
	}
	if open {
		w.EndList()
	}
}

func (w *writer) tool(t *genwayv1.Tool, path string) {
	if t.CacheControl != nil {
		w.losses.Add(path+".cache_control", unbroken)
	}
	f := t.GetFunction()
	switch k := t.Kind.(type) {
	case *genwayv1.Tool_Hosted:
		w.value(k.Hosted.GetJson(), path+".hosted")
		return
	case *genwayv1.Tool_Custom:
		if codec.InputFormat(k.Custom) != "" {
			w.losses.Add(path+".custom.format_json", "the target protocol enforces no format of a tool's input")
		}
		f = &genwayv1.FunctionTool{Name: k.Custom.GetName(), Description: k.Custom.GetDescription(), ParametersJson: codec.FreeFormSchema(k.Custom)}
	case *genwayv1.Tool_Function:
	default:
		w.Fail(fault.Invalid(path, "%s has no kind", path))
		return
	}
	w.Begin()
	w.Str("type", "function")
	w.Str("name", f.GetName())
	w.StrOpt("description", f.GetDescription())
	if schema := f.GetParametersJson(); schema != "" {
		w.Key("parameters")
		w.value([]byte(schema), path+".function.parameters_json")
	}
	w.natives(t.NativeFields, path)
	w.End()
}

// The modes of tool_choice (SDK: ToolChoiceType). validated is auto with arguments that keep to their schema.
const (
	modeAuto      = "auto"
	modeAny       = "any"
	modeNone      = "none"
	modeValidated = "validated"
)

// validated is how the contract spells the mode, which it has from generateContent.
const validated = "VALIDATED"

func decodeToolChoice(raw jsontext.Value, path string) (*genwayv1.ToolChoice, error) {
	switch raw.Kind() {
	case 0, 'n':
		return nil, nil
	case '"':
		return mode(member.Raw(raw).String()), nil
	case '{':
	default:
		return nil, fault.Invalid(path, "%s: expected a string or an object", path)
	}
	var w toolChoice
	if err := member.DecodeAt(raw, &w, member.Place{Path: path}); err != nil {
		return nil, err
	}
	if len(w.Extra) > 0 || w.AllowedTools == nil || len(w.AllowedTools.Extra) > 0 {
		return &genwayv1.ToolChoice{Native: native("tool_choice", raw)}, nil
	}
	choice := mode(w.AllowedTools.Mode)
	choice.Names = w.AllowedTools.Tools
	if choice.Mode == genwayv1.ToolChoice_MODE_UNSPECIFIED && choice.NativeMode == "" {
		choice.Mode = genwayv1.ToolChoice_MODE_AUTO
	}
	choice.AllowedList = len(choice.Names) > 0 && (len(choice.Names) > 1 || choice.Mode != genwayv1.ToolChoice_MODE_REQUIRED)
	return choice, nil
}

// mode is a choice by its word.
func mode(word string) *genwayv1.ToolChoice {
	choice := &genwayv1.ToolChoice{}
	switch word {
	case modeAuto:
		choice.Mode = genwayv1.ToolChoice_MODE_AUTO
	case modeAny:
		choice.Mode = genwayv1.ToolChoice_MODE_REQUIRED
	case modeNone:
		choice.Mode = genwayv1.ToolChoice_MODE_NONE
	case modeValidated:
		choice.Mode, choice.NativeMode = genwayv1.ToolChoice_MODE_AUTO, validated
	default:
		choice.NativeMode = word
	}
	return choice
}

// toolChoice writes the choice of tools. Functions with a strict schema ask for the mode that keeps to schemas (case T15).
func (w *writer) toolChoice(req *genwayv1.GenerateTextRequest) {
	const name, path = "tool_choice", "tool_choice"
	choice := req.GetToolChoice()
	switch {
	case choice.GetNative().GetProtocol() == protocol:
		w.Key(name)
		w.value(choice.GetNative().GetJson(), path)
		return
	case choice.GetNative() != nil:
		w.Fail(fault.Unsupported(path, "tool_choice: the target protocol has no such choice"))
		return
	}
	var word string
	switch choice.GetMode() {
	case genwayv1.ToolChoice_MODE_REQUIRED:
		word = modeAny
	case genwayv1.ToolChoice_MODE_NONE:
		word = modeNone
	case genwayv1.ToolChoice_MODE_AUTO:
		if word = modeAuto; choice.GetNativeMode() == validated {
			word = modeValidated
		}
	default:
		word = choice.GetNativeMode()
	}
	if (word == "" || word == modeAuto) && slices.ContainsFunc(req.GetTools(), func(t *genwayv1.Tool) bool { return t.GetFunction().GetStrict() }) {
		word = modeValidated
	}
	switch {
	case len(choice.GetNames()) > 0:
		w.Object(name)
		w.Object("allowed_tools")
		w.StrOpt("mode", word)
		w.StrsOpt("tools", choice.GetNames())
		w.End()
		w.End()
	case word != "":
		w.Str(name, word)
	}
}

// unbroken is why a breakpoint is lost.
const unbroken = "the target protocol caches prompts without breakpoints"
