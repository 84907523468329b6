package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	typeFunction = "function"
	typeCustom   = "custom"
)

// decodeTools reads tool definitions. All but functions and custom tools are the
// vendor's, or of a kind that is new.
func decodeTools(raws []jsontext.Value) ([]*genwayv1.Tool, error) {
	var tools []*genwayv1.Tool
	for i, raw := range raws {
		tool, err := decodeTool(raw, member.Index("tools", i))
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func decodeTool(raw jsontext.Value, path string) (*genwayv1.Tool, error) {
	kind, err := typeOf(raw, path)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "":
		return nil, fault.Missing(member.Join(path, "type"))
	case typeFunction, typeCustom:
	default:
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{
			Protocol: protocol, Type: kind, Json: raw}}}, nil
	}
	var w wireTool
	if err := decodeAt(raw, path, &w); err != nil {
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
		tool.NativeFields = append(tool.NativeFields, native("strict", []byte("null")))
	}
	tool.Kind = &genwayv1.Tool_Function{Function: function}
	return tool, nil
}

// object gives the text of an optional member that must be an object.
func object(raw jsontext.Value, path string) (string, error) {
	switch raw.Kind() {
	case 0, 'n':
		return "", nil
	case '{':
		// Bytes that are not UTF-8 have no place in a string of the contract.
		return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
	}
	return "", fault.Invalid(path, "%s: expected an object", path)
}

func encodeTools(w *writer, tools []*genwayv1.Tool, losses *codec.Losses) error {
	if len(tools) == 0 {
		return nil
	}
	w.key("tools")
	w.begin('[')
	for i, tool := range tools {
		if err := encodeTool(w, tool, member.Index("tools", i), losses); err != nil {
			return err
		}
	}
	w.end(']')
	return nil
}

func encodeTool(w *writer, tool *genwayv1.Tool, path string, losses *codec.Losses) error {
	if tool.CacheControl != nil {
		losses.Add(path+".cache_control", "the target protocol marks no tools")
	}
	if hosted := tool.GetHosted(); hosted != nil {
		if hosted.Protocol != protocol {
			return fault.Unsupported(path+".type", "%s.type: the upstream this model is routed to has no tool of the type %q", path, hosted.Type)
		}
		w.value(hosted.Json)
		return nil
	}
	natives, lax := without(tool.NativeFields, "strict")
	extra, err := member.Extra(protocol, natives, path, losses)
	if err != nil {
		return err
	}
	w.begin('{')
	switch {
	case tool.GetFunction() != nil:
		f := tool.GetFunction()
		w.str("type", typeFunction)
		w.str("name", f.Name)
		w.strOpt("description", f.Description)
		if err := encodeSchema(w, "parameters", f.ParametersJson, path+".function.parameters_json"); err != nil {
			return err
		}
		if f.Strict != nil || lax == nil {
			w.bool("strict", f.GetStrict())
		}
	case tool.GetCustom() != nil:
		c := tool.GetCustom()
		w.str("type", typeCustom)
		w.str("name", c.Name)
		w.strOpt("description", c.Description)
		if c.FormatJson != "" {
			if err := encodeSchema(w, "format", c.FormatJson, path+".custom.format_json"); err != nil {
				return err
			}
		}
	default:
		return fault.Invalid(path, "%s: a tool without a kind", path)
	}
	w.members(extra)
	w.end('}')
	return nil
}

// encodeSchema writes JSON text verbatim; none is null, which the vendor asks for.
func encodeSchema(w *writer, name, text, path string) error {
	if text == "" {
		w.raw(name, "null")
		return nil
	}
	if !jsontext.Value(text).IsValid(member.Options()) {
		return fault.Invalid(path, "%s: not valid JSON", path)
	}
	w.raw(name, text)
	return nil
}
