package interactions

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// thinking reads how much to think (SDK: ThinkingLevel, ThinkingSummaries).
func (w *generationConfig) thinking(req *genwayv1.GenerateTextRequest) {
	if w.ThinkingLevel == "" && w.ThinkingSummaries == "" {
		return
	}
	req.Thinking = &genwayv1.ThinkingConfig{Effort: strings.ToLower(w.ThinkingLevel)}
	switch w.ThinkingSummaries {
	case "":
	case "auto", "none":
		req.Thinking.IncludeThoughts = new(w.ThinkingSummaries == "auto")
	default:
		req.Thinking.NativeFields = []*genwayv1.NativeField{native("thinking_summaries", member.AppendQuote(nil, w.ThinkingSummaries))}
	}
}

// levels are the words of thinking_level that stand for others.
var levels = map[string]string{"none": "minimal", "max": "xhigh"}

// thinking writes how much to think. The least level of the protocol still thinks.
func (w *writer) thinking(t *genwayv1.ThinkingConfig) {
	if t == nil {
		return
	}
	effort, known := codec.Effort(t)
	if level, other := levels[effort]; other {
		w.losses.Add("thinking.effort", "the levels of the target protocol are minimal to xhigh")
		effort = level
	} else if known && t.Effort == "" {
		w.losses.Add("thinking.budget_tokens", "the target protocol has efforts instead of budgets")
	}
	if t.Effort != "" && t.BudgetTokens != nil {
		w.losses.Add("thinking.budget_tokens", "the target protocol has efforts instead of budgets")
	}
	w.StrOpt("thinking_level", effort)
	switch {
	case t.IncludeThoughts != nil && !*t.IncludeThoughts:
		w.Str("thinking_summaries", "none")
	case t.IncludeThoughts != nil, t.Summary != "", t.Mode == genwayv1.ThinkingConfig_MODE_ENABLED, t.Mode == genwayv1.ThinkingConfig_MODE_ADAPTIVE:
		w.Str("thinking_summaries", "auto")
	}
	if s := t.Summary; s != "" && s != "auto" {
		w.losses.Add("thinking.summary", "the target protocol chooses the length of a summary itself")
	}
	w.natives(t.NativeFields, "thinking")
}

// The types of answers in text.
const (
	jsonType  = "application/json"
	plainType = "text/plain"
)

// formats are the types of formats (SDK: ResponseFormat).
var formats = map[string]bool{"text": true, "image": true, "audio": true, "video": true}

// format reads response_format and response_mime_type. A format alone in a list is that format. Before it had types, a
// format was a schema (the SDK's type takes any object). Formats of other kinds than text stay native fields, which bind.
func (w *request) format(req *genwayv1.GenerateTextRequest) error {
	const path = "response_format"
	raw := w.ResponseFormat
	if raw.Kind() == '[' {
		count := 0
		var only []byte
		for _, element := range member.Elements(raw) {
			count, only = count+1, element
		}
		switch count {
		case 0:
			raw = nil
		case 1:
			raw = only
		}
	}
	switch {
	case !present(raw):
		return w.mimeType(req)
	case raw.Kind() != '{' && raw.Kind() != '[':
		return fault.Invalid(path, "%s: expected an object or an array", path)
	}
	kind := text(raw, "type")
	schema := raw
	var f textFormat
	switch {
	case raw.Kind() == '[' || kind != "text" && formats[kind]:
		req.NativeFields = append(req.NativeFields, native(path, w.ResponseFormat))
		return w.mimeType(req)
	case kind == "text":
		if err := member.DecodeAt(raw, &f, member.Place{Path: path}); err != nil {
			return err
		}
		if len(f.Extra) > 0 || f.MIMEType != "" && f.MIMEType != jsonType && f.MIMEType != plainType {
			req.NativeFields = append(req.NativeFields, native(path, w.ResponseFormat))
			return w.mimeType(req)
		}
		if schema = f.Schema; !present(schema) {
			if req.ResponseFormat = (&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_TEXT}); f.MIMEType == jsonType {
				req.ResponseFormat.Kind = genwayv1.ResponseFormat_KIND_JSON_OBJECT
			}
			return w.mimeType(req)
		}
		if schema.Kind() != '{' {
			return fault.Invalid(path+".schema", "%s.schema: expected an object", path)
		}
	}
	req.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: member.Text(schema)}
	return w.mimeType(req)
}

// mimeType reads the type of the answer where the format has not said it.
func (w *request) mimeType(req *genwayv1.GenerateTextRequest) error {
	const path = "response_mime_type"
	var kind genwayv1.ResponseFormat_Kind
	switch w.ResponseMIMEType {
	case "":
		return nil
	case plainType:
		kind = genwayv1.ResponseFormat_KIND_TEXT
	case jsonType:
		kind = genwayv1.ResponseFormat_KIND_JSON_OBJECT
	default:
		req.NativeFields = append(req.NativeFields, native(path, member.AppendQuote(nil, w.ResponseMIMEType)))
		return nil
	}
	has := req.ResponseFormat.GetKind()
	switch {
	case has == genwayv1.ResponseFormat_KIND_UNSPECIFIED:
		req.ResponseFormat = &genwayv1.ResponseFormat{Kind: kind}
	case (has == genwayv1.ResponseFormat_KIND_TEXT) != (kind == genwayv1.ResponseFormat_KIND_TEXT):
		return fault.Invalid(path, "%s: response_format has another type", path)
	}
	return nil
}

// format writes response_format.
func (w *writer) format(f *genwayv1.ResponseFormat) {
	const path = "response_format"
	switch {
	case f.GetNative() != nil:
		w.Fail(fault.Unsupported(path, "response_format: the target protocol has no such format"))
		return
	case f == nil || f.Kind == genwayv1.ResponseFormat_KIND_UNSPECIFIED:
		return
	case f.Kind == genwayv1.ResponseFormat_KIND_ENUM:
		w.Fail(fault.Unsupported(path, "response_format: the target protocol has no answers that are one of a list of texts"))
		return
	}
	w.Object(path)
	w.Str("type", "text")
	if f.Kind == genwayv1.ResponseFormat_KIND_TEXT {
		w.Str("mime_type", plainType)
	} else {
		w.Str("mime_type", jsonType)
	}
	if f.Kind == genwayv1.ResponseFormat_KIND_JSON_SCHEMA && f.SchemaJson != "" {
		w.Key("schema")
		w.value([]byte(f.SchemaJson), path+".schema_json")
	}
	w.End()
}
