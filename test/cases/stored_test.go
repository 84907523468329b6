package cases_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// about makes a call about a response that is stored.
func about(g *harness.Gateway, method, path string) harness.Answer {
	call := harness.CallOf(harness.Responses, "responses/m", "{}", false)
	call.Method, call.Path, call.Body = method, "/v1/responses/"+path, ""
	return g.Call(call)
}

// responseOf returns the response object of an answer; of a stream, the last event's.
func responseOf(t *testing.T, a harness.Answer, streamed bool) string {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	if !streamed {
		return string(a.Body)
	}
	frames := a.Frames()
	return string(parse(t, []byte(frames[len(frames)-1].Data)).At("response").Raw)
}

// missing demands the vendor's answer for a response that is not there.
func missing(t *testing.T, g *harness.Gateway, id string) {
	t.Helper()
	for _, c := range [][2]string{{http.MethodGet, id}, {http.MethodDelete, id}, {http.MethodGet, id + "/input_items"}} {
		a := about(g, c[0], c[1])
		want := fmt.Sprintf(`{"error":{"message":"Response with id '%s' not found.","type":"invalid_request_error","param":null,"code":null}}`, id)
		if a.Status != http.StatusNotFound || string(a.Body) != want {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.Status, a.Body)
		}
	}
}

func stored(t *testing.T) {
	location := newFile(t)
	db, err := store.Open(t.Context(), store.Config{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, upstream := range others(harness.Responses) {
		for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
			t.Run(string(upstream)+" "+name, func(t *testing.T) { storedWay(t, db, upstream, streamed) })
		}
	}
	t.Run("upstreams", func(t *testing.T) { storedByUpstream(t, db) })
	t.Run("store", func(t *testing.T) { storeMember(t, db) })
	t.Run("query", func(t *testing.T) { storedQuery(t, db) })
	holdsNone(t, location, "The first answer.", "the first question", "be brief", "some_label")
}

// storedByUpstream continues what an upstream has stored: for the key that it was made for, and for no other.
func storedByUpstream(t *testing.T, db *store.Store) {
	for n, streamed := range []bool{false, true} {
		first, written := kept(t, db, nil)
		second, _ := kept(t, db, nil)
		other, _ := kept(t, db, otherKey{})
		w := way{Gateway: first, caller: harness.Responses, upstream: harness.Responses, streamed: streamed}
		reply := func(g *harness.Gateway, id string) {
			named := func(text string) string { return strings.ReplaceAll(text, `"resp_1"`, `"`+id+`"`) }
			answer := fake.JSON(named(answers.Text("fine").Body(harness.Responses)))
			if streamed {
				events := answers.Text("fine").Events(harness.Responses)
				for i := range events {
					events[i] = named(events[i])
				}
				answer = fake.Stream(fake.Events(events...)...)
			}
			g.Upstream(harness.Responses).Answer(answer)
		}
		id := fmt.Sprintf("resp_of_the_upstream_%d", n)
		reply(first, id)
		body := responseOf(t, w.ask(`{"input":"q"}`), streamed)
		if got := parse(t, []byte(body)).At("id").Text(); got != id {
			t.Fatalf("%s", body)
		}
		written()
		for _, g := range []*harness.Gateway{first, second} {
			on := way{Gateway: g, caller: harness.Responses, upstream: harness.Responses, streamed: streamed}
			if seen := string(on.sees(t, `{"previous_response_id":"`+id+`","input":"hi"}`).Raw); !strings.Contains(seen, `"previous_response_id":"`+id+`"`) {
				t.Errorf("the upstream sees %s", seen)
			}
		}
		asked := len(other.Upstream(harness.Responses).Requests())
		notContinued(t, other, harness.Responses, id)
		if now := len(other.Upstream(harness.Responses).Requests()); now != asked {
			t.Error("the upstream was asked for another key")
		}
		upstream := first.Upstream(harness.Responses)
		call := func(method, path, answer string, status int, sees string) {
			t.Helper()
			upstream.Answer(fake.Refusal(status, answer))
			a := about(first, method, path)
			last := upstream.Last(t)
			if seen := last.Method + " " + last.Path; seen != sees || len(last.Body) > 0 {
				t.Errorf("the upstream sees %s %s, not %s", seen, last.Body, sees)
			}
			if method == http.MethodDelete {
				answer = `{"id":"` + id + `","object":"response","deleted":true}`
			}
			if a.Status != status || string(a.Body) != answer {
				t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
			}
		}
		at := "/v1/responses/" + id
		call("GET", id, `{ "id":"`+id+`","status":"in_progress","output":[],"unknown":[1] }`, 200, "GET "+at)
		call("GET", id+"/input_items?limit=7&after=a&order=asc", `{"object":"list","data":[{"id":"msg_1","type":"message","x":1}],"first_id":"msg_1","last_id":"msg_1","has_more":true}`, 200, "GET "+at+"/input_items?after=a&limit=7&order=asc")
		call("POST", id+"/cancel", `{"error":{"message":"Cannot cancel.","type":"invalid_request_error","param":null,"code":null}}`, 400, "POST "+at+"/cancel")
		call("DELETE", id, `{"id":"`+id+`","object":"response","deleted":true}`, 200, "DELETE "+at)
		call("GET", id, `{"error":{"message":"Gone.","type":"invalid_request_error","param":null,"code":null}}`, 404, "GET "+at)
		native(t, harness.Responses, about(first, http.MethodGet, id+"?stream=true"), 400)
		missing(t, other, id)
		native(t, harness.Responses, about(other, http.MethodPost, id+"/cancel"), 404)
		if now := len(other.Upstream(harness.Responses).Requests()); now != asked {
			t.Error("the upstream was asked for another key")
		}
		// What was made without this server is the upstream's to know.
		if seen := string(w.sees(t, `{"previous_response_id":"resp_made_elsewhere","input":"hi"}`).Raw); !strings.Contains(seen, `"resp_made_elsewhere"`) {
			t.Errorf("the upstream sees %s", seen)
		}
	}
}

func storedWay(t *testing.T, db *store.Store, upstream harness.Protocol, streamed bool) {
	first, written := kept(t, db, nil)
	second, _ := kept(t, db, nil)
	other, _ := kept(t, db, otherKey{})
	w := way{Gateway: first, caller: harness.Responses, upstream: upstream, streamed: streamed}
	reply := func(g *harness.Gateway, text string) {
		g.Upstream(upstream).Answer(answers.Reply{Parts: []answers.Part{{Text: text}}}.Answer(upstream, streamed))
	}
	reply(first, "The first answer.")
	created := responseOf(t, w.ask(`{"instructions":"be brief","metadata":{"some_label":"1"},"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}],
		"input":"the first question"}`), streamed)
	response := parse(t, []byte(created))
	id := response.At("id").Text()
	if len(id) > 64 || !strings.HasPrefix(id, "resp_") || string(response.At("store").Raw) != "true" {
		t.Fatalf("%s", created)
	}
	if a := about(first, http.MethodGet, id+"?include[]=message.output_text.logprobs"); a.Status != http.StatusOK || string(a.Body) != created {
		t.Errorf("fetched\n%s\ncreated\n%s", a.Body, created)
	}
	// The second turn has the first before it, and not its instructions.
	reply(first, "The second answer.")
	next := parse(t, []byte(responseOf(t, w.ask(`{"previous_response_id":"`+id+`","input":[{"role":"user","content":"the second question"}]}`), streamed)))
	if got := next.At("previous_response_id").Text(); got != id {
		t.Errorf("previous_response_id is %q", got)
	}
	// Mistakes are named by the caller's own positions.
	if a := w.ask(`{"previous_response_id":"` + id + `","input":[{"role":"user","content":"hi"},{"role":"astronaut","content":"hi"}]}`); a.Status != http.StatusBadRequest || !strings.HasPrefix(a.JSON().At("error").At("param").Text(), "input[1]") {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	requests := first.Upstream(upstream).Requests()
	inOrder(t, string(requests[len(requests)-1].Body), "the first question", "The first answer.", "the second question")
	if body := string(requests[len(requests)-1].Body); strings.Contains(body, "be brief") {
		t.Errorf("the instructions of the first turn were sent: %s", body)
	}
	written()
	if a := about(second, http.MethodGet, id); a.Status != http.StatusOK || string(a.Body) != created {
		t.Errorf("another core\n%s\ncreated\n%s", a.Body, created)
	}
	listed := about(second, http.MethodGet, id+"/input_items").JSON()
	if item := listed.At("data").List(); len(item) != 1 || item[0].At("content").List()[0].At("text").Text() != "the first question" || item[0].At("id").Text() == "" || string(listed.At("has_more").Raw) != "false" {
		t.Errorf("%s", listed.Raw)
	}
	reply(second, "The third answer.")
	w.Gateway = second
	responseOf(t, w.ask(`{"previous_response_id":"`+next.At("id").Text()+`","input":"the third question"}`), streamed)
	requests = second.Upstream(upstream).Requests()
	inOrder(t, string(requests[len(requests)-1].Body), "the first question", "The first answer.", "the second question", "The second answer.", "the third question")
	// An upstream of the caller's own protocol gets the conversation as well.
	own := way{Gateway: second, caller: harness.Responses, upstream: harness.Responses, streamed: streamed}
	seen := string(own.sees(t, `{"previous_response_id":"`+id+`","input":"the second question"}`).Raw)
	inOrder(t, seen, "the first question", "The first answer.", "the second question")
	if strings.Contains(seen, "previous_response_id") || strings.Contains(seen, "_gw") {
		t.Errorf("the upstream sees %s", seen)
	}
	missing(t, other, id)
	guess := id[:len(id)-1] + "0"
	if guess == id {
		guess = id[:len(id)-1] + "1"
	}
	// It may be another Genway, which has what this one has not.
	if seen := string(own.sees(t, `{"previous_response_id":"`+guess+`","input":"hi"}`).Raw); !strings.Contains(seen, `"`+guess+`"`) {
		t.Errorf("the upstream sees %s", seen)
	}
	for _, id := range []string{guess, "resp_none", "resp_gw", strings.ToUpper(id)} {
		missing(t, second, id)
	}
	notContinued(t, other, upstream, id)
	if a := about(second, http.MethodDelete, id); a.Status != http.StatusOK || string(a.Body) != `{"id":"`+id+`","object":"response","deleted":true}` {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	// Both cores know that it is gone, and nothing goes on from what came after it.
	for _, g := range []*harness.Gateway{first, second} {
		missing(t, g, id)
		notContinued(t, g, upstream, id)
		a := g.Post(harness.Responses, string(upstream)+"/m", `{"previous_response_id":"`+next.At("id").Text()+`","input":"hi"}`)
		if message := native(t, harness.Responses, a, 400); message != "Previous response with id '"+id+"' not found." {
			t.Errorf("%s", a.Body)
		}
	}
	if a := about(second, http.MethodGet, next.At("id").Text()); a.Status != http.StatusOK {
		t.Errorf("the second response: %d %s", a.Status, a.Body)
	}
}

// notContinued demands the vendor's refusal of a request that continues a response that is not there.
func notContinued(t *testing.T, g *harness.Gateway, upstream harness.Protocol, id string) {
	t.Helper()
	before := len(g.Upstream(upstream).Requests())
	a := g.Post(harness.Responses, string(upstream)+"/m", `{"previous_response_id":"`+id+`","input":"hi"}`)
	want := `{"error":{"message":"Previous response with id '` + id + `' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`
	if a.Status != http.StatusBadRequest || string(a.Body) != want || len(g.Upstream(upstream).Requests()) != before {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found || strings.Count(text, part) != 1 {
			t.Errorf("%q is not once, in its order, in %s", part, text)
			return
		}
		rest = after
	}
}

// storeMember sends store in each of its forms.
func storeMember(t *testing.T, db *store.Store) {
	g, _ := kept(t, db, nil)
	w := way{Gateway: g, caller: harness.Responses, upstream: harness.Chat}
	for _, c := range []struct {
		member string
		stored bool
	}{{``, true}, {`,"store":null`, true}, {`,"store":true`, true}, {`,"store":false`, false}} {
		for _, streamed := range []bool{false, true} {
			w.streamed = streamed
			w.Upstream(harness.Chat).Answer(answers.Text("fine").Answer(harness.Chat, streamed))
			response := responseOf(t, w.ask(`{"input":"hi"`+c.member+`}`), streamed)
			id := parse(t, []byte(response)).At("id").Text()
			if got := string(parse(t, []byte(response)).At("store").Raw); got != strconv.FormatBool(c.stored) {
				t.Errorf("%s: store is %s", c.member, got)
			}
			if a := about(g, http.MethodGet, id); c.stored && string(a.Body) != response || !c.stored && a.Status != http.StatusNotFound {
				t.Errorf("%s: %d %s", c.member, a.Status, a.Body)
			}
		}
	}
	if a := w.ask(`{"input":"hi","store":"yes"}`); a.Status != http.StatusBadRequest {
		t.Errorf("store of another type: %d", a.Status)
	}
	// What fails leaves nothing, and neither does what is too large.
	w.streamed = false
	w.Upstream(harness.Chat).Answer(answers.Text("fine").Answer(harness.Chat, false))
	large := responseOf(t, w.ask(`{"input":"`+strings.Repeat("x", 5<<20)+`"}`), false)
	if response := parse(t, []byte(large)); string(response.At("store").Raw) != "false" || about(g, http.MethodGet, response.At("id").Text()).Status != http.StatusNotFound {
		t.Errorf("%.500s", large)
	}
}

// storedQuery pages through an input, and sends parameters that are not taken.
func storedQuery(t *testing.T, db *store.Store) {
	g, _ := kept(t, db, nil)
	w := way{Gateway: g, caller: harness.Responses, upstream: harness.Chat}
	w.Upstream(harness.Chat).Answer(answers.Text("fine").Answer(harness.Chat, false))
	id := parse(t, []byte(responseOf(t, w.ask(`{"input":[{"role":"user","content":"0"},{"role":"assistant","content":"1"},{"type":"message","id":"msg_own","role":"user","content":[{"type":"input_text","text":"2"}]},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"4"}]}`), false))).At("id").Text()
	var types []string
	after := ""
	for page := 0; ; page++ {
		list := about(g, http.MethodGet, id+"/input_items?order=asc&limit=2"+after).JSON()
		items := list.At("data").List()
		for _, item := range items {
			types = append(types, item.At("type").Text()+" "+item.At("role").Text())
			if item.At("id").Text() == "" {
				t.Errorf("%s", item.Raw)
			}
		}
		if list.At("object").Text() != "list" || list.At("first_id").Text() != items[0].At("id").Text() || list.At("last_id").Text() != items[len(items)-1].At("id").Text() {
			t.Errorf("%s", list.Raw)
		}
		if string(list.At("has_more").Raw) == "false" || page > 5 {
			break
		}
		after = "&after=" + list.At("last_id").Text()
	}
	if got, want := strings.Join(types, ","), "message user,message assistant,message user,function_call ,function_call_output "; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if list := about(g, http.MethodGet, id+"/input_items").JSON().At("data").List(); len(list) != 5 || list[2].At("id").Text() != "msg_own" || list[0].At("type").Text() != "function_call_output" {
		t.Errorf("%v", list)
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=101", "limit=x", "limit=9223372036854775808", "limit=%2b1", "limit=1&limit=2", "order=asc&order=desc", "after=a&after=b", "order=up", "order=asc;limit=1", "limit=%zz", "before=msg_own", "after=msg_unknown"} {
		native(t, harness.Responses, about(g, http.MethodGet, id+"/input_items?"+query), 400)
	}
	for _, query := range []string{"stream=1", "stream=TRUE", "stream=true&stream=true", "starting_after=3", "stream=false&starting_after=3", "stream=true&starting_after=-1", "stream=true&starting_after=x", "stream=true&starting_after=",
		"stream=true&starting_after=1.0", "stream=true&starting_after=9223372036854775807", "stream=true&starting_after=9223372036854775808", "stream=true&starting_after=9007199254740993", "stream=true&starting_after=1&starting_after=2", "stream=true&starting_after=1;2", "stream=%zz", "stream=true;starting_after=1"} {
		native(t, harness.Responses, about(g, http.MethodGet, id+"?"+query), 400)
	}
	native(t, harness.Responses, about(g, http.MethodPost, id+"/cancel"), 400)
	native(t, harness.Responses, about(g, http.MethodPut, id), 405)
	native(t, harness.Responses, about(g, http.MethodDelete, id+"/input_items"), 405)
	native(t, harness.Responses, about(g, http.MethodGet, strings.Repeat("x", 4000)), 404)
	native(t, harness.Responses, about(g, http.MethodGet, "%00%ff"), 404)
}
