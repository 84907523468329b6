package generatecontent

import (
	"errors"
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
			if codec.InputFormat(k.Custom) != "" {
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

// The modes of function calling (SDK type FunctionCallingConfigMode).
const (
	modeAuto = "AUTO"
	modeAny  = "ANY"
	modeNone = "NONE"
	// modeValidated is AUTO with arguments that keep to their schema, and with
	// allowed names.
	modeValidated   = "VALIDATED"
	modeUnspecified = "MODE_UNSPECIFIED"
)

// decode reads the tool configuration into the request.
func (w *toolConfig) decode(req *genwayv1.GenerateTextRequest, path string) error {
	fields, err := nested("toolConfig.", w.Extra, path, nil)
	if err != nil {
		return err
	}
	req.NativeFields = append(req.NativeFields, fields...)
	calling := w.FunctionCallingConfig
	if calling == nil {
		return nil
	}
	fields, err = nested("toolConfig.functionCallingConfig.", calling.Extra, path+".functionCallingConfig", nil)
	if err != nil {
		return err
	}
	req.NativeFields = append(req.NativeFields, fields...)
	choice := &genwayv1.ToolChoice{Names: calling.AllowedFunctionNames}
	switch mode := strings.ToUpper(calling.Mode); mode {
	case modeAuto:
		choice.Mode = genwayv1.ToolChoice_MODE_AUTO
		if len(choice.Names) > 0 {
			choice.NativeMode = modeAuto // names go with VALIDATED otherwise
		}
	case modeAny:
		choice.Mode = genwayv1.ToolChoice_MODE_REQUIRED
	case modeNone:
		choice.Mode = genwayv1.ToolChoice_MODE_NONE
	case modeValidated:
		choice.Mode, choice.NativeMode = genwayv1.ToolChoice_MODE_AUTO, modeValidated
	case modeUnspecified, "":
		if len(choice.Names) == 0 {
			return nil
		}
	default:
		choice.NativeMode = calling.Mode
	}
	choice.AllowedList = len(choice.Names) > 0 && (len(choice.Names) > 1 || choice.Mode != genwayv1.ToolChoice_MODE_REQUIRED)
	req.ToolChoice = choice
	return nil
}

// encodeToolConfig writes the choice of tools. Functions with a strict schema ask
// for the mode that keeps to schemas (case T15); so does a choice among allowed
// names, which AUTO does not take.
func encodeToolConfig(req *genwayv1.GenerateTextRequest, calling, outer []*genwayv1.NativeField, losses *codec.Losses) (*toolConfig, error) {
	w := &toolConfig{}
	var err error
	if w.Extra, err = member.Extra(protocol, outer, "tool_choice", losses); err != nil {
		return nil, err
	}
	c := &functionCallingConfig{}
	if c.Extra, err = member.Extra(protocol, calling, "tool_choice", losses); err != nil {
		return nil, err
	}
	if err := c.choose(req); err != nil {
		return nil, err
	}
	if c.Mode != "" || len(c.AllowedFunctionNames) > 0 || len(c.Extra) > 0 {
		w.FunctionCallingConfig = c
	}
	if w.FunctionCallingConfig == nil && len(w.Extra) == 0 {
		return nil, nil
	}
	return w, nil
}

func (c *functionCallingConfig) choose(req *genwayv1.GenerateTextRequest) error {
	choice := req.ToolChoice
	if choice.GetNative() != nil {
		return fault.Unsupported("tool_choice", "tool_choice: the target protocol has no such choice")
	}
	c.AllowedFunctionNames = choice.GetNames()
	word := choice.GetNativeMode()
	switch choice.GetMode() {
	case genwayv1.ToolChoice_MODE_REQUIRED:
		c.Mode = modeAny
	case genwayv1.ToolChoice_MODE_NONE:
		c.Mode = modeNone
	case genwayv1.ToolChoice_MODE_AUTO:
		c.Mode = modeAuto
		if word == modeValidated || word == "" && len(c.AllowedFunctionNames) > 0 {
			c.Mode = modeValidated
		}
	default:
		if c.Mode = strings.ToUpper(word); word != c.Mode && c.Mode != modeValidated {
			return fault.Unsupported("tool_choice", "tool_choice: the target protocol has no mode %s", word)
		}
	}
	if (c.Mode == "" || c.Mode == modeAuto) && slices.ContainsFunc(req.Tools, strict) {
		c.Mode = modeValidated
	}
	return nil
}

func strict(t *genwayv1.Tool) bool { return t.GetFunction().GetStrict() }

// A function response is an object; by convention (SDK type FunctionResponse) one
// whose only member is output or error when there is just text to say.
const (
	outputMember = "output"
	errorMember  = "error"
)

// functionResponse reads the result of a tool call: plain text as text parts, any
// other object as it is.
func (r reader) functionResponse(w *functionResponse, p *genwayv1.Part, path string) error {
	if w.Name == "" && !r.answer {
		return fault.Missing(path + ".name")
	}
	result := &genwayv1.ToolResult{ToolCallId: w.ID, Name: w.Name}
	p.Kind = &genwayv1.Part_ToolResult{ToolResult: result}
	switch {
	case !present(w.Response):
		w.Response = jsontext.Value("{}")
	case w.Response.Kind() != '{':
		return fault.Invalid(path+".response", "%s.response is not an object", path)
	}
	texts, isError, plain := resultTexts(w.Response)
	result.IsError = isError
	if plain {
		for _, text := range texts {
			result.Parts = append(result.Parts, &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}})
		}
	} else {
		whole := member.Text(w.Response)
		result.ResultJson = &whole
	}
	media, err := r.parts(w.Parts, member.Place{Path: path + ".parts"})
	if err != nil {
		return err
	}
	result.Parts = append(result.Parts, media...)
	p.NativeFields, err = nested("functionResponse.", w.Extra, path, nil)
	return err
}

// resultTexts reads a response with one member that is a text, or a list of
// several. A text that is an object itself does not count: it would be written as
// that object. isError is set for any response whose one member is error.
func resultTexts(raw jsontext.Value) (texts []string, isError, plain bool) {
	if raw.Kind() != '{' {
		return nil, false, false
	}
	var name string
	var value jsontext.Value
	members := 0
	err := member.Walk(raw, func(own string, v jsontext.Value) bool {
		members++
		name, value = own, v.Clone()
		return members == 1
	}, member.Options())
	if err != nil || members != 1 || name != outputMember && name != errorMember {
		return nil, false, false
	}
	isError = name == errorMember
	var list []*string
	switch value.Kind() {
	case '"':
		list = make([]*string, 1)
		err = json.Unmarshal(value, &list[0], member.Options())
		plain = err == nil && (isError || !codec.AreObject(*list[0]))
	case '[':
		err = json.Unmarshal(value, &list, member.Options())
		plain = err == nil && len(list) > 1 && !slices.Contains(list, nil)
	}
	if !plain {
		return nil, isError, false
	}
	for _, text := range list {
		texts = append(texts, *text)
	}
	return texts, isError, true
}

// functionResponse writes the result of a tool call. The name is that of the
// call where the result's protocol links only by id.
func (e *writer) functionResponse(r *genwayv1.ToolResult, path string, fields []*genwayv1.NativeField) (*functionResponse, error) {
	w := &functionResponse{ID: r.GetToolCallId(), Name: r.GetName()}
	if w.Name == "" {
		w.Name = e.calls[w.ID].name
	}
	if w.Name == "" && !e.answer {
		return nil, fault.Invalid(path+".tool_call_id", "%s.tool_call_id: no tool call before has this id", path)
	}
	if codec.IsSyntheticToolID(w.ID) {
		w.ID = ""
	}
	var texts []string
	for i, p := range r.GetParts() {
		if t := p.GetText(); t != nil {
			texts = append(texts, t.Text)
			if _, err := e.part(nil, p, member.Within(path, ".parts", i)); err != nil { // names what only a text of its own can have
				return nil, err
			}
			continue
		}
		var err error
		if w.Parts, err = e.part(w.Parts, p, member.Within(path, ".parts", i)); err != nil && !errors.Is(err, errLeftOut) {
			return nil, err
		}
	}
	w.Response = responseObject(r, texts, len(w.Parts) > 0)
	var err error
	w.Extra, err = member.Extra(protocol, fields, path, e.losses)
	return w, err
}

// responseObject is the object of a result: the structured one, the object its
// text spells, or its texts under output or error.
func responseObject(r *genwayv1.ToolResult, texts []string, media bool) jsontext.Value {
	name := outputMember
	if r.GetIsError() {
		name = errorMember
	}
	if r.ResultJson != nil {
		whole := jsontext.Value(r.GetResultJson())
		switch _, isError, _ := resultTexts(whole); {
		case codec.AreObject(string(whole)) && (isError || !r.GetIsError()):
			return whole
		case member.Valid(whole):
			return jsontext.Value(`{"` + name + `":` + string(whole) + `}`)
		}
		texts = []string{r.GetResultJson()}
	}
	to := member.NewWriter(64 + len(strings.Join(texts, "")))
	to.Begin()
	switch {
	case len(texts) == 1 && codec.AreObject(texts[0]) && !r.GetIsError():
		return jsontext.Value(texts[0])
	case len(texts) == 1:
		to.Str(name, texts[0])
	case len(texts) > 1:
		to.StrsOpt(name, texts)
	case media && !r.GetIsError():
		return jsontext.Value("{}")
	default:
		to.Str(name, "")
	}
	to.End()
	out, _ := to.Finish() // strings cannot fail
	return out
}
