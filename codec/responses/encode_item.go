package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Here are the items that are written the same in requests and in answers.

// encodeReasoningItem writes a reasoning item whole; summary says that its text is
// told as a summary.
func encodeReasoningItem(w *writer, t *genwayv1.Thinking, summary bool, id string, natives []*genwayv1.NativeField, path string, losses *codec.Losses) {
	natives, content := without(natives, "content")
	if summary {
		t = asSummary(t)
	}
	w.begin('{')
	w.strOpt("id", id)
	w.str("type", typeReasoning)
	w.key("summary")
	w.begin('[')
	for _, text := range t.GetSummary() {
		encodeLine(w, typeSummaryText, text)
	}
	w.end(']')
	switch {
	case content != nil:
		w.rawBytes("content", content.Json)
	case t.GetText() != "":
		w.key("content")
		w.begin('[')
		encodeLine(w, typeReasoningText, t.Text)
		w.end(']')
	}
	w.strOpt("encrypted_content", sealedText(t, summary))
	w.members(extras(natives, path, losses))
	w.end('}')
}

const (
	typeSummaryText   = "summary_text"
	typeReasoningText = "reasoning_text"
)

func encodeLine(w *writer, kind, text string) {
	w.begin('{')
	w.str("type", kind)
	w.str("text", text)
	w.end('}')
}

// encodeCall writes the members of a tool call after the opening brace. A call
// of a function without arguments has {} (case T10).
func encodeCall(w *writer, call *genwayv1.ToolCall, at spaced, id, callID, status string) {
	w.strOpt("id", id)
	if call.Input != nil {
		w.str("type", typeCustomCall)
		w.strOpt("status", status)
		w.str("input", call.GetInput())
	} else {
		w.str("type", typeFunctionCall)
		w.strOpt("status", status)
		w.str("arguments", arguments(call))
	}
	w.str("call_id", callID)
	w.strOpt("namespace", at.space)
	w.str("name", at.name)
}

func arguments(call *genwayv1.ToolCall) string {
	if call.ArgumentsJson == "" {
		return "{}"
	}
	return call.ArgumentsJson
}

// encodeImageCall writes the members of a drawn image after the opening brace.
func encodeImageCall(w *writer, m *genwayv1.Media, data []byte, id, status string) {
	w.strOpt("id", id)
	w.str("type", typeImageCall)
	w.str("status", status)
	if format, ok := strings.CutPrefix(m.MediaType, "image/"); ok {
		w.strOpt("output_format", format)
	}
	w.base64("result", data)
}
