package messages

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// minBudget is the least budget_tokens the vendor takes (ThinkingConfigEnabled).
const minBudget = 1024

// thinking reads thinking and output_config, which share the canonical thinking
// configuration and response format between them.
func (w *wireRequest) thinking(req *genwayv1.GenerateTextRequest) error {
	format, at := w.OutputFormat, "output_format"
	if t := w.Thinking; t != nil {
		req.Thinking = t.canonical()
	}
	if c := w.OutputConfig; c != nil {
		if c.Effort != "" {
			if req.Thinking == nil {
				req.Thinking = &genwayv1.ThinkingConfig{}
			}
			req.Thinking.Effort = c.Effort
		}
		if kind := c.Format.Kind(); kind != 0 && kind != 'n' {
			format, at = c.Format, "output_config.format"
		}
		req.NativeFields = append(req.NativeFields, nested("output_config", c.Extra)...)
	}
	var err error
	req.ResponseFormat, err = decodeFormat(format, at)
	return err
}

func (t *wireThinking) canonical() *genwayv1.ThinkingConfig {
	out := &genwayv1.ThinkingConfig{BudgetTokens: t.BudgetTokens}
	switch t.Type {
	case "enabled":
		out.Mode = genwayv1.ThinkingConfig_MODE_ENABLED
	case "disabled":
		out.Mode = genwayv1.ThinkingConfig_MODE_DISABLED
	case "adaptive":
		out.Mode = genwayv1.ThinkingConfig_MODE_ADAPTIVE
	default:
		out.NativeFields = append(out.NativeFields, word("type", t.Type))
	}
	switch t.Display {
	case "":
	case "summarized", "omitted":
		shown := t.Display == "summarized"
		out.IncludeThoughts = &shown
	default:
		out.NativeFields = append(out.NativeFields, word("display", t.Display))
	}
	out.NativeFields = append(out.NativeFields, natives(t.Extra)...)
	return out
}

func decodeFormat(raw jsontext.Value, path string) (*genwayv1.ResponseFormat, error) {
	if kind := raw.Kind(); kind == 0 || kind == 'n' {
		return nil, nil
	}
	var f outputFormat
	if err := member.DecodeAt(raw, &f, member.Place{Path: path}); err != nil {
		return nil, err
	}
	if f.Type != "json_schema" {
		return &genwayv1.ResponseFormat{Native: whole("format", raw)}, nil
	}
	if f.Schema.Kind() != '{' {
		return nil, fault.Missing(path + ".schema")
	}
	out := &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: member.Text(f.Schema)}
	if len(natives(f.Extra)) > 0 {
		out.Native = whole("format", raw)
	}
	return out, nil
}

// thinking writes the thinking member; nothing when the request leaves it to the
// model. limit is max_tokens.
func (w *writer) thinking(t *genwayv1.ThinkingConfig, limit int64, losses *codec.Losses) {
	kind, budget := ownThinking(t)
	if kind == "" && native(t.GetNativeFields(), "type") == nil {
		if kind, budget = foreignThinking(t, limit, losses); kind == "" {
			for _, f := range t.GetNativeFields() {
				losses.Add("thinking."+f.GetName(), "the request does not say whether to think, which the messages protocol needs beside it")
			}
			return
		}
	}
	w.Object("thinking")
	w.StrOpt("type", kind)
	if budget != nil {
		w.Int("budget_tokens", int64(*budget))
	}
	if t.IncludeThoughts != nil || t.Summary != "" && kind != "disabled" {
		display := "omitted"
		if t.Summary != "" || *t.IncludeThoughts {
			display = "summarized"
		}
		w.Str("display", display)
	}
	w.natives(t.NativeFields, "thinking", losses)
	w.End()
}

// ownThinking is the type and the budget of a configuration in this protocol's
// own terms, as they are; "" for another.
func ownThinking(t *genwayv1.ThinkingConfig) (kind string, budget *int32) {
	switch t.GetMode() { //nolint:exhaustive // unspecified is no mode
	case genwayv1.ThinkingConfig_MODE_ENABLED:
		if t.BudgetTokens != nil {
			return "enabled", t.BudgetTokens
		}
	case genwayv1.ThinkingConfig_MODE_DISABLED:
		return "disabled", t.BudgetTokens
	case genwayv1.ThinkingConfig_MODE_ADAPTIVE:
		return "adaptive", t.BudgetTokens
	}
	return "", nil
}

// foreignThinking fits a configuration of another protocol to the vendor's rules:
// a budget is at least 1,024 and less than max_tokens. An effort alone goes into
// output_config and leaves the rest to the model.
func foreignThinking(t *genwayv1.ThinkingConfig, limit int64, losses *codec.Losses) (kind string, budget *int32) {
	enabled := t.GetMode() == genwayv1.ThinkingConfig_MODE_ENABLED
	switch {
	case t.GetBudgetTokens() > 0:
	case t.GetBudgetTokens() < 0, enabled:
		return "adaptive", nil
	case t != nil && t.BudgetTokens != nil, t.GetEffort() == "none":
		return "disabled", nil
	case t.GetSummary() != "" || t.GetIncludeThoughts():
		return "adaptive", nil
	default:
		return "", nil
	}
	fitted := int32(min(max(int64(*t.BudgetTokens), minBudget), limit-1))
	if fitted < minBudget {
		losses.Add("thinking.budget_tokens", "there is no room for thinking below max_tokens, so it is off")
		return "disabled", nil
	}
	if fitted != *t.BudgetTokens {
		losses.Add("thinking.budget_tokens", "a thinking budget is at least 1024 and less than max_tokens")
	}
	return "enabled", &fitted
}

// outputConfig writes effort and format.
func (w *writer) outputConfig(req *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	effort := effortWord(req.GetThinking(), losses)
	format := req.GetResponseFormat()
	if k := format.GetKind(); k == genwayv1.ResponseFormat_KIND_TEXT || k == genwayv1.ResponseFormat_KIND_UNSPECIFIED && format.GetNative() == nil {
		format = nil
	} else if format.GetNative() == nil && (k == genwayv1.ResponseFormat_KIND_JSON_OBJECT || k == genwayv1.ResponseFormat_KIND_JSON_SCHEMA && format.GetSchemaJson() == "") {
		losses.Add("response_format", "the messages protocol has JSON of a given schema only; the conversation asks for JSON by its words")
		format = nil
	}
	if effort == "" && format == nil && native(req.GetNativeFields(), "output_config") == nil {
		return
	}
	w.Object("output_config")
	w.StrOpt("effort", effort)
	if format != nil {
		w.format(format)
	}
	w.merge(req.GetNativeFields(), "output_config", "")
	w.End()
}

// effortWord is the effort in the vendor's words (OutputConfigEffort); words of
// other vendors pass through, so that the upstream names what it does not know.
func effortWord(t *genwayv1.ThinkingConfig, losses *codec.Losses) string {
	switch effort := t.GetEffort(); effort {
	case "none":
		return "" // thinking.type says it
	case "minimal":
		losses.Add("thinking.effort", "the least effort of the messages protocol is low")
		return "low"
	default:
		return effort
	}
}

func (w *writer) format(f *genwayv1.ResponseFormat) {
	const path = "response_format"
	switch {
	case f.Native.GetProtocol() == protocol:
		w.raw("format", f.Native.Json, path)
		return
	case f.Native != nil || f.Kind != genwayv1.ResponseFormat_KIND_JSON_SCHEMA || f.SchemaJson == "":
		w.Fail(fault.Unsupported(path, "the messages protocol has no format of answers but text and JSON of a given schema"))
		return
	}
	w.Object("format")
	w.Str("type", "json_schema")
	w.raw("schema", []byte(f.SchemaJson), path+".schema_json")
	w.End()
}

// A thought signature of another protocol belongs to a tool call, where this
// protocol has no place that every client sends back. All of them send back its blocks of
// redacted thinking unchanged, so one beside the call carries the
// seal (case R1). The suffix says which part it belongs to: the next one, or the
// one before (for a stream that learns of the seal only after the block). Carriers
// never reach an upstream of this protocol.
//
// Signatures of texts have no carrier: a stream learns of them behind the text, and
// agents print the last block of an answer as its result, an empty one for a
// carrier. Their vendor demands back the signatures of calls only, so they are named as lost.
const (
	carrierNext = ".next"
	carrierPrev = ".prev"
)

const unsigned = "the messages protocol has no place for a signature of a text"

// carrierData is the data of the redacted_thinking block that carries a seal.
func carrierData(seal *genwayv1.Seal, place string) string {
	return codec.SealText(seal, protocol, false) + place
}

// carried returns the seal and the place of a carrier; nil for what the vendor wrote
// itself.
func carried(kind string, block jsontext.Value) (seal *genwayv1.Seal, place string) {
	if kind != "redacted_thinking" {
		return nil, ""
	}
	data := memberText(block, "data")
	for _, place := range []string{carrierNext, carrierPrev} {
		text, ok := strings.CutSuffix(data, place)
		if !ok {
			continue
		}
		if seal := codec.ParseSeal(text, protocol); seal.GetProtocol() != protocol {
			return seal, place
		}
	}
	return nil, ""
}

// sealedText is the part of a thought signature that belongs to no other part.
func sealedText(seal *genwayv1.Seal) *genwayv1.Part {
	p := textPart("")
	p.ThoughtSignature = seal
	return p
}

// partList gathers the parts of one turn and resolves carriers.
type partList struct {
	parts   []*genwayv1.Part
	pending *genwayv1.Seal
}

func (l *partList) add(p *genwayv1.Part) {
	p.ThoughtSignature, l.pending = l.pending, nil
	l.parts = append(l.parts, p)
}

func (l *partList) carry(seal *genwayv1.Seal, place string) {
	l.flush()
	last := len(l.parts) - 1
	switch {
	case place == carrierNext:
		l.pending = seal
	case place == carrierPrev && last >= 0 && l.parts[last].ThoughtSignature == nil:
		l.parts[last].ThoughtSignature = seal
	default:
		l.parts = append(l.parts, sealedText(seal))
	}
}

// flush keeps a seal whose part never came.
func (l *partList) flush() {
	if l.pending != nil {
		l.parts = append(l.parts, sealedText(l.pending))
		l.pending = nil
	}
}

func (l *partList) close() []*genwayv1.Part {
	l.flush()
	return l.parts
}
