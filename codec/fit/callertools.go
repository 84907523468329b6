package fit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// callerTool is a tool that the caller itself runs and whose schema its vendor fixes: a request says its type alone.
// For other protocols it is a function.
type callerTool struct {
	protocol genwayv1.Protocol
	// types are its types, or what is before the date in them.
	types []string
	// name is the function's, which is also the name of calls where the vendor's calls have one.
	name, description, schema string
	// call and output are the types of the items of calls and their results, arguments is the member of a call with
	// the arguments, and prefix begins identifiers of calls; empty where they are the same as of functions.
	call, output, arguments, prefix string
	// constant are members of the arguments of a call that are always there.
	constant []member.Member
	// members are a call's other members, each after a comma.
	members string
}

// callerTools are the tools of both vendors that have such. Read 2026-11-27.
var callerTools = []callerTool{
	{
		// platform.claude.com/docs/en/agents-and-tools/tool-use/bash-tool
		protocol: messages, types: []string{"bash_"}, name: "bash",
		description: "Run a command in a bash session that persists between calls.",
		schema: `{"type":"object","properties":{"command":{"type":"string","description":"The command to run. Required unless restart is true."},` +
			`"restart":{"type":"boolean","description":"Restart the session in place of running a command."}}}`,
	},
	{
		// platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool, of the models before Claude 4
		protocol: messages, types: []string{"text_editor_2024", "text_editor_202501"}, name: "str_replace_editor",
		description: "View, create and edit text files.",
		schema:      editorSchema(`,"undo_edit"`, `"new_str":{"type":"string","description":"For str_replace, the text to replace old_str with; for insert, the text to insert."}`),
	},
	{
		// The same page. insert_text: github.com/anthropics/anthropic-sdk-python/issues/1155
		protocol: messages, types: []string{"text_editor_"}, name: "str_replace_based_edit_tool",
		description: "View, create and edit text files.",
		schema: editorSchema("", `"new_str":{"type":"string","description":"For str_replace, the text to replace old_str with."},`+
			`"insert_text":{"type":"string","description":"For insert, the text to insert."}`),
	},
	{
		// BetaMemoryTool20250818*Command of @anthropic-ai/sdk
		protocol: messages, types: []string{"memory_"}, name: "memory",
		description: "Keep notes in files below /memories, which outlast the conversation. View the directory before other work.",
		schema: `{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"],"description":"What to do."},` +
			`"path":{"type":"string","description":"The file or directory, for all commands but rename."},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view, the first and the last line to show."},` +
			`"file_text":{"type":"string","description":"For create, the content of the file."},` +
			`"old_str":{"type":"string","description":"For str_replace, the text to replace, which the file has once."},` +
			`"new_str":{"type":"string","description":"For str_replace, the text to replace old_str with."},` +
			`"insert_line":{"type":"integer","description":"For insert, the line after which the text is inserted; 0 is the beginning."},` +
			`"insert_text":{"type":"string","description":"For insert, the text to insert."},` +
			`"old_path":{"type":"string","description":"For rename, the path as it is."},` +
			`"new_path":{"type":"string","description":"For rename, the path as it is to be."}},"required":["command"]}`,
	},
	{
		// ApplyPatchTool, ResponseApplyPatchToolCall of openai
		protocol: responses, types: []string{"apply_patch"}, name: "apply_patch",
		description: "Create, update or delete a file.",
		schema: `{"type":"object","properties":{"type":{"type":"string","enum":["create_file","update_file","delete_file"],"description":"What to do."},` +
			`"path":{"type":"string","description":"The file, relative to the root of the workspace."},` +
			`"diff":{"type":"string","description":"Not for delete_file. The diff in the V4A format: for create_file the lines of the file, each after +; ` +
			`for update_file hunks of lines after a space (context), - (removed) or + (added), each hunk after a line @@ that may name the class or function it is in. No line numbers."}},` +
			`"required":["type","path"]}`,
		call: "apply_patch_call", output: "apply_patch_call_output", arguments: "operation", prefix: "apc_",
	},
	{
		// FunctionShellTool, ResponseFunctionShellToolCall of openai. Without an environment it is local.
		protocol: responses, types: []string{"shell"}, name: "shell",
		description: "Run shell commands on the caller's machine.",
		schema: `{"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"},"description":"The commands to run, in this order."},` +
			`"timeout_ms":{"type":"integer","description":"How long the commands may take, in milliseconds."},` +
			`"max_output_length":{"type":"integer","description":"How many characters of output to return at most."}},"required":["commands"]}`,
		call: "shell_call", output: "shell_call_output", arguments: "action", prefix: "sh_",
		constant: []member.Member{{Name: "timeout_ms", Value: []byte("null")}, {Name: "max_output_length", Value: []byte("null")}},
		members:  `,"environment":{"type":"local"}`,
	},
	{
		// Tool.LocalShell, ResponseOutputItem.LocalShellCall of openai
		protocol: responses, types: []string{"local_shell"}, name: "local_shell",
		description: "Run a command on the caller's machine.",
		schema: `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"description":"The command and its arguments."},` +
			`"env":{"type":"object","additionalProperties":{"type":"string"},"description":"Environment variables for the command."},` +
			`"timeout_ms":{"type":"integer","description":"How long the command may take, in milliseconds."},` +
			`"user":{"type":"string","description":"The user to run the command as."},` +
			`"working_directory":{"type":"string","description":"The directory to run the command in."}},"required":["command"]}`,
		call: "local_shell_call", output: "local_shell_call_output", arguments: "action", prefix: "lsh_",
		constant: []member.Member{{Name: "type", Value: []byte(`"exec"`)}, {Name: "env", Value: []byte("{}")}},
	},
}

func editorSchema(more, texts string) string {
	return `{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"` + more + `],"description":"What to do."},` +
		`"path":{"type":"string","description":"The file, or for view a directory, too."},` +
		`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view of a file, the first and the last line to show; -1 is the end of the file."},` +
		`"file_text":{"type":"string","description":"For create, the content of the file."},` +
		`"old_str":{"type":"string","description":"For str_replace, the text to replace, which the file has once."},` + texts + `,` +
		`"insert_line":{"type":"integer","description":"For insert, the line after which the text is inserted; 0 is the beginning."}},"required":["command","path"]}`
}

// callerToolOf returns what is known of a hosted tool that its caller runs; nil for all others, as a shell in a container
// of the vendor.
func callerToolOf(protocol genwayv1.Protocol, kind string, raw []byte) *callerTool {
	if protocol != messages && protocol != responses || !isLocal(raw) {
		return nil
	}
	for i := range callerTools {
		known := &callerTools[i]
		if known.protocol == protocol && slices.ContainsFunc(known.types, func(name string) bool {
			date, ok := strings.CutPrefix(kind, name)
			return ok && strings.Trim(date, "0123456789") == ""
		}) {
			return known
		}
	}
	return nil
}

// isLocal reports whether a tool or a call is for the caller's own machine.
func isLocal(raw []byte) bool {
	environment := jsontext.Value(member.Value(raw, "environment"))
	return environment.Kind() != '{' || member.Raw(member.Value(environment, "type")).String() == "local"
}

// callerToolsOf returns the tools of a request that are functions for other protocols than theirs, by their places. A
// tool whose name another one has is not among them.
func callerToolsOf(tools []*genwayv1.Tool, protocol genwayv1.Protocol) map[int]*callerTool {
	var found map[int]*callerTool
	for i, t := range tools {
		h := t.GetHosted()
		if h == nil || h.GetProtocol() == protocol {
			continue
		}
		known := callerToolOf(h.GetProtocol(), h.GetType(), h.GetJson())
		if known == nil || slices.ContainsFunc(tools, func(other *genwayv1.Tool) bool {
			return other.GetFunction().GetName()+other.GetCustom().GetName() == known.name
		}) {
			continue
		}
		if found == nil {
			found = map[int]*callerTool{}
		}
		twice := false
		for _, other := range found {
			twice = twice || other.name == known.name
		}
		if !twice {
			found[i] = known
		}
	}
	return found
}

// CallerTools returns the request with functions in place of the tools that its caller runs and whose schemas the
// vendor of another protocol fixes, and with calls of functions in place of calls of such tools: nothing of them
// is lost. The result is the request itself where there is nothing to change.
func CallerTools(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) *genwayv1.GenerateTextRequest {
	if !slices.ContainsFunc(req.GetTools(), IsCallerTool) && !slices.ContainsFunc(req.GetMessages(), ofVendor) {
		return req
	}
	functions := callerToolsOf(req.GetTools(), protocol)
	tools, offered := codec.Rewritten(req.GetTools(), func(i int, t *genwayv1.Tool) *genwayv1.Tool { return functions[i].function(t) })
	calls := callerHistory{protocol: protocol}
	messages, said := codec.RewrittenParts(req.GetMessages(), func(_, _ int, p *genwayv1.Part) *genwayv1.Part { return calls.part(p) })
	if !offered && !said {
		return req
	}
	out := codec.Shared(req)
	out.Tools, out.Messages = tools, messages
	if choice := chosenFunction(req.GetToolChoice(), functions); choice != nil {
		out.ToolChoice = choice
	}
	return out
}

// function returns the function that a tool is for another protocol; nil for nil.
func (c *callerTool) function(t *genwayv1.Tool) *genwayv1.Tool {
	if c == nil {
		return nil
	}
	raw := t.GetHosted().GetJson()
	out := &genwayv1.Tool{
		Kind:         &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: c.name, Description: c.description + skills(raw), ParametersJson: c.schema}},
		CacheControl: t.GetCacheControl(),
		NativeFields: member.NativesBut(map[string]bool{"type": true, "name": true, "cache_control": true, "environment": true}, c.protocol, raw, nil),
	}
	if out.CacheControl == nil && jsontext.Value(member.Value(raw, "cache_control")).Kind() == '{' {
		out.CacheControl = &genwayv1.CacheControl{}
	}
	return out
}

// skills names the skills of a local environment (LocalSkill of openai), of which the vendor tells the model.
func skills(tool []byte) string {
	var list []struct {
		Name        string `json:"name"`
		Path        string `json:"path"`
		Description string `json:"description"`
	}
	if json.Unmarshal(member.Value(member.Value(tool, "environment"), "skills"), &list, member.Options()) != nil {
		return ""
	}
	var said strings.Builder
	for _, skill := range list {
		said.WriteString("\nSkill " + skill.Name + " in " + skill.Path + ": " + skill.Description)
	}
	return said.String()
}

// chosenFunction returns the choice of a function in place of a choice of its vendor's tool (ToolChoiceShell,
// ToolChoiceApplyPatch of openai); nil for another choice.
func chosenFunction(c *genwayv1.ToolChoice, functions map[int]*callerTool) *genwayv1.ToolChoice {
	kind := member.Raw(member.Value(c.GetNative().GetJson(), "type")).String()
	for _, f := range functions {
		if f.protocol == c.GetNative().GetProtocol() && slices.Contains(f.types, kind) {
			return &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{f.name}, Parallel: c.Parallel}
		}
	}
	return nil
}

// IsCallerTool reports whether CallerTools makes a function of a hosted tool, unless another tool has its name.
func IsCallerTool(t *genwayv1.Tool) bool {
	h := t.GetHosted()
	return h != nil && callerToolOf(h.GetProtocol(), h.GetType(), h.GetJson()) != nil
}

// callerHistory is one pass over a conversation.
type callerHistory struct {
	protocol genwayv1.Protocol
	// calls maps the identifier of an item, and of its call, to the identifier of the call.
	calls map[string]string
}

// part returns the call of a function, or the result of one, in place of an item; nil where a part stays.
func (h *callerHistory) part(p *genwayv1.Part) *genwayv1.Part {
	o := p.GetOpaque()
	if o == nil || o.GetProtocol() == h.protocol || o.GetProtocol() != responses {
		return nil
	}
	for i := range callerTools {
		switch c := &callerTools[i]; o.GetType() {
		case "":
		case c.call:
			return h.call(p, c, o.GetJson())
		case c.output:
			return h.result(p, c, o.GetJson())
		}
	}
	return nil
}

func (h *callerHistory) call(p *genwayv1.Part, c *callerTool, item []byte) *genwayv1.Part {
	id, callID := idsOf(item)
	arguments := member.Value(item, c.arguments)
	if jsontext.Value(arguments).Kind() != '{' || callID == "" || !isLocal(item) {
		return nil
	}
	if h.calls == nil {
		h.calls = map[string]string{}
	}
	h.calls[id], h.calls[callID] = callID, callID
	return &genwayv1.Part{
		Kind:             &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: callID, Name: c.name, Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: string(arguments)}}},
		ThoughtSignature: p.GetThoughtSignature(),
	}
}

// result is the text of a result, or all of an output that has more than text.
func (h *callerHistory) result(p *genwayv1.Part, c *callerTool, item []byte) *genwayv1.Part {
	_, id := idsOf(item)
	callID, known := h.calls[id]
	if !known {
		return nil
	}
	status := member.Raw(member.Value(item, "status")).String()
	r := &genwayv1.ToolResult{ToolCallId: callID, Name: c.name, IsError: status == "failed"}
	switch output := jsontext.Value(member.Value(item, "output")); output.Kind() {
	case '"':
		r.Parts = []*genwayv1.Part{codec.TextPart(member.Raw(output).String())}
	case '[':
		r.ResultJson = new(`{"output":` + string(output) + `}`)
	default:
		r.Parts = []*genwayv1.Part{codec.TextPart(cmp.Or(status, "completed"))}
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: r}, ThoughtSignature: p.GetThoughtSignature(), CacheControl: p.GetCacheControl()}
}

// idsOf returns the identifiers of an item and of the call it is about; the former for an item without the latter, as
// local_shell_call_output.
func idsOf(item []byte) (id, callID string) {
	id = member.Raw(member.Value(item, "id")).String()
	return id, cmp.Or(member.Raw(member.Value(item, "call_id")).String(), id)
}

// CallerCalls restores the calls of the functions that CallerTools has made of a request's tools: they are the items
// that the caller's protocol has for them. Nil changes nothing. Not for concurrent use.
type CallerCalls struct {
	tools    map[string]*callerTool
	response string
	// held has the events of the call that is open, by its candidate.
	held map[int32]*heldCall
}

// heldCall is a call in a stream, which is restored when it is whole.
type heldCall struct {
	tool      *callerTool
	events    []*genwayv1.StreamGenerateTextResponse
	arguments strings.Builder
}

// NewCallerCalls returns nil where calls are the same as of functions.
func NewCallerCalls(tools []*genwayv1.Tool, protocol genwayv1.Protocol) *CallerCalls {
	var c *CallerCalls
	for _, known := range callerToolsOf(tools, protocol) {
		if known.call == "" {
			continue
		}
		if c == nil {
			c = &CallerCalls{tools: map[string]*callerTool{}, held: map[int32]*heldCall{}}
		}
		c.tools[known.name] = known
	}
	return c
}

// Response restores the calls of a unary answer, in place. A call whose arguments are not one object is left.
func (c *CallerCalls) Response(resp *genwayv1.GenerateTextResponse) {
	if c == nil {
		return
	}
	for i, candidate := range resp.GetCandidates() {
		for j, p := range candidate.GetParts() {
			call := p.GetToolCall()
			if known := c.tools[call.GetName()]; known != nil && !codec.IsCustom(call) {
				if item := known.item(call, call.GetArgumentsJson(), resp.GetId(), int32(i), int32(j)); item != nil {
					candidate.Parts[j] = &genwayv1.Part{Kind: item, ThoughtSignature: p.GetThoughtSignature()}
				}
			}
		}
	}
}

// item returns the call as the vendor writes it; nil if its arguments are not one object.
func (c *callerTool) item(call *genwayv1.ToolCall, arguments, response string, candidate, part int32) *genwayv1.Part_Opaque {
	if !codec.AreObject(arguments) {
		return nil
	}
	members := slices.DeleteFunc(slices.Clone(c.constant), func(m member.Member) bool {
		return member.Value([]byte(arguments), m.Name) != nil
	})
	object, err := member.Patch([]byte(arguments), members...)
	if err != nil {
		return nil
	}
	id := cmp.Or(call.GetId(), codec.SyntheticToolID(response, candidate, part))
	var w member.Writer
	w.Begin()
	w.Str("id", strings.Replace(codec.SyntheticToolID(id, candidate, part), "call_", c.prefix, 1))
	w.Str("type", c.call)
	w.Str("status", "completed")
	w.Str("call_id", id)
	w.Raw(c.arguments, object)
	w.Put(c.members)
	w.End()
	raw, err := w.Finish()
	if err != nil {
		return nil
	}
	return &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: c.protocol, Type: c.call, Json: raw}}
}

// Events restores the calls of a stream. A call comes as a whole, once its arguments are.
func (c *CallerCalls) Events(events []*genwayv1.StreamGenerateTextResponse) []*genwayv1.StreamGenerateTextResponse {
	if c == nil {
		return events
	}
	out := make([]*genwayv1.StreamGenerateTextResponse, 0, len(events))
	for _, ev := range events {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_Started:
			c.response = p.Started.GetId()
		case *genwayv1.StreamGenerateTextResponse_PartStarted:
			call := p.PartStarted.GetPart().GetToolCall()
			if known := c.tools[call.GetName()]; known != nil && !codec.IsCustom(call) {
				held := &heldCall{tool: known, events: []*genwayv1.StreamGenerateTextResponse{ev}}
				held.arguments.WriteString(call.GetArgumentsJson())
				c.held[p.PartStarted.GetCandidate()] = held
				continue
			}
		case *genwayv1.StreamGenerateTextResponse_PartDelta:
			if held := c.held[p.PartDelta.GetCandidate()]; held != nil {
				if piece, ok := p.PartDelta.GetDelta().(*genwayv1.PartDelta_ArgumentsJson); ok {
					held.arguments.WriteString(piece.ArgumentsJson)
				}
				held.events = append(held.events, ev)
				continue
			}
		case *genwayv1.StreamGenerateTextResponse_PartCompleted:
			if held := c.held[p.PartCompleted.GetCandidate()]; held != nil {
				delete(c.held, p.PartCompleted.GetCandidate())
				out = append(out, c.restored(held)...)
			}
		case *genwayv1.StreamGenerateTextResponse_Completed:
			for candidate, held := range c.held { // the answer is cut
				delete(c.held, candidate)
				out = append(out, held.events...)
			}
		}
		out = append(out, ev)
	}
	return out
}

// restored returns the events of a whole call before its end: the item, and all but the arguments.
func (c *CallerCalls) restored(held *heldCall) []*genwayv1.StreamGenerateTextResponse {
	started := held.events[0].GetPartStarted()
	item := held.tool.item(started.GetPart().GetToolCall(), held.arguments.String(), c.response, started.GetCandidate(), started.GetIndex())
	if item == nil {
		return held.events
	}
	own := proto.CloneOf(held.events[0]) // its decoder may look at it again
	own.GetPartStarted().Part = &genwayv1.Part{Kind: item, ThoughtSignature: started.GetPart().GetThoughtSignature()}
	out := []*genwayv1.StreamGenerateTextResponse{own}
	for _, ev := range held.events[1:] {
		if _, ok := ev.GetPartDelta().GetDelta().(*genwayv1.PartDelta_ThoughtSignature); ok {
			out = append(out, ev)
		}
	}
	return out
}
