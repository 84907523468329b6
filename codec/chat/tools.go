package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
			c.FormatJson = member.Text(t.Custom.Format)
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
			if k.Custom.FormatJson != "" {
				e.lose(path + ".custom.format_json")
			}
			out = tool{Type: "function", Function: &function{Name: k.Custom.Name, Description: k.Custom.Description, Parameters: jsontext.Value(codec.FreeFormSchema(k.Custom))}}
			break
		}
		c := &customTool{Name: k.Custom.Name, Description: k.Custom.Description, Extra: inner(t.NativeFields, "custom.")}
		c.Format, err = jsonText(k.Custom.FormatJson, path+".custom.format_json")
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
