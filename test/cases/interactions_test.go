package cases_test

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

// ofInteraction makes a call about an interaction that is stored.
func ofInteraction(method, path string) harness.Call {
	call := harness.CallOf(harness.Interactions, "m", "{}", false)
	call.Method, call.Path, call.Body = method, "/v1beta/interactions/"+path, ""
	return call
}

// storedInteraction demands an answer with an interaction that is stored, and returns its identifier.
func storedInteraction(t *testing.T, a harness.Answer, streamed bool) string {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	of := a.JSON
	if streamed {
		of = func() probe.Value { return a.Frames()[0].JSON().At("interaction") }
	}
	id := of().At("id").Text()
	if !strings.HasPrefix(id, "v1_gw") {
		t.Fatalf("the interaction is called %q: %s", id, a.Body)
	}
	return id
}

// What an upstream of another protocol answers is stored: it is fetched, continued, streamed again and deleted, at each core,
// by the key that made it alone.
func TestInteractionsAreStored(t *testing.T) {
	db := opened(t)
	made, _ := accounted(t, db, nil)
	other, _ := accounted(t, db, nil)
	for _, upstream := range others(harness.Interactions) {
		for _, streamed := range []bool{false, true} {
			t.Run(string(upstream)+" streamed "+strconv.FormatBool(streamed), func(t *testing.T) {
				w := way{Gateway: made, caller: harness.Interactions, upstream: upstream, streamed: streamed}
				made.Upstream(upstream).Answer(answers.Text("The first.").Answer(upstream, streamed))
				first := storedInteraction(t, w.ask(`{"input":"one"}`), streamed)
				fetch := func(id string) harness.Answer { // it is written behind the answer
					t.Helper()
					a := other.Call(ofInteraction(http.MethodGet, id))
					for deadline := time.Now().Add(20 * time.Second); a.Status == http.StatusNotFound && time.Now().Before(deadline); {
						a = other.Call(ofInteraction(http.MethodGet, id))
					}
					return a
				}
				if a := fetch(first); a.JSON().At("steps[0].content[0].text").Text() != "The first." || a.JSON().At("status").Text() != "completed" {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				// Two turns more, of each form of an input.
				at := way{Gateway: other, caller: harness.Interactions, upstream: upstream, streamed: streamed}
				other.Upstream(upstream).Answer(answers.Text("The second.").Answer(upstream, streamed))
				second := storedInteraction(t, at.ask(`{"previous_interaction_id":"`+first+`","input":[{"type":"text","text":"two"}]}`), streamed)
				if a := fetch(second); a.JSON().At("previous_interaction_id").Text() != first {
					t.Errorf("%s", a.Body)
				}
				other.Upstream(upstream).Answer(answers.Text("The third.").Answer(upstream, streamed))
				third := storedInteraction(t, at.ask(`{"previous_interaction_id":"`+second+`","input":{"type":"text","text":"three"}}`), streamed)
				seen, place := string(other.Upstream(upstream).Last(t).Body), 0
				for _, said := range []string{"one", "The first.", "two", "The second.", "three"} {
					found := strings.Index(seen[place:], `"`+said+`"`)
					if found < 0 {
						t.Fatalf("%s is not in its place in %s", said, seen)
					}
					place += found
				}
				// Its events, from the start and after one.
				all := other.Call(ofInteraction(http.MethodGet, third+"?stream=true")).Frames()
				rest := other.Call(ofInteraction(http.MethodGet, third+"?stream=true&last_event_id=1")).Frames()
				shown := func(frames []harness.Frame) (list []string) {
					for _, f := range frames {
						if f.Data != "" {
							list = append(list, f.Event+" "+f.Data)
						}
					}
					return list
				}
				if got, want := shown(rest), shown(all)[2:]; !slices.Equal(got, want) || !strings.Contains(got[0], `"event_id":"2"`) || got[len(got)-1] != "done [DONE]" {
					t.Errorf("%q, not %q", got, want)
				}
				for _, after := range []string{"99", "9223372036854775807"} {
					// The status is 400, unless the store took so long that the stream has begun.
					if a := other.Call(ofInteraction(http.MethodGet, third+"?stream=true&last_event_id="+after)); !strings.Contains(string(a.Body), `"message":"last_event_id: `) {
						t.Errorf("%d %s", a.Status, a.Body)
					}
				}
				// Deleted at one core, it is nowhere.
				if a := made.Call(ofInteraction(http.MethodDelete, third)); a.Status != http.StatusOK || string(a.Body) != "{}" {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				for _, c := range []harness.Call{
					ofInteraction(http.MethodGet, third), ofInteraction(http.MethodGet, third+"?stream=true"), ofInteraction(http.MethodDelete, third), ofInteraction(http.MethodPost, third+"/cancel"),
					ofInteraction(http.MethodGet, "v1_gw"), ofInteraction(http.MethodGet, "resp_gw"+third[5:]),
				} {
					native(t, harness.Interactions, other.Call(c), http.StatusNotFound)
				}
				if message := native(t, harness.Interactions, made.Post(harness.Interactions, string(upstream)+"/m", `{"previous_interaction_id":"`+third+`","input":"four"}`), http.StatusNotFound); !strings.Contains(message, "previous_interaction_id") {
					t.Error(message)
				}
			})
		}
	}
	for query, status := range map[string]int{"?last_event_id=1": 400, "?stream=x": 400, "?stream=true&last_event_id=-1": 400, "?stream=true&last_event_id=a": 400} {
		native(t, harness.Interactions, made.Call(ofInteraction(http.MethodGet, "v1_gw"+strings.Repeat("0", 32)+query)), status)
	}
	made.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	if a := made.Post(harness.Interactions, "chat/m", `{"input":"one","store":false}`); strings.HasPrefix(a.JSON().At("id").Text(), "v1_gw") {
		t.Errorf("stored against its will: %s", a.Body)
	}
}

// A key of both groups finds what it has stored by its own protocol alone: the other has no words for what a conversation is made
// of.
func TestStoredAnswersAreOfOneProtocol(t *testing.T) {
	g, _ := accounted(t, opened(t), nil)
	const both = "chat,generatecontent"
	type protocol struct {
		caller, other   harness.Protocol
		paths, previous string
	}
	made := map[harness.Protocol]string{}
	protocols := []protocol{
		{caller: harness.Responses, paths: "/v1/responses/", previous: "previous_response_id", other: harness.Interactions},
		{caller: harness.Interactions, paths: "/v1beta/interactions/", previous: "previous_interaction_id", other: harness.Responses},
	}
	call := func(p protocol, method, path, body string) harness.Answer {
		c := harness.CallOf(p.caller, "chat/m", body, false)
		c.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + both}}
		if p.caller == harness.Interactions {
			c.Header = http.Header{"Content-Type": {"application/json"}, "X-Goog-Api-Key": {both}}
		}
		if c.Method = method; path != "" {
			c.Path, c.Body = p.paths+path, ""
		}
		return g.Call(c)
	}
	for _, p := range protocols {
		g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
		a := call(p, http.MethodPost, "", `{"input":"one"}`)
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		made[p.caller] = a.JSON().At("id").Text()
		for deadline := time.Now().Add(20 * time.Second); call(p, http.MethodGet, made[p.caller], "").Status == http.StatusNotFound && time.Now().Before(deadline); {
		} // it is written behind the answer
	}
	for _, p := range protocols {
		id := made[p.other]
		for _, c := range [][2]string{{http.MethodGet, id}, {http.MethodGet, id + "?stream=true"}, {http.MethodPost, id + "/cancel"}, {http.MethodDelete, id}} {
			native(t, p.caller, call(p, c[0], c[1], ""), http.StatusNotFound)
		}
		a := call(p, http.MethodPost, "", `{"`+p.previous+`":"`+id+`","input":"two"}`)
		if message := native(t, p.caller, a, a.Status); a.Status == http.StatusOK || !strings.Contains(message, id) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	for _, p := range protocols {
		if a := call(p, http.MethodGet, made[p.caller], ""); a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
}

// An interaction in the background is asked for until it has ended, followed from any event on, and cancelled.
func TestInteractionsInTheBackground(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	until := func(t *testing.T, id, status string) harness.Answer {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			a := g.Call(ofInteraction(http.MethodGet, id))
			if a.Status != http.StatusOK || time.Now().After(deadline) {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if a.JSON().At("status").Text() == status {
				return a
			}
		}
	}
	// begin asks again while those that have ended have not given back their places.
	begin := func(upstream harness.Protocol, streamed bool) (a harness.Answer) {
		w := way{Gateway: g, caller: harness.Interactions, upstream: upstream, streamed: streamed}
		for deadline := time.Now().Add(20 * time.Second); ; {
			if a = w.ask(`{"background":true,"input":"the question"}`); a.Status != http.StatusTooManyRequests || time.Now().After(deadline) {
				return a
			}
		}
	}
	for _, upstream := range harness.Texts() {
		t.Run(string(upstream), func(t *testing.T) {
			hold := make(chan struct{})
			slow := answers.Text("The answer.").Answer(upstream, false)
			slow.Hold = hold
			g.Upstream(upstream).Answer(slow)
			begun := begin(upstream, false)
			id := storedInteraction(t, begun, false)
			if status := begun.JSON().At("status").Text(); status != "in_progress" {
				t.Errorf("it is %s", status)
			}
			close(hold)
			if a := until(t, id, "completed"); a.JSON().At("steps[0].content[0].text").Text() != "The answer." || a.JSON().At("usage.total_output_tokens").Int() != 7 {
				t.Errorf("%s", a.Body)
			}
			native(t, harness.Interactions, g.Call(ofInteraction(http.MethodPost, strings.Replace(id, "v1_gw", "v1_xx", 1)+"/cancel")), http.StatusNotFound)

			// Cancelled while the upstream thinks.
			never := answers.Text("Never.").Answer(upstream, false)
			never.Hold = make(chan struct{})
			g.Upstream(upstream).Answer(never)
			asked := len(g.Upstream(upstream).Requests())
			id = storedInteraction(t, begin(upstream, false), false)
			for deadline := time.Now().Add(20 * time.Second); len(g.Upstream(upstream).Requests()) == asked && time.Now().Before(deadline); {
				runtime.Gosched()
			}
			if a := g.Call(ofInteraction(http.MethodPost, id+"/cancel")); a.Status != http.StatusOK || a.JSON().At("status").Text() != "cancelled" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			until(t, id, "cancelled")

			// Failed.
			g.Upstream(upstream).Answer(fake.Refusal(400, refusals[upstream]))
			id = storedInteraction(t, begin(upstream, false), false)
			if a := until(t, id, "failed"); a.JSON().At("errors[0].message").Text() != "not today" {
				t.Errorf("%s", a.Body)
			}

			// Streamed: what one has seen, the next goes on from.
			g.Upstream(upstream).Answer(answers.Text("The answer.").Answer(upstream, true))
			frames := begin(upstream, true).Frames()
			id = frames[0].JSON().At("interaction.id").Text()
			last := frames[len(frames)-2].JSON()
			if frames[len(frames)-1].Data != "[DONE]" || last.At("interaction.status").Text() != "completed" || last.At("interaction.usage.total_output_tokens").Int() != 7 {
				t.Errorf("it ends with %s", last.Raw)
			}
			again := g.Call(ofInteraction(http.MethodGet, id+"?stream=true&last_event_id=0")).Frames()
			var got []string
			for _, f := range again {
				if f.Data != "" {
					got = append(got, f.Data)
				}
			}
			if len(got) != len(frames)-1 || got[0] != frames[1].Data || got[len(got)-1] != "[DONE]" {
				t.Errorf("%q after %q", got, frames[0].Data)
			}
		})
	}
	native(t, harness.Interactions, g.Post(harness.Interactions, "chat/m", `{"background":true,"store":false,"input":"x"}`), http.StatusBadRequest)
}
