package cases_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

func countedCases() []Case {
	return []Case{
		{"M10", "results of the vendor's own tools (toolUsePromptTokenCount) are input, for callers of every protocol and in the books", toolUseIsInput},
		{"M11", "a complete answer without usage is counted and marked as estimated, unary and streamed, passed through and translated", uncounted},
		{"M12", "figures that cannot be true, below 0 or of 9e18 tokens, are rejected and replaced by an estimate; a caller of the same protocol gets the upstream's own", absurdFigures},
		{"N78", "an upstream's figure beyond all numbers is rejected as one below 0 is, and a status beyond 599 is an upstream's failure of 502, for callers of each protocol", beyondNumbers},
	}
}

// booked demands one line of the core's log, and gives what it says of usage.
func (w way) booked(t *testing.T) (line string) {
	t.Helper()
	lines := regexp.MustCompile(`msg=call .*`).FindAllString(w.Log(), -1)
	if len(lines) != 1 {
		t.Fatalf("want one line, got %q", lines)
	}
	return lines[0]
}

func toolUseIsInput(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.GenerateContent), func(t *testing.T, w way) {
		bill := w.billed(t, `{"promptTokenCount":11,"candidatesTokenCount":3,"thoughtsTokenCount":4,"toolUsePromptTokenCount":100,"totalTokenCount":118}`)
		switch w.caller {
		case harness.Chat:
			bill.At("prompt_tokens").Is(t, "111")
			bill.At("total_tokens").Is(t, "118")
		case harness.Responses:
			bill.At("input_tokens").Is(t, "111")
			bill.At("total_tokens").Is(t, "118")
		case harness.Messages:
			bill.At("input_tokens").Is(t, "111")
		case harness.GenerateContent:
			bill.At("promptTokenCount").Is(t, "11")
			bill.At("toolUsePromptTokenCount").Is(t, "100")
			bill.At("totalTokenCount").Is(t, "118")
		case harness.Images:
		}
		w.logs(t, 111, 7, 0, 4)
	})
}

// sentence is seven tokens of o200k_base.
const sentence = "Nobody counts what is said here."

// usageMember is the member of an answer that has its usage, up to its value.
var usageMember = map[harness.Protocol]string{harness.Chat: "usage", harness.Responses: "usage", harness.Messages: "usage", harness.GenerateContent: "usageMetadata"}

// without takes the usage out of an answer or an event.
func without(p harness.Protocol, text string) string {
	member := `"` + usageMember[p] + `":`
	for _, usage := range []string{reportedUsage[p], usageLast} {
		text = strings.ReplaceAll(text, ","+member+usage, "")
		text = strings.ReplaceAll(text, member+usage+",", "")
	}
	return text
}

func uncounted(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		p := w.upstream
		if w.streamed {
			var events []string
			for _, ev := range answers.Text(sentence).Events(p) {
				if ev = without(p, ev); !strings.Contains(ev, `"choices":[]`) {
					events = append(events, ev)
				}
			}
			w.Upstream(p).Answer(fake.Stream(fake.Events(events...)...))
		} else {
			w.Upstream(p).Answer(fake.JSON(without(p, answers.Text(sentence).Body(p))))
		}
		if a := w.ask(w.caller.Hello()); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		line := w.booked(t)
		var input, output int
		figures := regexp.MustCompile(`input_tokens=\d+ output_tokens=\d+`).FindString(line)
		if _, err := fmt.Sscanf(figures, "input_tokens=%d output_tokens=%d", &input, &output); err != nil {
			t.Fatal(err, line)
		}
		if input < 1 || input > 20 || output < 6 || output > 9 || !strings.Contains(line, "usage_source=estimated") {
			t.Errorf("%d in, %d out: %s", input, output, line)
		}
	})
}

// absurd are usages that cannot be true.
var absurd = map[harness.Protocol][]string{
	harness.Chat:            {`{"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000,"total_tokens":1}`, `{"prompt_tokens":11,"completion_tokens":-7,"total_tokens":4}`},
	harness.Responses:       {`{"input_tokens":9000000000000000000,"output_tokens":9000000000000000000,"total_tokens":1}`, `{"input_tokens":11,"output_tokens":-7,"total_tokens":4}`},
	harness.Messages:        {`{"input_tokens":9000000000000000000,"cache_read_input_tokens":9000000000000000000,"output_tokens":7}`, `{"input_tokens":-11,"output_tokens":-7}`},
	harness.GenerateContent: {`{"promptTokenCount":9000000000000000000,"toolUsePromptTokenCount":9000000000000000000,"candidatesTokenCount":7}`, `{"promptTokenCount":-11,"candidatesTokenCount":7}`},
}

func absurdFigures(t *testing.T) {
	for i, name := range []string{"9e18", "below 0"} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
				w.Upstream(w.upstream).Answer(billing(t, w.upstream, absurd[w.upstream][i], w.streamed))
				a := w.askForBill()
				if a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				if shown := strings.Contains(string(a.Body), absurd[w.upstream][i]); shown != (w.caller == w.upstream) {
					t.Errorf("the caller got %s", a.Body)
				}
				if strings.Contains(string(a.Body), "9000000000000000000") && w.caller != w.upstream {
					t.Errorf("the figure is translated: %s", a.Body)
				}
				if line := w.booked(t); !strings.Contains(line, "usage_source=rejected") || !strings.Contains(line, "output_tokens=1 ") {
					t.Errorf("%s", line)
				}
			})
		})
	}
}

func beyondNumbers(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller != w.upstream { // an answer that cannot be read is not translated
			return
		}
		for _, n := range []string{"9223372036854775808", "1e40", "-1e999"} {
			usage := strings.ReplaceAll(absurd[w.upstream][0], "9000000000000000000", n)
			w.Upstream(w.upstream).Answer(billing(t, w.upstream, usage, w.streamed))
			if a := w.askForBill(); a.Status != 200 || !strings.Contains(string(a.Body), usage) {
				t.Fatalf("%s: %d %s", n, a.Status, a.Body)
			}
			lines := regexp.MustCompile(`msg=call .*`).FindAllString(w.Log(), -1)
			if last := lines[len(lines)-1]; !strings.Contains(last, "usage_source=rejected") || !strings.Contains(last, "output_tokens=1 ") || strings.Contains(last, " input_tokens=0") {
				t.Errorf("%s: %s", n, last)
			}
		}
		w.Upstream(w.upstream).Answer(fake.Refusal(999, `{"error":{"message":"beyond"}}`))
		if a := w.askForBill(); a.Status != 502 {
			t.Errorf("a status of 999 gives %d %s", a.Status, a.Body)
		}
	})
}
