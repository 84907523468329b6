package responses

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

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
	natives, lax := without(natives, "strict")
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
		if f.Strict != nil || lax == nil || answer {
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
