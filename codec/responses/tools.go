package responses

import (
	"bytes"

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
		tool.NativeFields = append(tool.NativeFields, native("strict", []byte("null")))
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
