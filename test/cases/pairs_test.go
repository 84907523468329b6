package cases_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
)

func pairCases() []Case {
	return []Case{
		{"X4", "generateContent's calls and results are linked by name and order where an identifier is left out, on the call, on the result or on both", pairs},
	}
}

func pairs(t *testing.T) {
	call := func(name, id string) string {
		if id != "" {
			id = fmt.Sprintf(`"id":%q,`, id)
		}
		return fmt.Sprintf(`{"functionCall":{%s"name":%q,"args":{}}}`, id, name)
	}
	result := func(name, id, output string) string {
		if id != "" {
			id = fmt.Sprintf(`"id":%q,`, id)
		}
		return fmt.Sprintf(`{"functionResponse":{%s"name":%q,"response":{"output":%q}}}`, id, name, output)
	}
	body := func(calls, results []string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[` + strings.Join(calls, ",") + `]},{"role":"user","parts":[` + strings.Join(results, ",") + `]}]}`
	}
	for name, c := range map[string]struct {
		calls, results []string
		// ids says which call, by its place, a result answers, by what it says.
		ids map[string]int
	}{
		"on the calls":   {[]string{call("a", "1"), call("b", "2"), call("a", "3")}, []string{result("b", "", "b"), result("a", "", "first"), result("a", "", "second")}, map[string]int{"b": 1, "first": 0, "second": 2}},
		"on the results": {[]string{call("a", ""), call("b", ""), call("a", "")}, []string{result("a", "7", "first"), result("b", "8", "b"), result("a", "9", "second")}, map[string]int{"b": 1, "first": 0, "second": 2}},
		"on neither":     {[]string{call("a", ""), call("b", ""), call("a", "")}, []string{result("a", "", "first"), result("a", "", "second"), result("b", "", "b")}, map[string]int{"b": 1, "first": 0, "second": 2}},
		"on some":        {[]string{call("a", "1"), call("a", ""), call("a", "3")}, []string{result("a", "3", "third"), result("a", "", "first"), result("a", "5", "second")}, map[string]int{"third": 2, "first": 0, "second": 1}},
		"one call":       {[]string{call("a", "1")}, []string{result("a", "", "first")}, map[string]int{"first": 0}},
	} {
		for _, upstream := range others(harness.GenerateContent) {
			t.Run(name+" over "+string(upstream), func(t *testing.T) {
				g := harness.New(t, harness.Config{})
				g.Upstream(upstream).Answer(answers.Text("fine").Answer(upstream, false))
				if a := g.Post(harness.GenerateContent, string(upstream)+"/m", body(c.calls, c.results)); a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				calls, results := linked(t, upstream, g.Upstream(upstream).Last(t).Body)
				if len(calls) != len(c.calls) || len(results) != len(c.results) {
					t.Fatalf("calls %q, results %q", calls, results)
				}
				for output, n := range c.ids {
					if results[output] == "" || results[output] != calls[n] {
						t.Errorf("%s answers %q, want %q", output, results[output], calls[n])
					}
				}
			})
		}
	}
}

// linked returns the identifiers of the calls in a request, in their order, and of the
// results by what they say.
func linked(t *testing.T, p harness.Protocol, body []byte) (calls []string, results map[string]string) {
	t.Helper()
	results = map[string]string{}
	doc := parse(t, body)
	switch p {
	case harness.Responses:
		for _, item := range doc.At("input").List() {
			switch item.At("type").Text() {
			case "function_call":
				calls = append(calls, item.At("call_id").Text())
			case "function_call_output":
				results[item.At("output").Text()] = item.At("call_id").Text()
			}
		}
	case harness.Messages:
		for _, m := range doc.At("messages").List() {
			for _, b := range m.At("content").List() {
				switch b.At("type").Text() {
				case "tool_use":
					calls = append(calls, b.At("id").Text())
				case "tool_result":
					results[textIn(b.At("content"))] = b.At("tool_use_id").Text()
				}
			}
		}
	case harness.Interactions:
		for _, step := range doc.At("input").List() {
			switch step.At("type").Text() {
			case "function_call":
				calls = append(calls, step.At("id").Text())
			case "function_result":
				results[textIn(step.At("result"))] = step.At("call_id").Text()
			}
		}
	default:
		for _, m := range doc.At("messages").List() {
			if m.At("tool_calls").Exists() {
				for _, c := range m.At("tool_calls").List() {
					calls = append(calls, c.At("id").Text())
				}
			}
			if m.At("role").Text() == "tool" {
				results[textIn(m.At("content"))] = m.At("tool_call_id").Text()
			}
		}
	}
	return calls, results
}

// textIn is the text of content, as a string or as one block.
func textIn(content probeValue) string {
	if strings.HasPrefix(string(content.Raw), "[") {
		return content.At("[0].text").Text()
	}
	return content.Text()
}
