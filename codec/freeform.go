package codec

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// Custom tools take text in place of arguments. For upstreams of protocols without
// them they are functions with one argument, freeFormArgument, and so are their
// calls; FreeForm turns what such an upstream calls back into a call with text.

const freeFormArgument = "input"

// FreeFormSchema is the schema of the function that stands for a custom tool. The
// format of the text, which no such upstream enforces, is its description.
func FreeFormSchema(c *genwayv1.CustomTool) string {
	description := "The input as plain text."
	if c.GetFormatJson() != "" {
		description = "The input as plain text, of this format: " + c.GetFormatJson()
	}
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(description, "\uFFFD"))
	return `{"type":"object","properties":{"` + freeFormArgument + `":{"type":"string","description":` + string(quoted) +
		`}},"required":["` + freeFormArgument + `"],"additionalProperties":false}`
}

// FreeFormArguments are the arguments that stand for the text.
func FreeFormArguments(input string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(input, "\uFFFD"))
	return `{"` + freeFormArgument + `":` + string(quoted) + `}`
}

// freeFormInput is the text that arguments stand for. Models also write the text as a
// bare JSON string; what is neither is the text itself.
func freeFormInput(arguments string) string {
	var object map[string]jsontext.Value
	var input string
	value := jsontext.Value(arguments)
	if json.Unmarshal(value, &object) == nil && object != nil {
		value = object[freeFormArgument]
	}
	if value.Kind() != '"' || json.Unmarshal(value, &input) != nil {
		return arguments
	}
	return input
}

// FreeForm restores the calls of custom tools in the answer to one request. Nil
// changes nothing. Not for concurrent use.
type FreeForm struct {
	custom map[string]bool
	// open has the arguments of the calls that are being streamed.
	open map[place]*strings.Builder
}

type place struct{ candidate, part int32 }

// NewFreeForm returns nil where none of the tools is a custom one.
func NewFreeForm(tools []*genwayv1.Tool) *FreeForm {
	var f *FreeForm
	for _, t := range tools {
		if name := t.GetCustom().GetName(); name != "" {
			if f == nil {
				f = &FreeForm{custom: map[string]bool{}, open: map[place]*strings.Builder{}}
			}
			f.custom[name] = true
		}
	}
	return f
}

// Response restores the calls of a unary answer, in place.
func (f *FreeForm) Response(resp *genwayv1.GenerateTextResponse) {
	if f == nil {
		return
	}
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			if call := p.GetToolCall(); f.stands(call) {
				input := freeFormInput(call.ArgumentsJson)
				call.ArgumentsJson, call.Input = "", &input
			}
		}
	}
}

// stands reports whether a call with arguments stands for one with text.
func (f *FreeForm) stands(call *genwayv1.ToolCall) bool {
	return call != nil && call.Input == nil && f.custom[call.Name]
}

// Events restores the calls of a stream. The text of a call comes in one piece, once
// its arguments are whole.
func (f *FreeForm) Events(events []*genwayv1.StreamGenerateTextResponse) []*genwayv1.StreamGenerateTextResponse {
	if f == nil {
		return events
	}
	out := make([]*genwayv1.StreamGenerateTextResponse, 0, len(events))
	for _, ev := range events {
		if started := ev.GetPartStarted(); started != nil {
			if call := started.GetPart().GetToolCall(); f.stands(call) {
				arguments := &strings.Builder{}
				arguments.WriteString(call.ArgumentsJson)
				f.open[place{started.Candidate, started.Index}] = arguments
				ev = proto.CloneOf(ev) // its decoder may look at it again
				call = ev.GetPartStarted().Part.GetToolCall()
				call.ArgumentsJson, call.Input = "", new(string)
			}
		}
		if delta := ev.GetPartDelta(); delta != nil {
			if piece, ok := delta.Delta.(*genwayv1.PartDelta_ArgumentsJson); ok {
				if arguments := f.open[place{delta.Candidate, delta.Index}]; arguments != nil {
					arguments.WriteString(piece.ArgumentsJson)
					continue
				}
			}
		}
		if done := ev.GetPartCompleted(); done != nil {
			at := place{done.Candidate, done.Index}
			if arguments := f.open[at]; arguments != nil {
				delete(f.open, at)
				out = append(out, Event(&genwayv1.PartDelta{Candidate: at.candidate, Index: at.part,
					Delta: &genwayv1.PartDelta_Input{Input: freeFormInput(arguments.String())}}))
			}
		}
		out = append(out, ev)
	}
	return out
}
