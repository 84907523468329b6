package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeTools reads the tools: one for each function declaration, then one for
// each tool of the vendor's that stands in the same object.
func decodeTools(wire []tool, path string) ([]*genwayv1.Tool, error) {
	var tools []*genwayv1.Tool
	for i := range wire {
		at := member.Index(path, i)
		for j := range wire[i].FunctionDeclarations {
			t, err := wire[i].FunctionDeclarations[j].decode(member.Within(at, ".functionDeclarations", j))
			if err != nil {
				return nil, err
			}
			tools = append(tools, t)
		}
		for _, f := range member.Natives(protocol, wire[i].Extra, nil) {
			whole, err := jsontext.AppendQuote([]byte{'{'}, f.Name)
			if err != nil {
				return nil, fault.Invalid(at, "%s has a name that is not text", at)
			}
			whole = append(append(append(whole, ':'), f.Json...), '}')
			tools = append(tools, &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{
				Hosted: &genwayv1.HostedTool{Protocol: protocol, Type: f.Name, Json: whole}}})
		}
	}
	return tools, nil
}

func (w *functionDeclaration) decode(path string) (*genwayv1.Tool, error) {
	if w.Name == "" {
		return nil, fault.Missing(path + ".name")
	}
	f := &genwayv1.FunctionTool{Name: w.Name, Description: w.Description}
	var err error
	switch {
	case present(w.Parameters) && present(w.ParametersJSONSchema):
		return nil, fault.Invalid(path+".parametersJsonSchema", "%s has both parameters and parametersJsonSchema", path)
	case present(w.Parameters):
		f.ParametersJson, err = jsonSchema(w.Parameters, path+".parameters")
	case present(w.ParametersJSONSchema):
		f.ParametersJson = member.Text(w.ParametersJSONSchema)
	}
	if err != nil {
		return nil, err
	}
	fields, err := natives(w.Extra, path, nil)
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: f}, NativeFields: fields}, err
}

// encodeTools writes the tools in their order: neighbouring functions in one
// object, each tool of the vendor's in its own.
func encodeTools(tools []*genwayv1.Tool, losses *codec.Losses) (list[tool], error) {
	var out list[tool]
	for i, t := range tools {
		if fit.Hosted(t, protocol) {
			continue
		}
		path := member.Index("tools", i)
		if t.CacheControl != nil {
			losses.Add(path+".cache_control", "the target protocol caches prompts without breakpoints")
		}
		switch k := t.Kind.(type) {
		case *genwayv1.Tool_Function:
			w, err := encodeFunction(k.Function, t.NativeFields, path, losses)
			if err != nil {
				return nil, err
			}
			out = declare(out, *w)
		case *genwayv1.Tool_Hosted:
			out = append(out, tool{raw: k.Hosted.GetJson()})
		case *genwayv1.Tool_Custom:
			if k.Custom.GetFormatJson() != "" {
				losses.Add(path+".custom.format_json", "the target protocol enforces no format of a tool's input")
			}
			f := &genwayv1.FunctionTool{Name: k.Custom.GetName(), Description: k.Custom.GetDescription(), ParametersJson: codec.FreeFormSchema(k.Custom)}
			w, err := encodeFunction(f, t.NativeFields, path, losses)
			if err != nil {
				return nil, err
			}
			out = declare(out, *w)
		default:
			return nil, fault.Invalid(path, "%s has no kind", path)
		}
	}
	return out, nil
}

// declare adds a function to the object of those before it.
func declare(out []tool, f functionDeclaration) []tool {
	if last := len(out) - 1; last < 0 || out[last].raw != nil {
		out = append(out, tool{})
	}
	last := &out[len(out)-1]
	last.FunctionDeclarations = append(last.FunctionDeclarations, f)
	return out
}

func encodeFunction(f *genwayv1.FunctionTool, fields []*genwayv1.NativeField, path string, losses *codec.Losses) (*functionDeclaration, error) {
	w := &functionDeclaration{Name: f.GetName(), Description: f.GetDescription()}
	if text := f.GetParametersJson(); text != "" {
		if !member.Valid([]byte(text)) {
			return nil, fault.Invalid(path+".function.parameters_json", "%s.function.parameters_json is not JSON", path)
		}
		w.ParametersJSONSchema = jsontext.Value(text)
	}
	var err error
	w.Extra, err = member.Extra(protocol, fields, path, losses)
	return w, err
}
