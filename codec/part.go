package codec

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// TextPart returns a part that is a text. Most parts are, so that all of one is a single
// piece of memory.
func TextPart(text string) *genwayv1.Part {
	p := new(struct {
		part genwayv1.Part
		kind genwayv1.Part_Text
		text genwayv1.Text
	})
	p.text.Text = text
	p.kind.Text = &p.text
	p.part.Kind = &p.kind
	return &p.part
}

// CallPart is TextPart for a call of a tool.
func CallPart(name, arguments string) *genwayv1.Part {
	p := new(struct {
		part genwayv1.Part
		kind genwayv1.Part_ToolCall
		call genwayv1.ToolCall
	})
	p.call.Name, p.call.ArgumentsJson = name, arguments
	p.kind.ToolCall = &p.call
	p.part.Kind = &p.kind
	return &p.part
}
