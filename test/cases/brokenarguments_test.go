package cases_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

func brokenArgumentCases() []Case {
	return []Case{
		{"X3", "arguments that are not one JSON object are carried as the text they are, or fail the call natively where the protocol takes objects alone or they end within an object, streamed as unary; they never become an empty object", func(t *testing.T) {
			t.Run("answers", brokenAnswers)
			t.Run("cut answers look cut", brokenButCut)
			t.Run("history", brokenHistory)
		}},
	}
}

// broken are arguments as models write them when it goes wrong.
var broken = map[string]string{
	"no JSON":       `city=Rome`,
	"an array":      `["Rome"]`,
	"a string":      `"Rome"`,
	"a number":      `7`,
	"null":          `null`,
	"two objects":   `{"q":1}{"q":1}`,
	"trailing":      `{"q":1} and so on`,
	"truncated":     `{"filter":"*.tmp`,
	"a name twice":  `{"path":"/tmp","path":"/"}`,
	"twice, inside": `{"a":{"path":"/tmp","path":"/"}}`,
	"too deep":      strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001),
}

func brokenAnswers(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.Chat, harness.Responses), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		for name, arguments := range broken {
			reply := answers.Text("hm").Then(answers.Tool("call_1", "delete_files", arguments))
			if !strings.Contains(name, "deep") {
				reply = reply.Then(answers.Tool("call_2", "now", `{}`))
			}
			for _, reply := range []answers.Reply{answers.Tool("call_1", "delete_files", arguments), reply} {
				w.Upstream(w.upstream).Answer(reply.Answer(w.upstream, w.streamed))
				a := w.ask(w.caller.Hello())
				switch {
				case name != "truncated" && (w.caller == harness.Chat || w.caller == harness.Responses):
					got := transcript.Read(t, w.caller, a, w.streamed)
					if len(got.Calls) == 0 || got.Calls[0].Arguments != arguments {
						t.Errorf("%s: calls %.200q", name, got.Calls)
					}
				case w.streamed && a.Status == http.StatusOK:
					if message := failsInBand(t, w.caller, a); !strings.Contains(message, `"delete_files"`) {
						t.Errorf("%s: %s", name, message)
					}
				default:
					if message := native(t, w.caller, a, http.StatusBadGateway); !strings.Contains(message, `"delete_files"`) {
						t.Errorf("%s: %s", name, message)
					}
				}
				if t.Failed() {
					t.Fatalf("%s: %.2000s", name, a.Body)
				}
			}
		}
	})
	// Blank arguments are none (T10).
	everyWay(t, harness.Texts(), only(harness.Chat), func(t *testing.T, w way) {
		if w.caller == harness.Messages || w.caller == harness.GenerateContent || w.caller == harness.Interactions {
			got := w.receive(t, answers.Tool("call_1", "now", " \n"))
			if len(got.Calls) != 1 || strings.TrimSpace(got.Calls[0].Arguments) != "{}" {
				t.Errorf("calls %q", got.Calls)
			}
		}
	})
	// What the messages upstream streams in pieces may be no object either.
	g := harness.New(t, harness.Config{})
	events := answers.Tool("call_1", "delete_files", `{"a":1`).Events(harness.Messages)
	g.Messages.Answer(fake.Stream(fake.Events(events...)...))
	a := g.Stream(harness.GenerateContent, "messages/m", harness.GenerateContent.Hello())
	if a.Status == http.StatusOK {
		failsInBand(t, harness.GenerateContent, a)
	}
}

func brokenButCut(t *testing.T) {
	everyWay(t, only(harness.Messages, harness.GenerateContent, harness.Interactions), only(harness.Chat, harness.Responses), func(t *testing.T, w way) {
		for name, arguments := range broken {
			w.Upstream(w.upstream).Answer(answers.Text("hm").Then(answers.Tool("call_1", "delete_files", arguments)).Cut().Answer(w.upstream, w.streamed))
			a := w.ask(w.caller.Hello())
			finishes(t, transcript.Read(t, w.caller, a, w.streamed), words[w.caller].truncated)
			if strings.Contains(string(a.Body), `"args":{}`) || !w.streamed && strings.Contains(string(a.Body), `"input":{}`) {
				t.Errorf("%s: an empty object: %.1000s", name, a.Body)
			}
			if !w.streamed && !strings.Contains(a.Header.Get("X-Genway-Lost"), ".tool_call") && !strings.Contains(a.Header.Get("X-Genway-Lost"), "content") {
				t.Errorf("%s: the call is lost without a word: %v", name, a.Header)
			}
		}
	})
}

// brokenHistory demands that a client can go on with a conversation in which it got such a
// call, and that the model sees what it wrote.
func brokenHistory(t *testing.T) {
	everyWay(t, only(harness.Chat, harness.Responses), only(harness.Messages, harness.GenerateContent, harness.Interactions), func(t *testing.T, w way) {
		for name, arguments := range broken {
			if name == "too deep" {
				continue
			}
			call := strings.Replace(requests.Call(w.caller, [3]string{"call_1", "delete_files", "ARGUMENTS"}), `"ARGUMENTS"`, strconv.Quote(arguments), 1)
			seen := w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "tidy up"), call, requests.Result(w.caller, "call_1", "delete_files", "no valid JSON")))
			where := "messages[1].content[0].input"
			switch w.upstream { //nolint:exhaustive // messages
			case harness.GenerateContent:
				where = "contents[1].parts[0].functionCall.args"
			case harness.Interactions:
				where = "input[1].arguments"
			}
			if got := seen.At(where + ".arguments_text").Text(); got != arguments {
				t.Errorf("%s: the upstream sees %s", name, seen.At(where).Raw)
			}
		}
	})
}
