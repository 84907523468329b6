package sandbox

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// conversation is a request's messages, sorted by what they are to the answer.
type conversation struct {
	// system are the texts of system and developer messages.
	system []*genwayv1.Message
	// earlier is the conversation up to and including the last answer.
	earlier []*genwayv1.Message
	// turn is what is to be answered: all that follows earlier.
	turn []*genwayv1.Message
	// resumed says that the last message is the assistant's, so that the answer goes
	// on from it.
	resumed bool
	// prefill is the text of that message.
	prefill string
	// prompts are the turn's texts, context blocks left aside.
	prompts []text
	// contexts are those blocks: texts inside a tag or between fences, as agents
	// add them (see isContext and fence).
	contexts []string
	// results are the turn's tool results.
	results []*genwayv1.ToolResult
	// calls are the tool calls of earlier turns by identifier.
	calls map[string]*genwayv1.ToolCall
}

// text is one text of the turn.
type text struct {
	string
	// message is the place of its message in the turn.
	message int
	// afterResult reports that a tool result precedes it in the turn.
	afterResult bool
}

// joined are texts as one.
func joined(texts []text) string {
	var lines []string
	for _, t := range texts {
		lines = append(lines, t.string)
	}
	return strings.Join(lines, "\n")
}

func read(messages []*genwayv1.Message) *conversation {
	c := &conversation{calls: map[string]*genwayv1.ToolCall{}}
	var turns []*genwayv1.Message
	for _, m := range messages {
		switch m.GetRole() {
		case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
			c.system = append(c.system, m)
		default:
			turns = append(turns, m)
		}
	}
	if n := len(turns); n > 0 && turns[n-1].GetRole() == genwayv1.Role_ROLE_ASSISTANT {
		c.resumed = true
		if begun := textOf(turns[n-1].GetParts()); begun != "" {
			c.prefill, turns = begun, turns[:n-1]
		}
	}
	from := len(turns)
	for from > 0 && turns[from-1].GetRole() != genwayv1.Role_ROLE_ASSISTANT {
		from--
	}
	c.earlier, c.turn = turns[:from], turns[from:]
	for _, m := range c.earlier {
		for _, p := range m.GetParts() {
			if call := p.GetToolCall(); call != nil {
				c.calls[call.GetId()] = call
			}
		}
	}
	for i, m := range c.turn {
		c.readTurn(i, m)
	}
	if n := len(c.contexts); n > 0 && len(c.prompts) == 0 && len(c.results) == 0 && !isFence(c.contexts[n-1]) {
		c.prompts, c.contexts = []text{{string: c.contexts[n-1]}}, c.contexts[:n-1]
	}
	return c
}

func (c *conversation) readTurn(i int, m *genwayv1.Message) {
	first, last := fenced(m.GetParts())
	for at, p := range m.GetParts() {
		if r := p.GetToolResult(); r != nil {
			c.results = append(c.results, r)
		}
		t := p.GetText().GetText()
		switch {
		case strings.TrimSpace(t) == "":
		case isContext(t) || first <= at && at <= last:
			c.contexts = append(c.contexts, t)
		default:
			c.prompts = append(c.prompts, text{t, i, len(c.results) > 0})
		}
	}
}

// prompt is all the turn asks in words.
func (c *conversation) prompt() string { return joined(c.prompts) }

// toolName names the tool a result belongs to.
func (c *conversation) toolName(r *genwayv1.ToolResult) string {
	if r.GetName() != "" {
		return r.GetName()
	}
	if call, ok := c.calls[r.GetToolCallId()]; ok {
		return call.GetName()
	}
	return r.GetToolCallId()
}

// isContext reports whether a text is one element by the looks of its first and last
// tag (<environment>…</environment>), or begins with a tag no markup has
// (<system-reminder>, <user_info>).
func isContext(t string) bool {
	t = strings.TrimSpace(t)
	rest, ok := strings.CutPrefix(t, "<")
	end := strings.IndexAny(rest, " >\n")
	if !ok || end <= 0 || rest[0] == '/' || rest[0] == '!' || rest[0] == '?' {
		return false
	}
	name := rest[:end]
	return strings.ContainsAny(name, "-_") || strings.HasSuffix(rest, "</"+name+">")
}

// fenced returns the places of the first and the last fence among parts, between which
// agents put what a prompt refers to; none is in reverse order.
func fenced(parts []*genwayv1.Part) (first, last int) {
	first, last = len(parts), -1
	for i, p := range parts {
		if isFence(p.GetText().GetText()) {
			first, last = min(first, i), i
		}
	}
	return first, last
}

// isFence reports whether a text is one line of the form
//
//	--- End of content ---
func isFence(t string) bool {
	t = strings.TrimSpace(t)
	const mark = "---"
	return len(t) > 2*len(mark) && strings.HasPrefix(t, mark) && strings.HasSuffix(t, mark) &&
		!strings.Contains(t, "\n") && strings.Trim(t, "- ") != ""
}

// textOf joins the texts and refusals among parts.
func textOf(parts []*genwayv1.Part) string {
	var texts []string
	for _, p := range parts {
		if t := p.GetText().GetText() + p.GetRefusal().GetText(); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}
