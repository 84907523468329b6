package responses

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

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
	if err := w.decode(req, ""); err != nil {
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
	return checkBackground(natives)
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
	fields := member.Natives(protocol, w.Extra, func(name string, value []byte) bool { return setting.Binds(protocol, name, value) })
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

// roles are the roles a message may have (SDK: EasyInputMessageRole).
var roles = map[string]genwayv1.Role{
	"user":      genwayv1.Role_ROLE_USER,
	"assistant": genwayv1.Role_ROLE_ASSISTANT,
	"system":    genwayv1.Role_ROLE_SYSTEM,
	"developer": genwayv1.Role_ROLE_DEVELOPER,
}

// ofMessage prefixes the members of an assistant's message item, to
// distinguish them from the ids of its first content part, which carries them.
const ofMessage = "message."

// decodeItem reads one item of input or output.
func decodeItem(raw jsontext.Value, place member.Place) (item, error) {
	kind, err := typeOf(raw, place)
	if err != nil {
		return item{}, err
	}
	switch kind {
	case typeMessage:
		return decodeMessage(raw, place)
	case "":
		var w wireMessage
		if err := member.DecodeAt(raw, &w, place); err != nil {
			return item{}, err
		}
		if w.Role == "" && w.ID != "" && w.Content.kind == 0 {
			return opaqueItem(raw, typeReference), nil
		}
		return w.item(raw, place)
	case typeReasoning:
		return decodeReasoning(raw, place)
	case typeFunctionCall, typeCustomCall:
		return decodeCall(raw, place)
	case typeFunctionOutput, typeCustomOutput:
		return decodeOutput(raw, place)
	case typeImageCall:
		return decodeImageCall(raw, place)
	case typeTrigger:
		return decodeTrigger(), nil
	case typeCompaction:
		return decodeCompaction(raw), nil
	case typeAdditionalTools:
		return decodeAdditionalTools(raw, place)
	}
	return opaqueItem(raw, kind), nil
}

// opaqueItem keeps an item whole. Answers to hosted tools stand in a tool turn,
// all else in the assistant's: in both, an opaque part without an id is an item.
func opaqueItem(raw jsontext.Value, kind string) item {
	role := genwayv1.Role_ROLE_ASSISTANT
	if strings.HasSuffix(kind, "_output") || strings.HasSuffix(kind, "_response") {
		role = genwayv1.Role_ROLE_TOOL
	}
	return item{role: role, parts: []*genwayv1.Part{opaquePart("", kind, raw)}}
}

func opaquePart(id, kind string, raw jsontext.Value) *genwayv1.Part {
	return &genwayv1.Part{Id: id, Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: protocol, Type: kind, Json: bytes.Clone(raw)}}}
}

func decodeMessage(raw jsontext.Value, place member.Place) (item, error) {
	var w wireMessage
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return item{}, err
	}
	return w.item(raw, place)
}

func (w *wireMessage) item(raw jsontext.Value, place member.Place) (item, error) {
	role, ok := roles[w.Role]
	switch {
	case w.Role == "":
		return item{}, fault.Missing(place.Join("role"))
	case !ok:
		return item{}, fault.Invalid(place.Join("role"), "%s.role: must be user, assistant, system or developer", place)
	case w.Content.kind == 0:
		return item{}, fault.Missing(place.Join("content"))
	}
	it := item{role: role}
	assistant := role == genwayv1.Role_ROLE_ASSISTANT
	decode := decodeContent
	if assistant {
		decode = decodeSaid
		it.bare = w.ID == ""
	}
	if w.Content.kind == '"' {
		it.parts = []*genwayv1.Part{textPart(w.ID, w.Content.text)}
	}
	var contents string
	if len(w.Content.list) > 0 {
		contents = place.Join("content")
	}
	for i, content := range w.Content.list {
		part, err := decode(content, member.Place{Path: contents, Element: i + 1}, w.ID)
		if err != nil {
			return item{}, err
		}
		if assistant && w.ID == "" && part.GetOpaque() != nil {
			return opaqueItem(raw, typeMessage), nil
		}
		it.parts = append(it.parts, part)
	}
	natives := member.Natives(protocol, w.Extra, nil)
	if w.Status != "" && w.Status != statusCompleted {
		natives = append(natives, nativeText("status", w.Status))
	}
	if !assistant {
		it.natives = natives
		return it, nil
	}
	for _, f := range natives {
		f.Name = ofMessage + f.Name
	}
	if len(it.parts) > 0 {
		it.parts[0].NativeFields = append(natives, it.parts[0].NativeFields...)
	}
	return it, nil
}

// noArguments are the arguments of a call that has none.
const noArguments = "{}"

// decodeCall reads a call of a function or a custom tool. Arguments that are
// missing or empty are {} (case T10).
func decodeCall(raw jsontext.Value, place member.Place) (item, error) {
	var w wireCall
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return item{}, err
	}
	if w.CallID == "" {
		return item{}, fault.Missing(place.Join("call_id"))
	}
	if w.Name == "" {
		return item{}, fault.Missing(place.Join("name"))
	}
	part := w.part()
	if call := part.GetToolCall(); w.Type == typeCustomCall {
		call.Arguments = &genwayv1.ToolCall_Input{Input: w.Input}
	} else {
		codec.SetArguments(call, cmp.Or(w.Arguments, noArguments))
	}
	return assistantItem(w.ID, w.Status, w.Extra, part), nil
}

// part is the call without its arguments.
func (w *wireCall) part() *genwayv1.Part {
	part := codec.CallPart(w.Name, "")
	call := part.GetToolCall()
	call.Id = w.CallID
	if w.Namespace != "" {
		s := spaced{w.Namespace, w.Name}
		call.Name, part.NativeFields = s.called(), s.marks()
	}
	return part
}

// assistantItem finishes the only part of an item that is not a message.
func assistantItem(id, status string, extra jsontext.Value, part *genwayv1.Part) item {
	part.Id = id
	part.NativeFields = append(part.NativeFields, member.Natives(protocol, extra, nil)...)
	if status != "" && status != statusCompleted {
		part.NativeFields = append(part.NativeFields, nativeText("status", status))
	}
	return item{role: genwayv1.Role_ROLE_ASSISTANT, parts: []*genwayv1.Part{part}}
}

// decodeOutput reads the result of a tool. A result is linked by the call's id,
// or only by the tool's name.
func decodeOutput(raw jsontext.Value, place member.Place) (item, error) {
	var w wireOutput
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return item{}, err
	}
	if w.CallID == "" && (w.Name == "" || w.Type == typeCustomOutput) {
		return item{}, fault.Missing(place.Join("call_id"))
	}
	if w.Output.kind == 0 {
		return item{}, fault.Missing(place.Join("output"))
	}
	result := &genwayv1.ToolResult{ToolCallId: w.CallID, Custom: w.Type == typeCustomOutput}
	if w.Output.text != "" {
		result.Parts = []*genwayv1.Part{textPart("", w.Output.text)}
	}
	var output string
	if len(w.Output.list) > 0 {
		output = place.Join("output")
	}
	for i, content := range w.Output.list {
		part, err := decodeContent(content, member.Place{Path: output, Element: i + 1}, "")
		if err != nil {
			return item{}, err
		}
		result.Parts = append(result.Parts, part)
	}
	it := assistantItem(w.ID, w.Status, w.Extra, &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: result}})
	it.role = genwayv1.Role_ROLE_TOOL
	switch {
	case w.CallID == "" && w.Namespace != "":
		s := spaced{w.Namespace, w.Name}
		result.Name, it.parts[0].NativeFields = s.called(), append(it.parts[0].NativeFields, s.marks()...)
	case w.CallID == "":
		result.Name = w.Name
	default:
		if w.Name != "" {
			it.parts[0].NativeFields = append(it.parts[0].NativeFields, nativeText("name", w.Name))
		}
		if w.Namespace != "" {
			it.parts[0].NativeFields = append(it.parts[0].NativeFields, nativeText("namespace", w.Namespace))
		}
	}
	return it, nil
}

// decodeImageCall reads an image the vendor's tool has drawn; without its bytes
// the item is opaque. The vendor's default format is png.
func decodeImageCall(raw jsontext.Value, place member.Place) (item, error) {
	var w wireImageCall
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return item{}, err
	}
	if w.Result == "" {
		return opaqueItem(raw, typeImageCall), nil
	}
	format := w.OutputFormat
	if format == "" {
		format = "png"
	}
	media, err := member.MediaFromBase64("image/"+format, w.Result, place.Join("result"))
	if err != nil {
		return item{}, err
	}
	return assistantItem(w.ID, w.Status, w.Extra, &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: media}}), nil
}
