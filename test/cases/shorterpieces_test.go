package cases_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

const (
	wholeMessage   = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello world","annotations":[],"logprobs":[]}]}`
	wholeRefusal   = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"Hello world"}]}`
	wholeReasoning = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm hm"},{"type":"summary_text","text":"Hello world"}]}`
	wholeThoughts  = `{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"Hello world"}]}`
	wholeCall      = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","status":"completed","arguments":"{\"city\":\"Rome\"}"}`
)

// emptied is an item without its content, as it is when it begins.
var emptied = map[string]string{
	wholeMessage:   `{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}`,
	wholeRefusal:   `{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}`,
	wholeReasoning: `{"type":"reasoning","id":"rs_1","summary":[]}`,
	wholeThoughts:  `{"type":"reasoning","id":"rs_1","summary":[]}`,
	wholeCall:      `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","status":"in_progress","arguments":""}`,
}

// pieces are the deltas of an item.
func pieces(kind, member string, texts ...string) []string {
	var events []string
	for _, text := range texts {
		events = append(events, fmt.Sprintf(`{"type":"response.%s.delta","item_id":"x","output_index":0,%s"delta":%q}`, kind, member, text))
	}
	return events
}

// responseStream puts events between the beginning and the end of a stream whose response is output.
func responseStream(output string, events ...string) []string {
	list := append([]string{`{"type":"response.created","response":{"id":"resp_1","object":"response","created_at":7,"model":"m","status":"in_progress","output":[]}}`}, events...)
	return append(list, `{"type":"response.completed","response":{"id":"resp_1","object":"response","created_at":7,"model":"m","status":"completed","error":null,"incomplete_details":null,"output":[`+output+`],"usage":{"input_tokens":7,"output_tokens":9,"total_tokens":16}}}`)
}

// Case T58: where the pieces of an upstream of responses are less than the whole that it returns at
// the end of a text, a part, an item or the response, the rest is not lost: a stream says what the
// unary answer says.
func TestPiecesShorterThanTheWhole(t *testing.T) {
	for name, c := range map[string]struct {
		item   string
		deltas []string
		done   []string // the events that may have the whole, from the first to the last
	}{
		"text": {wholeMessage, pieces("output_text", `"content_index":0,`, "Hel", "lo"), []string{
			`{"type":"response.output_text.done","item_id":"x","output_index":0,"content_index":0,"text":"Hello world"}`,
			`{"type":"response.content_part.done","item_id":"x","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Hello world","annotations":[]}}`}},
		"refusal": {wholeRefusal, pieces("refusal", `"content_index":0,`, "Hel", "lo"), []string{
			`{"type":"response.refusal.done","item_id":"x","output_index":0,"content_index":0,"refusal":"Hello world"}`,
			`{"type":"response.content_part.done","item_id":"x","output_index":0,"content_index":0,"part":{"type":"refusal","refusal":"Hello world"}}`}},
		"summary": {wholeReasoning, append(pieces("reasoning_summary_text", `"summary_index":0,`, "Hm hm"), pieces("reasoning_summary_text", `"summary_index":1,`, "Hel")...), []string{
			`{"type":"response.reasoning_summary_text.done","item_id":"x","output_index":0,"summary_index":1,"text":"Hello world"}`,
			`{"type":"response.reasoning_summary_part.done","item_id":"x","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":"Hello world"}}`}},
		"reasoning": {wholeThoughts, pieces("reasoning_text", `"content_index":0,`, "Hel", "lo"), []string{
			`{"type":"response.reasoning_text.done","item_id":"x","output_index":0,"content_index":0,"text":"Hello world"}`}},
		"arguments": {wholeCall, pieces("function_call_arguments", ``, `{"city"`, `:`), []string{
			`{"type":"response.function_call_arguments.done","item_id":"x","output_index":0,"arguments":"{\"city\":\"Rome\"}"}`}},
		"no pieces": {wholeCall, nil, nil},
	} {
		for _, caller := range harness.Texts() {
			t.Run(name+" for "+string(caller), func(t *testing.T) {
				var want string
				said := func(streamed bool, output string, events ...string) {
					t.Helper()
					g := harness.New(t, harness.Config{})
					all := responseStream(output, events...)
					var a harness.Answer
					if streamed {
						g.Responses.Answer(fake.Stream(fake.Events(all...)...))
						a = g.Stream(caller, "responses/m", caller.Hello())
					} else {
						_, body, _ := strings.Cut(all[len(all)-1], `"response":`)
						g.Responses.Answer(fake.JSON(strings.TrimSuffix(body, "}")))
						a = g.Post(caller, "responses/m", caller.Hello())
					}
					if a.Status != http.StatusOK {
						t.Fatalf("%d %s", a.Status, a.Body)
					}
					if caller == harness.Responses || name == "refusal" && caller == harness.Chat {
						// It passes as it is; refusals are no text.
						return
					}
					got := transcript.Read(t, caller, a, streamed)
					if text := fmt.Sprintf("%q %q %q", got.Text, got.Thinking, got.Calls); !streamed {
						want = text
					} else if text != want {
						t.Errorf("of %q: %s, want %s", events, text, want)
					}
					if lost := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost"); lost != "" {
						t.Errorf("lost: %s", lost)
					}
				}
				said(false, c.item)
				added := `{"type":"response.output_item.added","output_index":0,"item":` + emptied[c.item] + `}`
				itemDone := func(item string) string {
					return `{"type":"response.output_item.done","output_index":0,"item":` + item + `}`
				}
				begin := append([]string{added}, c.deltas...)
				// The event that ends a text has the whole, and no later one does.
				for _, done := range c.done {
					said(true, "", append(slices.Clip(begin), done)...)
					said(true, emptied[c.item], append(slices.Clip(begin), done, itemDone(emptied[c.item]))...)
				}
				// All have it; the item has it; the response alone has it.
				said(true, c.item, append(append(slices.Clip(begin), c.done...), itemDone(c.item))...)
				said(true, "", append(slices.Clip(begin), itemDone(c.item))...)
				said(true, c.item, append(slices.Clip(begin), itemDone(emptied[c.item]))...)
				said(true, c.item, begin...)
				said(true, c.item, added, itemDone(emptied[c.item]))
				said(true, c.item)
			})
		}
	}
}

// What an upstream has streamed cannot be taken back: another text at the end is named as lost, and
// another call is a failure.
func TestPiecesOfAnotherWhole(t *testing.T) {
	for _, caller := range others(harness.Responses) {
		g := harness.New(t, harness.Config{})
		ask := func(output string, events ...string) harness.Answer {
			g.Responses.Answer(fake.Stream(fake.Events(responseStream(output, events...)...)...))
			return g.Stream(caller, "responses/m", caller.Hello())
		}
		added := `{"type":"response.output_item.added","output_index":0,"item":` + emptied[wholeMessage] + `}`
		a := ask(wholeMessage, append([]string{added}, pieces("output_text", `"content_index":0,`, "Good", "bye")...)...)
		if got := transcript.Read(t, caller, a, true); got.Text != "Goodbye" || !strings.Contains(a.Trailer.Get("X-Genway-Lost"), ".text") {
			t.Errorf("%s: %+v, lost %v", caller, got, a.Trailer)
		}
		added = `{"type":"response.output_item.added","output_index":0,"item":` + emptied[wholeCall] + `}`
		a = ask(wholeCall, append([]string{added}, pieces("function_call_arguments", ``, `{ "city": `, `"Rome" }`)...)...)
		if got := transcript.Read(t, caller, a, true); len(got.Calls) != 1 || strings.ReplaceAll(got.Calls[0].Arguments, " ", "") != `{"city":"Rome"}` {
			t.Errorf("%s: %+v", caller, got)
		}
		a = ask(wholeCall, append([]string{added}, pieces("function_call_arguments", ``, `{"city":`, `"Paris"}`)...)...)
		if a.Status == http.StatusOK {
			failsInBand(t, caller, a)
		} else {
			native(t, caller, a, http.StatusBadGateway)
		}
	}
}

// What is left of a text that another has followed stands behind that one, which is named. A
// response that says nothing is no answer, as in a unary one.
func TestPiecesOfAnEndedText(t *testing.T) {
	const two = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello ","annotations":[]},{"type":"output_text","text":"world","annotations":[]}]}`
	for _, caller := range others(harness.Responses) {
		g := harness.New(t, harness.Config{})
		events := append([]string{`{"type":"response.output_item.added","output_index":0,"item":` + emptied[wholeMessage] + `}`}, pieces("output_text", `"content_index":0,`, "Hel")...)
		events = append(events, pieces("output_text", `"content_index":1,`, "wor")...)
		events = append(events, `{"type":"response.output_item.done","output_index":0,"item":`+two+`}`)
		g.Responses.Answer(fake.Stream(fake.Events(responseStream(strings.Replace(two, "completed", "incomplete", 1), events...)...)...))
		a := g.Stream(caller, "responses/m", caller.Hello())
		if got := transcript.Read(t, caller, a, true); got.Text != "Helworldlo " || strings.Count(a.Trailer.Get("X-Genway-Lost"), ".text") != 1 {
			t.Errorf("%s: %+v, lost %v", caller, got, a.Trailer)
		}
		g.Responses.Answer(fake.Stream(fake.Events(`{"type":"response.completed","response":{}}`)...))
		native(t, caller, g.Stream(caller, "responses/m", caller.Hello()), http.StatusBadGateway)
	}
}

// An item that came before in another place, or under another identifier, is not given twice.
func TestItemsThatComeAgain(t *testing.T) {
	done := func(index int, item string) string {
		return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, index, item)
	}
	renamed := strings.NewReplacer("msg_1", "msg_9", "fc_1", "fc_9", "rs_1", "rs_9")
	for name, events := range map[string][]string{
		"the same":          responseStream(wholeMessage+","+wholeCall, done(0, wholeMessage), done(1, wholeCall)),
		"other identifiers": responseStream(renamed.Replace(wholeMessage+","+wholeCall), done(0, wholeMessage), done(1, wholeCall)),
		"other places":      responseStream(wholeMessage+","+wholeCall, done(3, wholeMessage), done(7, wholeCall)),
		"one place":         responseStream(wholeMessage+","+wholeCall, done(0, wholeMessage), done(0, wholeCall)),
		"one not again":     responseStream(wholeCall, done(0, wholeMessage), done(1, wholeCall)),
		"none again":        responseStream("", done(0, wholeMessage), done(1, wholeCall)),
	} {
		for _, caller := range others(harness.Responses) {
			g := harness.New(t, harness.Config{})
			g.Responses.Answer(fake.Stream(fake.Events(events...)...))
			got := transcript.Read(t, caller, g.Stream(caller, "responses/m", caller.Hello()), true)
			if got.Text != "Hello world" || len(got.Calls) != 1 || got.Calls[0].Name != "weather" {
				t.Errorf("%s for %s: %+v", name, caller, got)
			}
		}
	}
}

// A stream that passes through loses nothing, though most of its pieces are not decoded: only those
// that begin a run of them.
func TestPiecesThatPassThrough(t *testing.T) {
	const note = `{"type":"url_citation","start_index":0,"end_index":5,"url":"https://u","title":"T"}`
	said := pieces("output_text", `"content_index":0,`, "He", "l", "lo", " ", "wo", "rld")
	var events []string
	events = append(events, `{"type":"response.output_item.added","output_index":0,"item":`+emptied[wholeMessage]+`}`)
	events = append(events, said[:3]...)
	events = append(events, `{"type":"response.output_text.annotation.added","item_id":"x","output_index":0,"content_index":0,"annotation_index":0,"annotation":`+note+`}`)
	events = append(events, said[3:]...)
	events = append(events, `{"type":"response.output_text.done","item_id":"x","output_index":0,"content_index":0,"text":"Hello world"}`)
	whole := strings.Replace(wholeMessage, `"annotations":[]`, `"annotations":[`+note+`]`, 1)
	var stream strings.Builder
	for _, e := range responseStream(whole, events...) {
		fmt.Fprintf(&stream, "data: %s\n\n", e)
	}
	g := harness.New(t, harness.Config{})
	g.Responses.Answer(fake.Stream(fake.Bytes(stream.String())))
	a := g.Stream(harness.Responses, "responses/m", harness.Responses.Hello())
	if lost := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost"); a.Status != http.StatusOK || string(a.Body) != stream.String() || lost != "" {
		t.Errorf("%d, lost %q:\n%s", a.Status, lost, a.Body)
	}
}
