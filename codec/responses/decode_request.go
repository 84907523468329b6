package responses

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// binding names the members without a canonical field that bear on the answer:
// they bring conversation from elsewhere or change how the answer is given.
var binding = map[string]bool{
	"previous_response_id": true,
	"conversation":         true,
	"prompt":               true,
}

// conversational members replace the input.
var conversational = []string{"previous_response_id", "conversation", "prompt"}

// DecodeRequest reads the body of POST /v1/responses.
func (Codec) DecodeRequest(body []byte) (*codec.Request, error) {
	var w wireRequest
	if err := member.Decode(body, &w); err != nil {
		return nil, err
	}
	req, err := w.open()
	if err != nil {
		return nil, err
	}
	var lifted []*genwayv1.Tool
	if req.Messages, lifted, err = w.messages(); err != nil {
		return nil, err
	}
	if says := len(req.Messages); (says == 0 || says == 1 && w.Instructions != "") && !goesOn(req.NativeFields) {
		return nil, fault.Missing("input") // items that say nothing are none
	}
	if req.Tools, err = decodeTools(w.Tools, "tools"); err != nil {
		return nil, err
	}
	req.Tools = lift(req.Tools, lifted)
	rejoin(req.Tools, req.Messages)
	distinguish(req.Tools, req.Messages)
	return w.close(req)
}

// open is a request with the settings that are as they are written.
func (w *wireRequest) open() (*genwayv1.GenerateTextRequest, error) {
	req := &genwayv1.GenerateTextRequest{
		Model:        w.Model,
		Thinking:     w.Reasoning.canonical(),
		NativeFields: w.natives(),
	}
	if err := w.settings.decode(req, ""); err != nil {
		return nil, err
	}
	if err := w.Text.decode(req, "text"); err != nil {
		return nil, err
	}
	if slices.Contains(w.Include, includeLogprobs) {
		if req.Sampling == nil {
			req.Sampling = &genwayv1.Sampling{}
		}
		req.Sampling.Logprobs = new(true)
	}
	return req, w.check(req.NativeFields)
}

// close reads the settings that depend on the tools.
func (w *wireRequest) close(req *genwayv1.GenerateTextRequest) (*codec.Request, error) {
	var err error
	if req.ToolChoice, err = decodeToolChoice(w.ToolChoice, w.ParallelToolCalls, req.Tools); err != nil {
		return nil, err
	}
	var extra []*genwayv1.NativeField
	if req.ResponseFormat, extra, err = decodeFormat(w.Text.Format); err != nil {
		return nil, err
	}
	req.NativeFields = append(req.NativeFields, extra...)
	summarizing(req)
	return &codec.Request{GenerateTextRequest: req, Stream: w.Stream}, nil
}

// check holds what every vendor refuses.
func (w *wireRequest) check(natives []*genwayv1.NativeField) error {
	if err := member.Misspelt(w.Extra, "model", "max_output_tokens"); err != nil {
		return err
	}
	switch {
	case w.Model == "":
		return fault.Missing("model")
	case (w.Input.kind == 0 || w.Input.kind == '[' && len(w.Input.list) == 0) && !goesOn(natives):
		return fault.Missing("input")
	}
	return refuseBackground(natives)
}

// goesOn reports whether the request continues a conversation the upstream keeps.
func goesOn(natives []*genwayv1.NativeField) bool {
	return slices.ContainsFunc(conversational, func(name string) bool { return member.Native(protocol, natives, name) != nil })
}

// messages returns the conversation and the tools that items of it bring.
func (w *wireRequest) messages() ([]*genwayv1.Message, []*genwayv1.Tool, error) {
	var t turns
	var tools []*genwayv1.Tool
	if w.Instructions != "" {
		t.add(item{role: genwayv1.Role_ROLE_SYSTEM, parts: []*genwayv1.Part{textPart("", w.Instructions)}})
	}
	if w.Input.kind == '"' {
		t.add(item{role: genwayv1.Role_ROLE_USER, parts: []*genwayv1.Part{textPart("", w.Input.text)}})
		return t.messages, nil, nil
	}
	for i, raw := range w.Input.list {
		it, err := decodeItem(raw, member.Place{Path: "input", Element: i + 1})
		if err != nil {
			return nil, nil, err
		}
		if len(it.parts) > 0 && isTrigger(it.parts[0]) && i < len(w.Input.list)-1 {
			return nil, nil, fault.Invalid(member.Index("input", i), "input[%d]: a compaction_trigger must be the last item of the input", i)
		}
		t.add(it)
		tools = append(tools, it.tools...)
	}
	return t.messages, tools, nil
}

// includeLogprobs is the include value that stands for sampling.logprobs.
const includeLogprobs = "message.output_text.logprobs"

func (w *wireRequest) natives() []*genwayv1.NativeField {
	fields := member.Natives(protocol, w.Extra, func(name string) bool { return binding[name] })
	var include member.Writer
	include.BeginList()
	for _, name := range w.Include {
		if name != includeLogprobs {
			include.String(name)
		}
	}
	include.EndList()
	if list := include.Text(); len(list) > len("[]") {
		fields = append(fields, native("include", list))
	}
	return append(fields, member.NativesUnder(protocol, "text.", w.Text.Extra)...)
}
