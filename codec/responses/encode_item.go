package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Here are the items that are written the same in requests and in answers.

// encodeReasoningItem writes a reasoning item whole; summary says that its text is
// written as a summary.
func encodeReasoningItem(w *member.Writer, t *genwayv1.Thinking, summary bool, id string, natives []*genwayv1.NativeField, path string, losses *codec.Losses) {
	natives, content := without(natives, "content")
	natives, summaries := without(natives, "summary")
	if summary {
		t = asSummary(t)
	}
	w.Begin()
	w.StrOpt("id", id)
	w.Str("type", typeReasoning)
	if summaries != nil {
		w.Raw("summary", summaries.Json)
	} else {
		w.List("summary")
		for _, text := range t.GetSummary() {
			encodeLine(w, typeSummaryText, text)
		}
		w.EndList()
	}
	switch {
	case content != nil:
		w.Raw("content", content.Json)
	case t.GetText() != "":
		w.List("content")
		encodeLine(w, typeReasoningText, t.Text)
		w.EndList()
	}
	w.StrOpt("encrypted_content", sealedText(t, summary))
	w.Spliced(extras(natives, path, losses))
	w.End()
}

const (
	typeSummaryText   = "summary_text"
	typeReasoningText = "reasoning_text"
)

func encodeLine(w *member.Writer, kind, text string) {
	w.Begin()
	w.Str("type", kind)
	w.Str("text", text)
	w.End()
}

// encodeCall writes the members of a tool call after the opening brace. A call
// of a function without arguments has {} (case T10), unless it is incomplete.
func encodeCall(w *member.Writer, call *genwayv1.ToolCall, at spaced, id, callID, status string) {
	w.StrOpt("id", id)
	if call.Input != nil {
		w.Str("type", typeCustomCall)
		w.StrOpt("status", status)
		w.Str("input", call.GetInput())
	} else {
		w.Str("type", typeFunctionCall)
		w.StrOpt("status", status)
		if status == statusIncomplete {
			w.Str("arguments", call.ArgumentsJson)
		} else {
			w.Str("arguments", arguments(call))
		}
	}
	w.Str("call_id", callID)
	w.StrOpt("namespace", at.space)
	w.Str("name", at.name)
}

func arguments(call *genwayv1.ToolCall) string {
	if call.ArgumentsJson == "" {
		return noArguments
	}
	return call.ArgumentsJson
}

// encodeImageCall writes the members of a drawn image after the opening brace.
func encodeImageCall(w *member.Writer, m *genwayv1.Media, data []byte, id, status string) {
	w.StrOpt("id", id)
	w.Str("type", typeImageCall)
	w.Str("status", status)
	if format, ok := strings.CutPrefix(m.MediaType, "image/"); ok {
		w.StrOpt("output_format", format)
	}
	w.Base64("result", data)
}
