package remote

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// gatherResults gives the messages with all results of one turn's tool calls in the message right
// after it, in the order of the calls, however the caller's protocol distributes them: vendors refuse
// results in separate turns (case T17). A call without a result gets none. The messages of the
// argument are not changed.
func gatherResults(messages []*genwayv1.Message) []*genwayv1.Message {
	var out []*genwayv1.Message
	order := map[string]int{}
	for i := 0; i < len(messages); {
		m := messages[i]
		if m.GetRole() == genwayv1.Role_ROLE_ASSISTANT {
			order = callOrder(m)
		}
		end := i + 1
		for gatherable(m) && end < len(messages) && gatherable(messages[end]) {
			end++
		}
		if gatherable(m) {
			m = gathered(messages[i:end], order)
		}
		out = append(out, m)
		i = end
	}
	return out
}

// gatherable reports whether a message has tool results and nothing that
// requires a message of its own.
func gatherable(m *genwayv1.Message) bool {
	if m.GetRole() != genwayv1.Role_ROLE_TOOL && m.GetRole() != genwayv1.Role_ROLE_USER || m.GetName() != "" || len(m.GetNativeFields()) > 0 {
		return false
	}
	return slices.ContainsFunc(m.GetParts(), isResult)
}

func isResult(p *genwayv1.Part) bool { return p.GetToolResult() != nil }

func callOrder(m *genwayv1.Message) map[string]int {
	order := map[string]int{}
	for _, p := range m.GetParts() {
		if call := p.GetToolCall(); call != nil {
			order[call.GetId()] = len(order)
		}
	}
	return order
}

// gathered is one message of all: results first, then the other parts.
func gathered(all []*genwayv1.Message, order map[string]int) *genwayv1.Message {
	var results, rest []*genwayv1.Part
	for _, m := range all {
		for _, p := range m.GetParts() {
			if isResult(p) {
				results = append(results, p)
			} else {
				rest = append(rest, p)
			}
		}
	}
	place := func(p *genwayv1.Part) int {
		if n, ok := order[p.GetToolResult().GetToolCallId()]; ok {
			return n
		}
		return len(order)
	}
	slices.SortStableFunc(results, func(a, b *genwayv1.Part) int { return place(a) - place(b) })
	return &genwayv1.Message{Role: all[0].GetRole(), Parts: append(results, rest...), NativeRole: all[0].GetNativeRole()}
}
