package cases_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

func foreignReasoning(t *testing.T) {
	// What one upstream has thought goes to another with the next turn.
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		for _, next := range others(w.upstream) {
			w.Upstream(w.upstream).Answer(w.signed())
			received := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
			then := w
			then.upstream = next
			seen := then.again(t, received, requests.User(w.caller, "and?"))
			count(t, seen, signature, 0)
			count(t, seen, "genway.", 0)
			count(t, seen, "Z2Vud2F5", 0) // the same in base64
			count(t, seen, "hello", 1)
			if next == harness.Messages || next == harness.Responses {
				count(t, seen, `"type":"thinking"`, 0)
				count(t, seen, `"type":"reasoning"`, 0)
				count(t, seen, "First I think", 0)
			}
		}
	})
	// Unsigned reasoning: kept for those that do not verify.
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		from := w
		from.upstream = harness.Chat
		received := from.receive(t, answers.Think(thought, "").Then(answers.Text("hello")))
		seen := w.again(t, received, requests.User(w.caller, "and?"))
		switch w.upstream {
		case harness.Chat:
			seen.At("messages[1].reasoning_content").Is(t, strconv.Quote(thought))
		case harness.Messages, harness.Responses:
			count(t, seen, thought, 0)
			count(t, seen, `_gw`, 0) // names of ours for items without one
		case harness.Interactions:
			seen.At("input[1]").Is(t, `{"type":"thought","summary":[{"type":"text","text":`+strconv.Quote(thought)+`}]}`)
		default: // sent as a thought, which is not verified without a signature
			count(t, seen, `"thought":true`, 1)
		}
		count(t, seen, "hello", 1)
	})
}

func reasoningReplay(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(w.signed())
		received := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
		if received.Thinking != thought || received.Text != "hello" || len(received.Signatures) == 0 {
			t.Fatalf("received %+v", received)
		}
		seen := w.again(t, received, requests.User(w.caller, "and?"))
		quoted, sealed := strconv.Quote(thought), strconv.Quote(signature)
		switch w.upstream {
		case harness.Chat:
			seen.At("messages[1].reasoning_content").Is(t, quoted)
			seen.At("messages[1].reasoning_details[-1].signature").Is(t, sealed)
			seen.At("messages[1].content").Is(t, `"hello"`)
		case harness.Responses:
			seen.At("input[1].type").Is(t, `"reasoning"`)
			seen.At("input[1].summary[0].text").Is(t, quoted)
			seen.At("input[1].encrypted_content").Is(t, sealed)
		case harness.Messages:
			seen.At("messages[1].content[0]").Is(t, `{"type":"thinking","thinking":`+quoted+`,"signature":`+sealed+`}`)
			seen.At("messages[1].content[1].text").Is(t, `"hello"`)
		case harness.Interactions:
			seen.At("input[1]").Is(t, `{"type":"thought","signature":`+sealed+`,"summary":[{"type":"text","text":`+quoted+`}]}`)
			seen.At("input[2].content[0].text").Is(t, `"hello"`)
		default:
			seen.At("contents[1].parts[0].text").Is(t, quoted)
			seen.At("contents[1].parts[0].thought").Is(t, "true")
			seen.At("contents[1].parts[0].thoughtSignature").Is(t, sealed)
		}
		count(t, seen, signature, 1)
	})
}

func effortWords(t *testing.T) {
	where := map[harness.Protocol]string{harness.Chat: "reasoning_effort", harness.Responses: "reasoning.effort", harness.Messages: "output_config.effort", harness.GenerateContent: "generationConfig.thinkingConfig.thinkingLevel", harness.Interactions: "generation_config.thinking_level"}
	body := map[harness.Protocol]string{harness.Chat: `"reasoning_effort":%q`, harness.Responses: `"reasoning":{"effort":%q}`, harness.Messages: `"output_config":{"effort":%q}`, harness.GenerateContent: `"generationConfig":{"thinkingConfig":{"thinkingLevel":%q}}`, harness.Interactions: `"generation_config":{"thinking_level":%q}`}
	highest := map[harness.Protocol]string{harness.GenerateContent: "HIGH", harness.Interactions: "xhigh"} // of which SDK's words stop there
	for _, effort := range []string{"xhigh", "max", "word_of_tomorrow"} {
		everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
			spelled := func(p harness.Protocol) string {
				if p == harness.GenerateContent {
					return strings.ToUpper(effort)
				}
				return effort
			}
			w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
			a := w.ask(requests.Body(w.caller, []string{fmt.Sprintf(body[w.caller], spelled(w.caller))}, requests.User(w.caller, "hi")))
			if a.Status != 200 {
				t.Fatalf("status %d: %s", a.Status, a.Body)
			}
			got := parse(t, w.Upstream(w.upstream).Last(t).Body).At(where[w.upstream])
			lost := a.Header.Get("X-Genway-Lost")
			if got.Text() == spelled(w.upstream) && !strings.Contains(lost, "thinking") || got.Text() == highest[w.upstream] && strings.Contains(lost, where[w.caller]) {
				return
			}
			t.Errorf("effort %s, lost %q, want %s", got.Raw, lost, spelled(w.upstream))
		})
	}
}
