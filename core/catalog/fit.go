package catalog

import (
	"fmt"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fit returns a request that is translated for a model as the model takes it, and what that
// loses: parameters that it refuses are left out, a limit above its most is lowered, and
// thinking is asked for in a form that it has. Tools, schemas and contents that it does not
// take bear on the answer, and are refused by name. What is not known passes. req is not
// changed.
func (r Row) Fit(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, []*genwayv1.Loss, error) {
	if err := r.refuse(req); err != nil {
		return nil, nil, err
	}
	f := fitting{req: req}
	for _, name := range listOf(r.Refuses) {
		f.leaveOut(name)
	}
	if most := r.MaxOutput; most != nil && req.MaxOutputTokens != nil && req.GetMaxOutputTokens() > *most {
		f.own().MaxOutputTokens = new(*most)
		f.lose("max_output_tokens", fmt.Sprintf("the model produces at most %d tokens", *most))
	}
	if r.Thinking != nil && req.GetThinking() != nil {
		f.think(*r.Thinking)
	}
	return f.req, f.losses, nil
}

// refuse names what the model cannot take and the answer depends on.
func (r Row) refuse(req *genwayv1.GenerateTextRequest) error {
	if r.Tools != nil && !*r.Tools && len(req.GetTools()) > 0 && req.GetToolChoice().GetMode() != genwayv1.ToolChoice_MODE_NONE {
		return fault.Unsupported("tools", "tools: the model this request is routed to takes no tools")
	}
	if r.StructuredOutput != nil && !*r.StructuredOutput && req.GetResponseFormat().GetKind() == genwayv1.ResponseFormat_KIND_JSON_SCHEMA {
		return fault.Unsupported("response_format", "response_format: the model this request is routed to takes no JSON schema")
	}
	for _, wanted := range req.GetModalities() {
		if len(r.Output) > 0 && slices.Contains(Modalities(), wanted) && !slices.Contains(r.Output, wanted) {
			return fault.Unsupported("modalities", "modalities: the model this request is routed to does not produce %s", wanted)
		}
	}
	if len(r.Input) == 0 {
		return nil
	}
	for i, m := range req.GetMessages() {
		for j, p := range m.GetParts() {
			if kind := modality(p); kind != "" && !slices.Contains(r.Input, kind) {
				at := fmt.Sprintf("messages[%d].parts[%d].%s", i, j, map[bool]string{true: "file", false: kind}[kind == "document"])
				return fault.Unsupported(at, "%s: the model this request is routed to does not read that kind of content", at)
			}
		}
	}
	return nil
}

// modality is what a part is to a model; empty for text and what accompanies it.
func modality(p *genwayv1.Part) string {
	switch p.GetKind().(type) {
	case *genwayv1.Part_Image:
		return "image"
	case *genwayv1.Part_Audio:
		return "audio"
	case *genwayv1.Part_Video:
		return "video"
	case *genwayv1.Part_File:
		return "document"
	}
	return ""
}

// fitting is a request that is being changed.
type fitting struct {
	req    *genwayv1.GenerateTextRequest
	owned  bool
	losses []*genwayv1.Loss
}

// own returns the request to change, which is not the caller's.
func (f *fitting) own() *genwayv1.GenerateTextRequest {
	if !f.owned {
		out := codec.Shared(f.req)
		f.req, f.owned = out, true
	}
	return f.req
}

func (f *fitting) lose(name, reason string) {
	f.losses = append(f.losses, &genwayv1.Loss{Member: name, Reason: reason})
}

// leaveOut takes a parameter out of the request, if it is there.
func (f *fitting) leaveOut(name string) {
	of, path := f.req.ProtoReflect(), name
	field := of.Descriptor().Fields().ByName(protoreflect.Name(name))
	if field == nil {
		if f.req.GetSampling() == nil {
			return
		}
		of, path = f.req.GetSampling().ProtoReflect(), "sampling."+name
		field = of.Descriptor().Fields().ByName(protoreflect.Name(name))
	}
	if field == nil || !of.Has(field) {
		return
	}
	if of = f.own().ProtoReflect(); path != name {
		sampling := codec.Shared(f.req.GetSampling())
		f.req.Sampling, of = sampling, sampling.ProtoReflect()
	}
	of.Clear(field)
	f.lose(path, "the model refuses it")
}

// think asks for thinking in one of the forms that the model has.
func (f *fitting) think(forms []string) {
	t := f.req.GetThinking()
	declined := t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED || t.GetEffort() == "none" || t.BudgetTokens != nil && t.GetBudgetTokens() == 0
	has := func(form string) bool { return slices.Contains(forms, form) }
	switch {
	case len(forms) == 0:
		f.own().Thinking = nil
		if !declined {
			f.lose("thinking", "the model does not think")
		}
	case declined:
	case t.BudgetTokens != nil && !has(Budget):
		effort, known := codec.Effort(t)
		out := f.thinking()
		out.BudgetTokens = nil
		if known && out.Effort == "" && has(Effort) {
			out.Effort = effort
		}
		if has(Adaptive) {
			out.Mode = genwayv1.ThinkingConfig_MODE_ADAPTIVE
		}
		f.lose("thinking.budget_tokens", "the model takes no budget to think with")
	case t.GetEffort() != "" && !has(Effort):
		budget, known := codec.Budget(t)
		out := f.thinking()
		out.Effort = ""
		if known && out.BudgetTokens == nil && has(Budget) {
			out.BudgetTokens = &budget
		}
		f.lose("thinking.effort", "the model takes a budget in its place")
	case t.GetMode() == genwayv1.ThinkingConfig_MODE_ADAPTIVE && !has(Adaptive):
		f.thinking().Mode = genwayv1.ThinkingConfig_MODE_UNSPECIFIED
		f.lose("thinking.mode", "the model does not decide itself how much to think")
	}
}

// thinking returns the configuration to change.
func (f *fitting) thinking() *genwayv1.ThinkingConfig {
	out := codec.Shared(f.req.GetThinking())
	f.own().Thinking = out
	return out
}
