package generatecontent

import (
	"errors"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
