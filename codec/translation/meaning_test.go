package translation

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// meaning is what a request says, one fact a line, without what protocols may
// spell differently: identifiers of turns, how turns are cut into messages, how
// JSON is spaced.
func meaning(r *codec.Request) string {
	var b strings.Builder
	var system []string
	last := ""
	for _, m := range r.GetMessages() {
		if m.GetRole() == genwayv1.Role_ROLE_SYSTEM || m.GetRole() == genwayv1.Role_ROLE_DEVELOPER {
			for _, p := range m.GetParts() {
				system = append(system, p.GetText().GetText())
			}
			continue
		}
		for _, p := range m.GetParts() {
			speaker := map[bool]string{true: "assistant", false: "user"}[m.GetRole() == genwayv1.Role_ROLE_ASSISTANT]
			if fact := factOf(p); fact != "" {
				if speaker != last {
					fmt.Fprintf(&b, "%s:\n", speaker)
					last = speaker
				}
				b.WriteString("  " + fact + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "system: %s\n", strings.Join(system, "\n"))
	for _, t := range r.GetTools() {
		if f := t.GetFunction(); f != nil {
			fmt.Fprintf(&b, "tool %s: %s %s\n", f.GetName(), f.GetDescription(), plain(f.GetParametersJson()))
		}
	}
	if c := r.GetToolChoice(); c != nil && c.GetMode() != genwayv1.ToolChoice_MODE_UNSPECIFIED {
		fmt.Fprintf(&b, "choice %v %v\n", c.GetMode(), c.GetNames())
	}
	if f := r.GetResponseFormat(); f != nil {
		fmt.Fprintf(&b, "format %v %s\n", f.GetKind(), plain(f.GetSchemaJson()))
	}
	if r.MaxOutputTokens != nil {
		fmt.Fprintf(&b, "max %d\n", r.GetMaxOutputTokens())
	}
	if s := r.GetSampling(); s.GetTemperature() != 0 {
		fmt.Fprintf(&b, "temperature %v\n", s.GetTemperature())
	}
	if stops := r.GetStopSequences(); len(stops) > 0 {
		fmt.Fprintf(&b, "stop %q\n", stops)
	}
	return b.String()
}

// factOf returns the fact of one part; empty when it says nothing another vendor could
// know.
func factOf(p *genwayv1.Part) string {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		if k.Text.GetText() == "" {
			return ""
		}
		return "says " + k.Text.GetText()
	case *genwayv1.Part_Refusal:
		return "says " + k.Refusal.GetText()
	case *genwayv1.Part_Image:
		return fmt.Sprintf("shows %s %d bytes %s", k.Image.GetMimeType(), len(k.Image.GetData()), k.Image.GetUrl())
	case *genwayv1.Part_ToolCall:
		return "calls " + k.ToolCall.GetName() + " " + plain(k.ToolCall.GetArgumentsJson())
	case *genwayv1.Part_ToolResult:
		var facts []string
		if k.ToolResult.ResultJson != nil {
			facts = append(facts, plain(k.ToolResult.GetResultJson()))
		}
		for _, inner := range k.ToolResult.GetParts() {
			facts = append(facts, strings.TrimPrefix(factOf(inner), "says "))
		}
		return "result " + strings.Join(facts, "; ")
	}
	return ""
}

// plain is JSON without its spacing.
func plain(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

// outcome is what an answer says, likewise. Text in pieces means the same as in one.
func outcome(r *genwayv1.GenerateTextResponse) string {
	var b strings.Builder
	for _, c := range r.GetCandidates() {
		var words, thoughts strings.Builder
		var calls []string
		for _, p := range c.GetParts() {
			switch k := p.GetKind().(type) {
			case *genwayv1.Part_Text:
				words.WriteString(k.Text.GetText())
			case *genwayv1.Part_Refusal:
				words.WriteString(k.Refusal.GetText())
			case *genwayv1.Part_Thinking:
				thoughts.WriteString(k.Thinking.GetText() + strings.Join(k.Thinking.GetSummary(), "\n\n"))
			case *genwayv1.Part_ToolCall:
				calls = append(calls, factOf(p))
			}
		}
		fmt.Fprintf(&b, "candidate %d: %s\n  thinks %s\n  %s\n  ends %v\n", c.GetIndex(), words.String(), thoughts.String(), strings.Join(calls, "\n  "), c.GetStopReason())
	}
	u := r.GetUsage()
	fmt.Fprintf(&b, "tokens %d in, %d out\n", u.GetInputTokens(), u.GetOutputTokens())
	return b.String()
}
