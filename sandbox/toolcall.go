package sandbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/sandbox/schema"
)

// Which tools an answer calls, the first rule that returns any:
//
//  1. "Call the tool NAME with {JSON}." gives exactly that call, each such sentence
//     its own, in order. It counts only after the turn's tool results, if there are any.
//  2. Tools whose names stand in the turn's last message (see mentioned), in the order
//     of the message.
//  3. The tool the turn's last text fits best (see fit), unless there are tool results.
//  4. The first tool, where the tool choice demands a call.
//
// Only tools the tool choice allows are called, none where it is none, one where it
// forbids parallel calls, and all that are asked for otherwise. Hosted tools are never
// called. Arguments that the prompt does not give are an instance of the tool's
// schema, with values taken from the prompt where they fit.

// plan returns the calls of a candidate, without identifiers.
func plan(req *genwayv1.GenerateTextRequest, c *conversation, seed uint64) ([]*genwayv1.ToolCall, error) {
	tools, err := callable(req)
	if err != nil || len(tools) == 0 {
		return nil, err
	}
	choice := req.GetToolChoice()
	fresh := c.freshPrompt()
	demanded := choice.GetMode() == genwayv1.ToolChoice_MODE_REQUIRED

	var calls []*genwayv1.ToolCall
	for _, d := range directives(joined(fresh)) {
		if t := meant(tools, d.name); t != nil {
			calls = append(calls, exact(t, d.argument))
		}
	}
	if calls == nil {
		chosen := mentionedTools(tools, joined(ofLastMessage(fresh)))
		if n := len(c.prompts); chosen == nil && n > 0 && (len(c.results) == 0 || demanded) {
			chosen = fitting(tools, c.prompts[n-1].string)
		}
		if chosen == nil && demanded {
			chosen = tools[:1]
		}
		options := schema.Options{Seed: seed}
		if len(chosen) > 0 {
			options.Hints = hints(c.prompt())
		}
		for _, t := range chosen {
			call, err := filled(req, t, options)
			if err != nil {
				return nil, err
			}
			calls = append(calls, call)
		}
	}
	if len(calls) > 1 && choice != nil && choice.Parallel != nil && !choice.GetParallel() {
		calls = calls[:1]
	}
	return calls, nil
}

// freshPrompt is what the turn asks after its tool results.
func (c *conversation) freshPrompt() []text {
	var fresh []text
	for _, t := range c.prompts {
		if t.afterResult || len(c.results) == 0 {
			fresh = append(fresh, t)
		}
	}
	return fresh
}

// ofLastMessage are those texts that stand in the same message as the last one.
// Agents put what their user did not write into messages before it.
func ofLastMessage(texts []text) []text {
	for i := len(texts) - 1; i > 0; i-- {
		if texts[i-1].message != texts[i].message {
			return texts[i:]
		}
	}
	return texts
}

// callable are the tools an answer may call.
func callable(req *genwayv1.GenerateTextRequest) ([]*genwayv1.Tool, error) {
	choice := req.GetToolChoice()
	if choice.GetNative() != nil {
		return nil, fault.Unsupported("tool_choice", "the sandbox cannot call the chosen tool")
	}
	if choice.GetMode() == genwayv1.ToolChoice_MODE_NONE {
		return nil, nil
	}
	var own []*genwayv1.Tool
	for _, t := range req.GetTools() {
		if toolName(t) != "" {
			own = append(own, t)
		}
	}
	tools := own
	if names := choice.GetNames(); len(names) > 0 {
		tools = nil
		for i, n := range names {
			t := named(own, n)
			if t == nil {
				return nil, fault.Invalid(fmt.Sprintf("tool_choice.names[%d]", i), "there is no tool %q among the tools", clip(n, 200))
			}
			tools = append(tools, t)
		}
	}
	if choice.GetMode() == genwayv1.ToolChoice_MODE_REQUIRED && len(tools) == 0 {
		return nil, fault.Invalid("tool_choice", "a tool call is demanded, but there is no tool the sandbox could call")
	}
	return tools, nil
}

// toolName is the name a tool is called by; empty for a hosted one.
func toolName(t *genwayv1.Tool) string {
	return t.GetFunction().GetName() + t.GetCustom().GetName()
}

func named(tools []*genwayv1.Tool, name string) *genwayv1.Tool {
	for _, t := range tools {
		if toolName(t) == name {
			return t
		}
	}
	return nil
}

// meant finds a tool by its name, else by the end of it behind that of a namespace
// (exec for functions__exec), if no other's ends so.
func meant(tools []*genwayv1.Tool, name string) *genwayv1.Tool {
	if t := named(tools, name); t != nil {
		return t
	}
	var found *genwayv1.Tool
	for _, t := range tools {
		if strings.HasSuffix(toolName(t), "__"+name) {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

func mentionedTools(tools []*genwayv1.Tool, prompt string) []*genwayv1.Tool {
	at := map[*genwayv1.Tool]int{}
	var found []*genwayv1.Tool
	for _, t := range tools {
		if i := mentioned(prompt, toolName(t)); i >= 0 {
			at[t] = i
			found = append(found, t)
		}
	}
	slices.SortStableFunc(found, func(a, b *genwayv1.Tool) int { return cmp.Compare(at[a], at[b]) })
	return found
}

func fitting(tools []*genwayv1.Tool, prompt string) []*genwayv1.Tool {
	var best *genwayv1.Tool
	most := 0
	for _, t := range tools {
		if score := fit(prompt, t); score > most {
			best, most = t, score
		}
	}
	if best == nil {
		return nil
	}
	return []*genwayv1.Tool{best}
}

// exact is the call a directive asks for.
func exact(t *genwayv1.Tool, argument string) *genwayv1.ToolCall {
	if t.GetCustom() == nil {
		return &genwayv1.ToolCall{Name: toolName(t), ArgumentsJson: argument}
	}
	if text, ok := unquoted(argument); ok {
		argument = text
	}
	return &genwayv1.ToolCall{Name: toolName(t), Input: &argument}
}

// filled is a call whose arguments satisfy the tool's schema. A custom tool gets the
// prompt.
func filled(req *genwayv1.GenerateTextRequest, t *genwayv1.Tool, o schema.Options) (*genwayv1.ToolCall, error) {
	if t.GetCustom() != nil {
		input := o.Hints.Prompt
		return &genwayv1.ToolCall{Name: toolName(t), Input: &input}, nil
	}
	parameters := t.GetFunction().GetParametersJson()
	if parameters == "" {
		return &genwayv1.ToolCall{Name: toolName(t), ArgumentsJson: "{}"}, nil
	}
	arguments, err := o.Instance([]byte(parameters))
	if err != nil {
		param := fmt.Sprintf("tools[%d].function.parameters_json", slices.Index(req.GetTools(), t))
		return nil, fault.Invalid(param, "no arguments satisfy the schema: %s", clip(err.Error(), 400))
	}
	if arguments[0] != '{' {
		arguments = []byte("{}")
	}
	return &genwayv1.ToolCall{Name: toolName(t), ArgumentsJson: string(arguments)}, nil
}

// callID names the n-th call of a candidate: the same for the same answer.
func callID(req *genwayv1.GenerateTextRequest, responseID string, candidate, n int) string {
	prefix := cmp.Or(protocol.Of(req.GetWire().GetProtocol()).IDs.Call, "call_")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", responseID, candidate, n))
	return prefix + hex.EncodeToString(sum[:12])
}
