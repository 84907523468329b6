package cases_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/google/go-cmp/cmp"
)

func countedCases() []Case {
	return []Case{
		{"M10", "results of the vendor's own tools (toolUsePromptTokenCount) are input, for callers of every protocol and in the books", toolUseIsInput},
		{"M11", "a complete answer without usage is counted and marked as estimated, unary and streamed, passed through and translated", uncounted},
		{"M12", "figures that cannot be true, below 0 or of 9e18 tokens, are rejected and replaced by an estimate; a caller of the same protocol gets the upstream's own", absurdFigures},
		{"M20", "an answer that broke off before its usage came is booked by what was seen of it, with its prompt, and marked as estimated: when the caller left, the upstream cut it or failed, or the time was over; an upstream that refused charges nothing, and an input of 0 that was reported stays 0", func(t *testing.T) {
			brokenOff(t)
			t.Run("reported zero", reportedZero)
		}},
		{"M21", "a caller that sees the end of a stream has its request in the ledger: the row is written before any word that ends the answer goes out, passed through and translated, also while the upstream lingers", endsAreBooked},
		{"M22", "what is billed beside the totals of usage is booked for callers of each protocol, unary and streamed: a compaction, calls of hosted tools, the tier that served, writes to a cache by their time, and reasoning beside the completion", billedBeside},
		{"N78", "an upstream's figure beyond all numbers is rejected as one below 0 is, and a status beyond 599 is an upstream's failure of 502, for callers of each protocol", beyondNumbers},
	}
}

// booked demands one line of the core's log, and returns what it says of usage.
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
		case harness.Interactions:
			bill.At("total_input_tokens").Is(t, "11")
			bill.At("total_tool_use_tokens").Is(t, "100")
			bill.At("total_tokens").Is(t, "118")
		case harness.Images:
		}
		w.logs(t, 111, 7, 0, 4)
	})
}

// sentence is seven tokens of o200k_base.
const sentence = "Nobody counts what is said here."

// usageMember is the member of an answer that has its usage, up to its value.
var usageMember = map[harness.Protocol]string{harness.Chat: "usage", harness.Responses: "usage", harness.Messages: "usage", harness.GenerateContent: "usageMetadata", harness.Interactions: "usage"}

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
	harness.Interactions:    {`{"total_input_tokens":9000000000000000000,"total_tool_use_tokens":9000000000000000000,"total_output_tokens":7}`, `{"total_input_tokens":-11,"total_output_tokens":7}`},
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

// brokenOff has answers end in every way before their usage is there.
func brokenOff(t *testing.T) {
	text := strings.Repeat(sentence+" ", 40)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for _, to := range harness.Texts() {
		begun := fake.Events(answers.Text(text).Events(to)[:preambles[to]+2]...)
		hang := fake.Stream(fake.Wait(never))
		hang.Hold = never
		seen := int64(len(text) / 3)
		for name, c := range map[string]struct {
			answer  fake.Answer
			unary   bool
			leaves  string // the caller leaves once it has seen that
			refused bool
			output  int64
			outcome books.Outcome
		}{
			"left":                          {answer: then(begun, fake.Wait(never)), leaves: "here. ", output: seen, outcome: books.Cancelled},
			"cut":                           {answer: then(begun, fake.Cut()), output: seen, outcome: books.Failed},
			"ended early":                   {answer: then(begun), output: seen, outcome: books.Failed},
			"failed":                        {answer: then(begun, fake.Events(sorry[to])...), output: seen, outcome: books.Failed},
			"late":                          {answer: then(begun, fake.Wait(never)), output: seen, outcome: books.Failed},
			"cut before its first event":    {answer: then(nil, fake.Bytes(": \n\n"), fake.Cut()), outcome: books.Failed},
			"late before its head":          {answer: hang, outcome: books.Failed},
			"unary, late before its head":   {answer: hang, unary: true, outcome: books.Failed},
			"unary, cut":                    {answer: fake.Answer{Header: map[string]string{"Content-Type": "application/json"}, Steps: []fake.Step{fake.Bytes(`{"id":`), fake.Cut()}}, unary: true, outcome: books.Failed},
			"refused":                       {answer: fake.Refusal(http.StatusBadRequest, refusals[to]), refused: true, outcome: books.Failed},
			"refused by its first event":    {answer: fake.Stream(fake.Events(sorry[to])...), refused: true, outcome: books.Failed},
			"unary, refused within a 200":   {answer: fake.JSON(refusals[to]), unary: true, refused: true, outcome: books.Failed},
			"unary, a page of some website": {answer: fake.Answer{Header: map[string]string{"Content-Type": "text/html"}, Steps: []fake.Step{fake.Bytes("<html>")}}, unary: true, refused: true, outcome: books.Failed},
		} {
			for _, caller := range harness.Texts() {
				t.Run(string(caller)+" over "+string(to)+", "+name, func(t *testing.T) {
					recorder, rows := newBook(t)
					limit := time.Minute
					if strings.Contains(name, "late") {
						limit = 200 * time.Millisecond
					}
					g := harness.New(t, harness.Config{Ledger: recorder, Wrap: func(all upstream.Upstream) upstream.Upstream {
						return route.New([]route.Route{{Model: "m", Deadline: limit, Targets: []route.Target{{
							Name: "u", Upstream: all, Protocol: to.ID(), Model: string(to) + "/m", Guard: route.NewGuard(route.Limits{Retries: -1}),
						}}}})
					}})
					g.Upstream(to).Answer(c.answer)
					if c.leaves == "" {
						g.Call(harness.CallOf(caller, "m", caller.Hello(), !c.unary))
					} else {
						readUntil(t, g, harness.CallOf(caller, "m", caller.Hello(), true), func(seen string) bool { return strings.Count(seen, c.leaves) == 40 }, func() {})
					}
					got, want := settled(t, rows, 1).Result, books.Usage{Input: 1, Output: c.output}
					source := books.Estimated
					switch {
					case c.refused:
						want, source = books.Usage{}, books.Reported
					case to == harness.Messages && c.output > 0:
						want.Input = 11 // as it was reported
					}
					if got.Outcome != c.outcome || got.Usage != want || got.UsageSource != source {
						t.Errorf("%s, %+v %q, want %+v %q", got.Outcome, got.Usage, got.UsageSource, want, source)
					}
				})
			}
		}
	}
}

// endWords are the words by which each protocol's streams end.
var endWords = map[harness.Protocol][]string{
	harness.Chat:            {`"finish_reason":"stop"`, "[DONE]"},
	harness.Responses:       {`"response.completed"`},
	harness.Messages:        {`"stop_reason":"end_turn"`, `"message_stop"`},
	harness.GenerateContent: {`"finishReason":"STOP"`},
	harness.Interactions:    {`"interaction.completed"`},
}

// endsAreBooked has upstreams linger after their answers.
func endsAreBooked(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if !w.streamed {
			return
		}
		recorder, rows := newBookOf(t, books.Config{Wait: true})
		w.Gateway = harness.New(t, harness.Config{Ledger: recorder, Remote: func(c *remote.Config) { c.Grace = 100 * time.Millisecond }})
		w.Upstream(w.upstream).Answer(then(fake.Events(answers.Text("fine").Events(w.upstream)...), fake.Wait(never)))
		stream := w.Open(t.Context(), w.caller, w.model(), w.caller.Hello())
		ended := 0
		for frame, ok := stream.Next(); ok; frame, ok = stream.Next() {
			if !slices.ContainsFunc(endWords[w.caller], func(word string) bool { return strings.Contains(frame.Data, word) }) {
				continue
			}
			ended++
			for row, err := range rows.Entries(t.Context(), time.Time{}) {
				if err != nil || row.Outcome != books.OK || row.Usage.Output != 7 {
					t.Errorf("%v; the caller has %s, and the row is %+v", err, frame.Data, row.Result)
				}
			}
		}
		if ended < len(endWords[w.caller]) {
			t.Errorf("%d words that end the answer, want %q", ended, endWords[w.caller])
		}
	})
}

// reportedZero has a stream report an input of 0 and break off.
func reportedZero(t *testing.T) {
	for _, caller := range harness.Texts() {
		recorder, rows := newBook(t)
		g := harness.New(t, harness.Config{Ledger: recorder})
		events := billedEvents(t, harness.Messages, `{"input_tokens":0,"output_tokens":0}`, usageLast)
		g.Messages.Answer(then(fake.Events(events[:preambles[harness.Messages]+2]...), fake.Cut()))
		g.Stream(caller, "messages/m", caller.Hello())
		if got := settled(t, rows, 1); got.Usage != (books.Usage{Output: 1}) || got.UsageSource != books.Estimated {
			t.Errorf("%s: %+v %q", caller, got.Usage, got.UsageSource)
		}
	}
}

// beside are usages that bill more than their totals say, with what is booked.
var beside = map[harness.Protocol]struct {
	usage   string
	booked  books.Usage
	charges []books.Charge
}{
	harness.Messages: {
		`{"input_tokens":11,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":7},"output_tokens":7,"iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":3500},{"type":"message","input_tokens":11,"cache_creation_input_tokens":9,"output_tokens":7}],"server_tool_use":{"web_search_requests":2},"service_tier":"priority"}`,
		books.Usage{Input: 180020, Output: 3507, CacheWrite: 9, CacheWrite1h: 7, ToolCalls: 2},
		[]books.Charge{
			{Terms: books.Terms{ServiceTier: "priority"}, Calls: map[string]int64{"web_search": 2}, Usage: books.Usage{Input: 20, Output: 7, CacheWrite: 9, CacheWrite1h: 7, ToolCalls: 2}},
			{Terms: books.Terms{ServiceTier: "priority"}, Kind: "compaction", Usage: books.Usage{Input: 180000, Output: 3500}},
		},
	},
	harness.Chat: {
		`{"prompt_tokens":12,"completion_tokens":1,"total_tokens":399,"completion_tokens_details":{"reasoning_tokens":386}}`,
		books.Usage{Input: 12, Output: 387, Thinking: 386},
		[]books.Charge{{Usage: books.Usage{Input: 12, Output: 387, Thinking: 386}}},
	},
}

func billedBeside(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.Messages, harness.Chat), func(t *testing.T, w way) {
		want := beside[w.upstream]
		recorder, rows := newBook(t)
		w.Gateway = harness.New(t, harness.Config{Ledger: recorder})
		w.Upstream(w.upstream).Answer(billing(t, w.upstream, want.usage, w.streamed))
		if a := w.ask(w.caller.Hello()); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		row := settled(t, rows, 1)
		charges, err := books.ParseCharges(row)
		if err != nil || row.Usage != want.booked || !row.Unpriced || len(charges) != len(want.charges) {
			t.Fatalf("%+v, %v", row.Result, err)
		}
		for i, got := range charges {
			c := want.charges[i]
			c.Upstream, c.Model, c.Unpriced = got.Upstream, got.Model, true
			if diff := cmp.Diff(c, got); diff != "" {
				t.Errorf("charge %d (-want +got):\n%s", i, diff)
			}
		}
	})
}
