package catalog

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fit returns a request that is translated for a model as the model takes it at an upstream of
// a protocol, and what that loses. What the model refuses is written as an equivalent that it
// takes. Where there is none, a preference is left out and named, and a request whose answer
// would be another one is refused by name: tools, schemas and contents that the model does not
// take. What is not known passes. req is not changed.
func (r Row) Fit(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) (*genwayv1.GenerateTextRequest, []*genwayv1.Loss, error) {
	if err := r.refuse(fit.Drawn(req, protocol, nil)); err != nil {
		return nil, nil, err
	}
	f := fitting{Change: codec.Change{Req: req}, row: &r, protocol: protocol}
	if most := r.MaxOutput; most != nil && req.MaxOutputTokens != nil && req.GetMaxOutputTokens() > *most {
		f.Own().MaxOutputTokens = new(*most)
		f.lose("max_output_tokens", fmt.Sprintf("the model produces at most %d tokens", *most))
	}
	if r.Thinking != nil && req.GetThinking() != nil {
		f.think()
	}
	f.conversation()
	f.parameters()
	return f.Req, f.losses, nil
}

// refuses reports whether the model refuses a feature or a parameter at any time, whileThinking
// while it thinks.
func (r Row) refuses(name string) bool { return slices.Contains(listOf(r.Refuses), name) }

func (r Row) whileThinking(name string) bool {
	return slices.Contains(listOf(r.RefusesThinking), name)
}

// takes reports whether the model can be asked to think in a form.
func (r Row) takes(form string) bool { return slices.Contains(listOf(r.Thinking), form) }

// refuse names what the model cannot take and the answer depends on.
func (r Row) refuse(req *genwayv1.GenerateTextRequest) error {
	called := len(req.GetTools()) > 0 && req.GetToolChoice().GetMode() != genwayv1.ToolChoice_MODE_NONE
	schema := req.GetResponseFormat().GetKind() == genwayv1.ResponseFormat_KIND_JSON_SCHEMA
	switch {
	case r.Tools != nil && !*r.Tools && called:
		return fault.Unsupported("tools", "tools: the model this request is routed to takes no tools")
	case r.StructuredOutput != nil && !*r.StructuredOutput && schema:
		return fault.Unsupported("response_format", "response_format: the model this request is routed to takes no JSON schema")
	case schema && called && r.refuses(JSONWithTools) && slices.ContainsFunc(req.GetTools(), isFunction):
		return fault.Unsupported("response_format", "response_format: the model this request is routed to takes no JSON schema together with functions")
	case r.refuses(Prefill) && prefilled(req):
		at := fmt.Sprintf("messages[%d]", lastTurn(req))
		return fault.Unsupported(at, "%s: the model this request is routed to does not continue an answer; the last message must not be the assistant's", at)
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

// isFunction reports whether a tool is a function at an upstream of another protocol.
func isFunction(t *genwayv1.Tool) bool { return t.GetFunction() != nil || t.GetCustom() != nil }

// prefilled reports whether a conversation ends with text of the assistant's, which a model would
// continue.
func prefilled(req *genwayv1.GenerateTextRequest) bool {
	at := lastTurn(req)
	if at < 0 || req.GetMessages()[at].GetRole() != genwayv1.Role_ROLE_ASSISTANT {
		return false
	}
	parts := req.GetMessages()[at].GetParts()
	return len(parts) > 0 && parts[len(parts)-1].GetText() != nil
}

// lastTurn returns the index of the last message that is no instruction, which vendors take apart from the
// conversation; -1 for none.
func lastTurn(req *genwayv1.GenerateTextRequest) int {
	at := len(req.GetMessages()) - 1
	for at >= 0 && (req.GetMessages()[at].GetRole() == genwayv1.Role_ROLE_SYSTEM || req.GetMessages()[at].GetRole() == genwayv1.Role_ROLE_DEVELOPER) {
		at--
	}
	return at
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
	codec.Change
	row      *Row
	protocol genwayv1.Protocol
	losses   []*genwayv1.Loss
}

func (f *fitting) lose(name, reason string) {
	f.losses = append(f.losses, &genwayv1.Loss{Member: name, Reason: reason})
}

// parameters leaves out what the model refuses, at all or since it thinks, and all but the first
// of what excludes each other.
func (f *fitting) parameters() {
	for _, name := range listOf(f.row.Refuses) {
		f.leaveOut(name, "the model refuses it")
	}
	if least := f.row.ThinkingTopP; (f.row.RefusesThinking != nil || least != nil) && f.thinks() {
		for _, name := range listOf(f.row.RefusesThinking) {
			f.leaveOut(name, "the model refuses it while it thinks")
		}
		if s := f.Req.GetSampling(); least != nil && s.GetTopP() < *least {
			f.leaveOut("top_p", fmt.Sprintf("the model takes no less than %v while it thinks", *least))
		}
	}
	var present []string
	for _, name := range listOf(f.row.OneOf) {
		if of, field := f.place(name); field != nil && of.Has(field) {
			present = append(present, name)
		}
	}
	for left := len(present); left > 1; left-- {
		// One that says nothing goes first.
		i := max(0, slices.IndexFunc(present, f.saysNothing))
		if i == 0 && !f.saysNothing(present[0]) {
			i = len(present) - 1
		}
		f.leaveOut(present[i], "the model takes "+strings.Join(listOf(f.row.OneOf), " or ")+", not both")
		present = slices.Delete(present, i, i+1)
	}
}

// place returns the message that has a parameter, and its field there; nil for none.
func (f *fitting) place(name string) (protoreflect.Message, protoreflect.FieldDescriptor) {
	of := f.Req.ProtoReflect()
	if field := of.Descriptor().Fields().ByName(protoreflect.Name(name)); field != nil || f.Req.GetSampling() == nil {
		return of, field
	}
	of = f.Req.GetSampling().ProtoReflect()
	return of, of.Descriptor().Fields().ByName(protoreflect.Name(name))
}

// saysNothing reports whether a parameter is there with a value that is so without it. A
// temperature and a top_p of 1 are the defaults of all vendors whose models refuse others.
func (f *fitting) saysNothing(name string) bool {
	of, field := f.place(name)
	if field == nil || !of.Has(field) || field.IsList() || field.IsMap() {
		return false
	}
	value := fmt.Sprint(of.Get(field).Interface())
	s := setting.Text(name)
	return s != nil && s.Neutral != "" && value == strings.Trim(s.Neutral, `"`) || value == "1" && (name == "temperature" || name == "top_p")
}

// leaveOut takes a parameter out of the request, if it is there.
func (f *fitting) leaveOut(name, reason string) {
	of, field := f.place(name)
	if field == nil || !of.Has(field) {
		return
	}
	silent, path := f.saysNothing(name), name
	if f.Own(); of.Descriptor() == f.Req.ProtoReflect().Descriptor() {
		of = f.Req.ProtoReflect()
	} else {
		sampling := codec.Shared(f.Req.GetSampling())
		f.Req.Sampling, of, path = sampling, sampling.ProtoReflect(), "sampling."+name
	}
	if of.Clear(field); !silent {
		f.lose(path, reason)
	}
}

// declines reports whether a configuration asks a model not to think.
func declines(t *genwayv1.ThinkingConfig) bool {
	return t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED || t.GetEffort() == "none" || t != nil && t.BudgetTokens != nil && t.GetBudgetTokens() == 0
}

// leavesOpen reports whether a configuration asks a model to think, and leaves how much to it.
func leavesOpen(t *genwayv1.ThinkingConfig) bool {
	return t.GetEffort() == "" && t.GetBudgetTokens() <= 0 &&
		(t.GetMode() != genwayv1.ThinkingConfig_MODE_UNSPECIFIED || t.GetBudgetTokens() < 0 || t.GetSummary() != "" || t.GetIncludeThoughts())
}

// thinks reports whether the model will think. With adaptive thinking an effort alone does not
// ask for it.
func (f *fitting) thinks() bool {
	t := f.Req.GetThinking()
	switch {
	case f.row.Thinking != nil && len(*f.row.Thinking) == 0:
		return false
	case f.row.Thinks == Always:
		return true
	case declines(t):
		return false
	}
	return f.row.Thinks == Default || leavesOpen(t) || t.GetBudgetTokens() > 0 || t.GetMode() != genwayv1.ThinkingConfig_MODE_UNSPECIFIED ||
		t.GetEffort() != "" && !f.row.takes(Adaptive)
}

// think asks for thinking in one of the forms that the model has, as much as it takes.
func (f *fitting) think() {
	t, before := f.Req.GetThinking(), len(f.losses)
	switch {
	case len(*f.row.Thinking) == 0:
		f.Own().Thinking = nil
		if !declines(t) {
			f.lose("thinking", "the model does not think")
		}
		return
	case declines(t):
		f.least()
		return
	case leavesOpen(t):
		f.open()
	case t.BudgetTokens != nil && !f.row.takes(Budget):
		effort, known := codec.Effort(t)
		out := f.thinking()
		out.BudgetTokens = nil
		if known && out.Effort == "" && f.row.takes(Effort) {
			out.Effort = effort
		}
		if f.row.takes(Adaptive) {
			out.Mode = genwayv1.ThinkingConfig_MODE_ADAPTIVE
		}
		f.lose("thinking.budget_tokens", "the model takes no budget to think with")
	case t.GetEffort() != "" && !f.row.takes(Effort):
		budget, known := codec.Budget(t)
		out := f.thinking()
		out.Effort = ""
		if known && out.BudgetTokens == nil && f.row.takes(Budget) {
			out.BudgetTokens = &budget
		}
		f.lose("thinking.effort", "the model takes a budget in its place")
	}
	if t = f.Req.GetThinking(); t.GetMode() == genwayv1.ThinkingConfig_MODE_ADAPTIVE && (!f.row.takes(Adaptive) || t.GetBudgetTokens() > 0) {
		f.thinking().Mode = genwayv1.ThinkingConfig_MODE_UNSPECIFIED
		if len(f.losses) == before {
			f.lose("thinking.mode", "the model does not decide itself how much to think")
		}
	}
	f.nearestEffort()
	f.withinBudget()
}

// least asks a model for the least thinking that cannot be asked for none.
func (f *fitting) least() {
	if f.row.Thinks != Always {
		return
	}
	out := &genwayv1.ThinkingConfig{IncludeThoughts: f.Req.GetThinking().IncludeThoughts}
	switch {
	case f.row.takes(Effort) && len(f.row.Efforts) > 0:
		out.Effort = f.row.Efforts[0]
	case f.row.takes(Budget) && f.row.MinBudget != nil:
		out.BudgetTokens = new(int32(min(*f.row.MinBudget, math.MaxInt32)))
	}
	f.Own().Thinking = out
	f.lose("thinking", "the model cannot be asked not to think; it is asked for the least")
}

// open asks to think as much as the model decides, or, if it does not decide that, at medium effort.
func (f *fitting) open() {
	const medium = "medium"
	switch t := f.Req.GetThinking(); {
	case f.row.takes(Adaptive):
	case f.row.Thinks == Default, f.row.Thinks == Always:
		out := f.thinking()
		if out.IncludeThoughts == nil && out.Mode != genwayv1.ThinkingConfig_MODE_UNSPECIFIED {
			out.IncludeThoughts = new(true)
		}
		out.Mode, out.BudgetTokens = genwayv1.ThinkingConfig_MODE_UNSPECIFIED, nil
	case f.row.takes(Effort), f.row.takes(Budget):
		out := f.thinking()
		out.Mode, out.BudgetTokens, out.Effort = genwayv1.ThinkingConfig_MODE_UNSPECIFIED, nil, medium
		if !f.row.takes(Effort) {
			budget, _ := codec.Budget(out)
			out.Effort, out.BudgetTokens = "", &budget
		}
		if t.GetMode() != genwayv1.ThinkingConfig_MODE_UNSPECIFIED || t.BudgetTokens != nil {
			f.lose("thinking.mode", "the model does not decide itself how much to think")
		}
	}
}

// nearestEffort writes the word that the model has in place of one that it has not: the next one
// below, or its lowest.
func (f *fitting) nearestEffort() {
	asked := slices.Index(codec.Efforts(), f.Req.GetThinking().GetEffort())
	if asked < 0 || len(f.row.Efforts) == 0 || slices.Contains(f.row.Efforts, f.Req.GetThinking().GetEffort()) {
		return
	}
	word := f.row.Efforts[0]
	for _, has := range f.row.Efforts {
		if slices.Index(codec.Efforts(), has) < asked {
			word = has
		}
	}
	f.thinking().Effort = word
	f.lose("thinking.effort", "the model takes "+strings.Join(f.row.Efforts, ", ")+", of which "+word+" is the nearest")
}

// withinBudget keeps a budget within the model's bounds. In the messages protocol it is a part of
// max_tokens: one that leaves no room for an answer becomes three quarters of them, and where
// there is no room for the least budget, thinking is off.
func (f *fitting) withinBudget() {
	t := f.Req.GetThinking()
	if t.GetBudgetTokens() <= 0 {
		return
	}
	asked := int64(t.GetBudgetTokens())
	budget, reason := asked, ""
	if most := f.row.MaxBudget; most != nil && budget > *most {
		budget, reason = *most, fmt.Sprintf("the model thinks with at most %d tokens", *most)
	}
	least := int64(1)
	if f.row.MinBudget != nil {
		least = *f.row.MinBudget
	}
	if budget < least {
		budget, reason = least, fmt.Sprintf("the model thinks with at least %d tokens", least)
	}
	if limit := f.Req.MaxOutputTokens; f.protocol == genwayv1.Protocol_PROTOCOL_MESSAGES && limit != nil && budget >= *limit {
		if *limit <= least {
			f.off("max_output_tokens leaves no room for it")
			return
		}
		budget, reason = max(least, *limit-(*limit+3)/4), "it is a part of max_output_tokens, which would leave no room for the answer"
	}
	if budget != asked {
		f.thinking().BudgetTokens = new(int32(min(budget, math.MaxInt32)))
		f.lose("thinking.budget_tokens", reason)
	}
}

// thinking returns the configuration to change.
func (f *fitting) thinking() *genwayv1.ThinkingConfig {
	out := codec.Shared(f.Req.GetThinking())
	f.Own().Thinking = out
	return out
}

// off asks the model not to think. An effort that it takes besides stays, up to high: models
// refuse a higher one without thinking.
func (f *fitting) off(reason string) {
	out := &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_DISABLED}
	if effort := f.Req.GetThinking().GetEffort(); f.row.takes(Effort) {
		if out.Effort = effort; effort == "xhigh" || effort == "max" {
			out.Effort = "high"
		}
	}
	f.Own().Thinking = out
	f.lose("thinking", "the model does not think for this call: "+reason)
}

// conversation turns thinking off that the conversation and the choice of tools rule out, since a
// call that is demanded bears more on the answer. A model that always thinks chooses itself.
func (f *fitting) conversation() {
	if choice := f.Req.GetToolChoice(); f.row.refuses(JSONWithTools) && f.Req.GetResponseFormat() != nil && slices.ContainsFunc(f.Req.GetTools(), isFunction) {
		switch kind := f.Req.GetResponseFormat().GetKind(); {
		case kind != genwayv1.ResponseFormat_KIND_JSON_SCHEMA && kind != genwayv1.ResponseFormat_KIND_JSON_OBJECT:
		case choice.GetMode() == genwayv1.ToolChoice_MODE_NONE:
			f.Own().Tools, f.Req.ToolChoice = nil, nil
		default:
			f.Own().ResponseFormat = nil
			f.lose("response_format", "the model takes no JSON together with functions")
		}
	}
	if f.protocol == genwayv1.Protocol_PROTOCOL_MESSAGES && f.Req.GetThinking().GetBudgetTokens() > 0 && unthought(f.Req.GetMessages()) {
		if f.row.takes(Adaptive) {
			out := f.thinking()
			if effort, known := codec.Effort(out); known && f.row.takes(Effort) {
				out.Effort = effort
			}
			out.Mode, out.BudgetTokens = genwayv1.ThinkingConfig_MODE_ADAPTIVE, nil
			f.lose("thinking.budget_tokens", "the calls that are being answered were made without thinking")
			f.nearestEffort()
		} else {
			f.off("the calls that are being answered were made without thinking")
		}
	}
	forced := f.Req.GetToolChoice().GetMode() == genwayv1.ToolChoice_MODE_REQUIRED && len(f.Req.GetTools()) > 0
	switch {
	case forced && f.row.refuses(ForcedToolChoice):
		f.choose()
	case f.row.RefusesThinking == nil || !f.thinks():
	case forced && f.row.whileThinking(ForcedToolChoice) && f.row.Thinks == Always:
		f.choose()
	case forced && f.row.whileThinking(ForcedToolChoice):
		f.off("it does not do so where a tool must be called")
	case f.row.whileThinking(Prefill) && f.row.Thinks != Always && prefilled(f.Req):
		f.off("it does not do so where it continues an answer")
	}
}

// choose leaves it to the model whether it calls one of the tools that are demanded.
func (f *fitting) choose() {
	out := codec.Shared(f.Req.GetToolChoice())
	out.Mode = genwayv1.ToolChoice_MODE_AUTO
	out.AllowedList = len(out.GetNames()) > 0
	f.Own().ToolChoice = out
	f.lose("tool_choice", "the model cannot be made to call a tool; it chooses among those that were demanded")
}

// unthought reports whether a conversation ends with results of calls, alone or in one turn with what the user says after
// them, before which there is no thinking that the vendor of messages can verify.
func unthought(messages []*genwayv1.Message) bool {
	last := len(messages) - 1
	for last >= 0 && messages[last].GetRole() != genwayv1.Role_ROLE_ASSISTANT {
		last--
	}
	if !slices.ContainsFunc(messages[last+1:], func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool { return p.GetToolResult() != nil })
	}) {
		return false
	}
	for last > 0 && messages[last-1].GetRole() == genwayv1.Role_ROLE_ASSISTANT {
		last--
	}
	if last < 0 || len(messages[last].GetParts()) == 0 {
		return true
	}
	const protocol = genwayv1.Protocol_PROTOCOL_MESSAGES
	t := messages[last].GetParts()[0].GetThinking()
	return t.GetSignature().GetProtocol() != protocol && t.GetEncryptedContent().GetProtocol() != protocol
}
