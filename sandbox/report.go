package sandbox

import (
	"fmt"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// report collects the lines of a reply. The first repeats the turn's texts (or the
// tool results, one line each), and each further one stands only when there is
// something to report:
//
//	You said: "What is my name?"
//	Answer begun: "Your name"
//	image: image/png, 68 bytes, 1x1 pixels, detail low
//	Context: 2 blocks: "<system-reminder>…" | "<environment>…"
//	system: "Be brief."
//	Earlier turns: 2
//	- user (ada): "My name is Ada."
//	- assistant: "Hello Ada."
//	Tools offered: get_weather, grammar (custom), web_search (hosted, not called)
//	Tool choice: none
//	Thinking: effort high, budget_tokens 1024
//	Options: temperature 0.5, max_output_tokens 100, stop_sequences 1 (4 characters)
//	Metadata: trace=7
//	Cache marks: 2
//	Signatures: 1 of the sandbox accepted, 1 foreign
//	Also given: logit_bias, messages[1].parts[0].foo
//	Candidate 2 of 3.
//
// Stop sequences are counted, not repeated, since the report itself would be cut.
type report struct{ lines []string }

func (r *report) addf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *report) String() string { return strings.Join(r.lines, "\n") }

// turn lists what the turn consists of.
func (r *report) turn(c *conversation, opening string) {
	for _, result := range c.results {
		r.result(c.toolName(result), result)
	}
	if prompt := c.prompt(); prompt != "" {
		r.addf("%s: %s", opening, quote(prompt, longestPrompt))
	}
	if len(r.lines) == 0 {
		r.addf("%s nothing in words.", opening)
	}
	if c.prefill != "" {
		r.addf("Answer begun: %s", excerpt(c.prefill))
	}
	for _, m := range c.turn {
		for _, p := range m.GetParts() {
			switch p.GetKind().(type) {
			case *genwayv1.Part_Text, *genwayv1.Part_ToolResult:
			default:
				r.addf("%s", describe(p))
			}
		}
	}
}

func (r *report) result(name string, result *genwayv1.ToolResult) {
	verb := "returned"
	if result.GetIsError() {
		verb = "failed"
	}
	var given []string
	if result.ResultJson != nil {
		given = append(given, quote(result.GetResultJson(), longestResult))
	}
	for _, p := range result.GetParts() {
		if t := p.GetText(); t != nil {
			given = append(given, quote(t.GetText(), longestResult))
			continue
		}
		given = append(given, describe(p))
	}
	if given == nil {
		given = []string{"nothing"}
	}
	r.addf("The tool %s %s: %s", clip(name, 200), verb, strings.Join(given, " | "))
}

// past lists what the conversation has before the turn.
func (r *report) past(c *conversation) {
	if len(c.contexts) > 0 {
		var blocks []string
		for _, b := range c.contexts {
			blocks = append(blocks, excerpt(b))
		}
		r.addf("Context: %s: %s", count(len(blocks), "block"), strings.Join(blocks, " | "))
	}
	for _, m := range c.system {
		r.addf("%s: %s", speaker(m), summary(m))
	}
	if len(c.earlier) == 0 {
		return
	}
	r.addf("Earlier turns: %d", len(c.earlier))
	from := max(0, len(c.earlier)-maxTurns)
	if from > 0 {
		r.addf("- … %s", count(from, "turn"))
	}
	for _, m := range c.earlier[from:] {
		r.addf("- %s: %s", speaker(m), summary(m))
	}
}

// maxTurns is how many earlier turns are listed one by one.
const maxTurns = 20

func speaker(m *genwayv1.Message) string {
	word := enumWord(m.GetRole().String(), "ROLE_")
	if m.GetNativeRole() != "" {
		word = clip(m.GetNativeRole(), 60)
	}
	if m.GetName() != "" {
		word += " (" + clip(m.GetName(), 60) + ")"
	}
	return word
}

func summary(m *genwayv1.Message) string {
	var parts []string
	for _, p := range m.GetParts() {
		parts = append(parts, describe(p))
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " | ")
}
