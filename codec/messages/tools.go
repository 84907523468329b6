package messages

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// noParameters is the schema of a tool that takes none: the vendor requires one.
const noParameters = `{"type":"object","properties":{}}`

func (w *wireRequest) tools(req *genwayv1.GenerateTextRequest) error {
	for i, raw := range w.Tools {
		path := member.Index("tools", i)
		if raw.Kind() != '{' {
			return fault.Invalid(path, "%s: expected object", path)
		}
		if kind := memberText(raw, "type"); kind != "" && kind != "custom" {
			req.Tools = append(req.Tools, &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{
				Hosted: &genwayv1.HostedTool{Protocol: protocol, Type: kind, Json: bytes.Clone(raw)}}})
			continue
		}
		var t wireTool
		if err := member.DecodeAt(raw, &t, member.Place{Path: path}); err != nil {
			return err
		}
		switch {
		case t.Name == "":
			return fault.Missing(path + ".name")
		case t.InputSchema.Kind() == 0 || t.InputSchema.Kind() == 'n':
			return fault.Missing(path + ".input_schema")
		case t.InputSchema.Kind() != '{':
			return fault.Invalid(path+".input_schema", "%s.input_schema: expected object", path)
		}
		req.Tools = append(req.Tools, &genwayv1.Tool{
			Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{
				Name: t.Name, Description: t.Description, ParametersJson: member.Text(t.InputSchema), Strict: t.Strict}},
			CacheControl: t.CacheControl.canonical(),
			NativeFields: natives(t.Extra),
		})
	}
	choice, err := w.toolChoice()
	req.ToolChoice = choice
	return err
}

func (w *wireRequest) toolChoice() (*genwayv1.ToolChoice, error) {
	if kind := w.ToolChoice.Kind(); kind == 0 || kind == 'n' {
		return nil, nil
	}
	var c toolChoice
	if err := member.DecodeAt(w.ToolChoice, &c, member.Place{Path: "tool_choice"}); err != nil {
		return nil, err
	}
	out := &genwayv1.ToolChoice{}
	if c.DisableParallelToolUse != nil {
		parallel := !*c.DisableParallelToolUse
		out.Parallel = &parallel
	}
	switch c.Type {
	case "auto":
		out.Mode = genwayv1.ToolChoice_MODE_AUTO
	case "any":
		out.Mode = genwayv1.ToolChoice_MODE_REQUIRED
	case "none":
		out.Mode = genwayv1.ToolChoice_MODE_NONE
	case "tool":
		if c.Name == "" {
			return nil, fault.Missing("tool_choice.name")
		}
		out.Mode, out.Names = genwayv1.ToolChoice_MODE_REQUIRED, []string{c.Name}
	case "":
		return nil, fault.Missing("tool_choice.type")
	default:
		out.Native = whole("tool_choice", w.ToolChoice)
		return out, nil
	}
	if len(natives(c.Extra)) > 0 {
		out.Native = whole("tool_choice", w.ToolChoice)
	}
	return out, nil
}

// tools writes tools and tool_choice. A choice among several of the tools, which
// this protocol does not have, is made by leaving the others out.
func (w *writer) tools(req *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	only := chosen(req.GetToolChoice())
	open := false
	for i, t := range req.GetTools() {
		path := member.Index("tools", i)
		if !isSent(t, only) {
			continue
		}
		if !open {
			w.List("tools")
			open = true
		}
		w.tool(t, path, losses)
	}
	if open {
		w.EndList()
	}
	w.toolChoice(req.GetToolChoice(), open)
}

// chosen returns the names of the tools that a choice is among, if it is among several; else nil.
func chosen(c *genwayv1.ToolChoice) []string {
	if c.GetAllowedList() || len(c.GetNames()) > 1 {
		return c.GetNames()
	}
	return nil
}

// isSent reports whether a tool is offered to the upstream; only are the names that chosen returns.
func isSent(t *genwayv1.Tool, only []string) bool {
	return (!fit.Hosted(t, protocol) || fit.IsCallerTool(t)) && (only == nil || slices.Contains(only, t.GetFunction().GetName()+t.GetCustom().GetName()))
}

func (w *writer) tool(t *genwayv1.Tool, path string, losses *codec.Losses) {
	switch k := t.GetKind().(type) {
	case *genwayv1.Tool_Function:
		w.Begin()
		w.Str("name", k.Function.GetName())
		w.StrOpt("description", k.Function.GetDescription())
		schema := k.Function.GetParametersJson()
		if schema == "" {
			schema = noParameters
		}
		w.raw("input_schema", []byte(schema), path+".function.parameters_json")
		if k.Function.Strict != nil {
			w.Bool("strict", *k.Function.Strict)
		}
		w.cacheControl(t.CacheControl, path, losses)
		w.natives(t.NativeFields, path, losses)
		w.End()
	case *genwayv1.Tool_Hosted:
		w.value(k.Hosted.Json, path+".hosted")
	case *genwayv1.Tool_Custom:
		if codec.InputFormat(k.Custom) != "" {
			losses.Add(path+".custom.format_json", "the messages protocol enforces no format of a tool's input")
		}
		w.Begin()
		w.Str("name", k.Custom.GetName())
		w.StrOpt("description", k.Custom.GetDescription())
		w.raw("input_schema", []byte(codec.FreeFormSchema(k.Custom)), path)
		w.cacheControl(t.CacheControl, path, losses)
		w.natives(t.NativeFields, path, losses)
		w.End()
	default:
		w.Fail(fault.Invalid(path, "%s has no kind", path))
	}
}

func (w *writer) toolChoice(c *genwayv1.ToolChoice, tools bool) {
	const path = "tool_choice"
	var mode, name string
	switch {
	case c == nil:
		return
	case c.Native.GetProtocol() == protocol:
		w.raw(path, c.Native.Json, path)
		return
	case c.Native != nil, c.NativeMode != "" && c.Mode == genwayv1.ToolChoice_MODE_UNSPECIFIED:
		w.Fail(fault.Unsupported(path, "the messages protocol cannot express this tool choice"))
		return
	case c.Mode == genwayv1.ToolChoice_MODE_NONE:
		mode = "none"
	case c.Mode == genwayv1.ToolChoice_MODE_REQUIRED && len(c.Names) == 1:
		mode, name = "tool", c.Names[0]
	case c.Mode == genwayv1.ToolChoice_MODE_REQUIRED:
		mode = "any"
	case c.Mode == genwayv1.ToolChoice_MODE_AUTO:
		mode = "auto"
	case tools && c.Parallel != nil && !*c.Parallel:
		mode = "auto" // the only way to say that calls come one at a time
	default:
		return
	}
	w.Object(path)
	w.Str("type", mode)
	w.StrOpt("name", name)
	if c.Parallel != nil && mode != "none" {
		w.Bool("disable_parallel_tool_use", !*c.Parallel)
	}
	w.End()
}

// placed returns the parts of a message with their paths and call identifiers.
func placed(m *genwayv1.Message, path string) []placedPart {
	parts := make([]placedPart, len(m.GetParts()))
	for i, p := range m.GetParts() {
		id := cmp.Or(p.GetToolCall().GetId(), p.GetToolResult().GetToolCallId())
		parts[i] = placedPart{Part: p, path: member.Within(path, ".parts", i), callID: id}
	}
	return parts
}
