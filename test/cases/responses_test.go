package cases_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

// responsesCases are the cases of clients that speak the responses protocol.
func responsesCases() []Case {
	return []Case{
		{"C1", "without stored responses, one that runs in the background is refused by name at every upstream; what cancels one says that it is not offered, and so does what retrieves or deletes one where none is stored", background},
		{"C2", "references to items of earlier answers resolve at every core that shares the store, for the key they were given to; the store has no text of them", references},
		{"C3", "a conversation is compacted by upstreams of every protocol: a trigger is answered by one compaction item, which stands for the conversation later on", compaction},
		{"C4", "a response that Genway stores is fetched as it was answered, streamed or not, at every core that shares the store, continued by previous_response_id, and deleted, by the key it was made for alone; to all others it is not found; so is one that an upstream stores, which is asked with the credential that made it", stored},
		{"C6", "a response in the background is queued at once and fetched at every core that shares the store until it has ended, runs once, is settled whether anyone asks or not, and is cancelled, deleted or failed with its reason; a key has a bounded number of them; one that is streamed goes on when its caller leaves, and its events are followed from each number on at every core, the same each time", inBackground},
	}
}

func background(t *testing.T) {
	everyWay(t, only(harness.Responses), harness.Texts(), func(t *testing.T, w way) {
		for _, value := range []string{`true`, `"true"`, `1`, `{}`} {
			a := w.ask(`{"input":"hi","background":` + value + `}`)
			if message := native(t, harness.Responses, a, 400); !strings.Contains(message, "background") || a.JSON().At("error.param").Text() != "background" {
				t.Errorf("%s: %s", value, a.Body)
			}
		}
		if a := w.ask(`{"input":"hi","b\u0061ckground":true}`); a.Status != 400 {
			t.Errorf("with an escape: %d", a.Status)
		}
		if asked := w.Upstream(w.upstream).Requests(); len(asked) != 0 {
			t.Errorf("the upstream was asked: %s", asked[0].Body)
		}
		for _, value := range []string{`false`, `null`} {
			w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
			if a := w.ask(`{"input":"hi","background":` + value + `}`); a.Status != 200 {
				t.Errorf("%s: %d %s", value, a.Status, a.Body)
			}
		}
	})
	g := harness.New(t, harness.Config{})
	for _, c := range []struct{ method, path string }{
		{http.MethodGet, "/v1/responses/resp_1"},
		{http.MethodDelete, "/v1/responses/resp_1"},
		{http.MethodPost, "/v1/responses/resp_1/cancel"},
		{http.MethodGet, "/v1/responses/resp_1/input_items?limit=5"},
	} {
		call := harness.CallOf(harness.Responses, "responses/m", harness.Responses.Hello(), false)
		call.Method, call.Path = c.method, c.path
		if message := native(t, harness.Responses, g.Call(call), 404); !strings.Contains(message, "not offered by this server") {
			t.Errorf("%s %s: %s", c.method, c.path, message)
		}
	}
}

// kept is a gateway that keeps items in a store. The items that it has kept are in the store when written
// returns, and it keeps none after that.
func kept(t *testing.T, db *store.Store, callers auth.Keys) (g *harness.Gateway, written func()) {
	t.Helper()
	keeper := items.New(items.Config{Store: db.Items(), Keep: time.Hour})
	written = sync.OnceFunc(keeper.Close)
	t.Cleanup(written)
	return harness.New(t, harness.Config{Items: keeper, Keys: callers}), written
}

// otherKey takes every key for the same key of the group chat, which no other test has.
type otherKey struct{}

func (otherKey) Authenticate(context.Context, string) (keys.Principal, error) {
	return keys.Principal{KeyID: "key_other", Group: keys.GroupChat}, nil
}

// references sends what the AI SDK sends: for items that it was given reasoning and text as
// references, calls in full but without their identifiers. The upstream must see what it
// sees of the items themselves.
func references(t *testing.T) {
	location := newFile(t)
	db, err := store.Open(t.Context(), store.Config{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	second, _ := kept(t, db, nil)
	other, _ := kept(t, db, otherKey{})
	reply := answers.Reply{Parts: []answers.Part{
		{Thinking: thought, Signature: signature},
		{Text: "Let me see the weather."},
		{Call: &answers.Call{ID: "call_1", Name: "weather", Arguments: paris, Signature: signature}},
	}}
	for _, upstream := range others(harness.Responses) {
		for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
			t.Run(string(upstream)+" "+name, func(t *testing.T) {
				asked := func(g *harness.Gateway, model harness.Protocol, items string) string {
					w := way{Gateway: g, caller: harness.Responses, upstream: model, streamed: streamed}
					return string(w.sees(t, `{`+requests.Tools(harness.Responses, false, weather)+`,"reasoning":{"summary":"auto","effort":"high"},"input":[{"role":"user","content":"hi"},`+items+`]}`).Raw)
				}
				first, written := kept(t, db, nil)
				w := way{Gateway: first, caller: harness.Responses, upstream: upstream, streamed: streamed}
				w.Upstream(upstream).Answer(reply.Answer(upstream, streamed))
				received := transcript.Read(t, w.caller, w.ask(`{`+requests.Tools(harness.Responses, false, weather)+`,"reasoning":{"summary":"auto","effort":"high"},"input":"hi"}`), streamed)
				const result = `{"type":"function_call_output","call_id":"CALL","output":"sun"}`
				outcome := strings.Replace(result, "CALL", received.Calls[0].ID, 1)
				var referring []string
				for _, item := range parse(t, []byte("["+received.Echo+"]")).List() {
					if item.At("type").Text() == "function_call" {
						referring = append(referring, `{"type":"function_call","call_id":`+string(item.At("call_id").Raw)+`,"name":"weather","arguments":`+string(item.At("arguments").Raw)+`}`)
						continue
					}
					id := item.At("id").Text()
					if len(id) > 64 {
						t.Errorf("%s is longer than the vendor's identifiers may be", id)
					}
					referring = append(referring, `{"type":"item_reference","id":"`+id+`"}`)
				}
				if len(referring) < 3 {
					t.Fatalf("too few items: %s", received.Echo)
				}
				references := strings.Join(referring, ",") + "," + outcome
				want := asked(first, upstream, received.Echo+","+outcome)
				if got := asked(first, upstream, references); got != want {
					t.Errorf("the core that gave the items lets the upstream see\n%s\nnot\n%s", got, want)
				}
				written()
				if got := asked(second, upstream, references); got != want {
					t.Errorf("another core lets the upstream see\n%s\nnot\n%s", got, want)
				}
				// An upstream of the caller's own protocol does not know the items either.
				if got := asked(second, harness.Responses, references); !strings.Contains(got, "Let me see the weather.") || strings.Contains(got, "item_reference") {
					t.Errorf("an upstream of responses sees %s", got)
				}
				if got := asked(other, harness.Responses, references); strings.Contains(got, "Let me see the weather.") {
					t.Errorf("the items of another key were found: %s", got)
				}
			})
		}
	}
	t.Run("not stored", func(t *testing.T) {
		empty, err := store.Open(t.Context(), store.Config{Location: newFile(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = empty.Close() })
		first, _ := kept(t, empty, nil)
		w := way{Gateway: first, caller: harness.Responses, upstream: harness.Chat}
		w.Upstream(harness.Chat).Answer(reply.Answer(harness.Chat, false))
		received := transcript.Read(t, w.caller, w.ask(`{"store":false,"input":"hi"}`), false)
		id := parse(t, []byte("["+received.Echo+"]")).List()[0].At("id").Text()
		w = way{Gateway: first, caller: harness.Responses, upstream: harness.Responses}
		if seen := w.sees(t, `{"input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"`+id+`"}]}`); !strings.Contains(string(seen.Raw), id) {
			t.Errorf("an item that was not to be stored was found: %s", seen.Raw)
		}
	})
	holdsNone(t, location, thought, "Let me see the weather.", signature)
}

// holdsNone looks for texts in the files of a database.
func holdsNone(t *testing.T, location string, texts ...string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(location + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, text := range texts {
			if strings.Contains(string(raw), text) {
				t.Errorf("%q is in the database", text)
			}
		}
	}
}

// compaction sends what Codex sends when the context must be compacted.
func compaction(t *testing.T) {
	const trigger, summary = `{"type":"compaction_trigger"}`, "They want the weather of Paris, which is sunny."
	turns := requests.User(harness.Responses, "How is the weather?") + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Sunny."}]},`
	body := func(items string) string {
		return `{` + requests.Tools(harness.Responses, false, weather) + `,"tool_choice":"auto","store":false,"instructions":"Be brief.","input":[` + items + `]}`
	}
	everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Reply{Parts: []answers.Part{{Thinking: thought, Signature: signature}, {Text: summary}}}.Answer(w.upstream, w.streamed))
		a := w.ask(body(turns + trigger))
		if seen := string(w.Upstream(w.upstream).Last(t).Body); !strings.Contains(seen, "How is the weather?") || !strings.Contains(seen, "Write a summary") || strings.Contains(seen, "compaction_trigger") {
			t.Errorf("the upstream sees %s", seen)
		}
		item := compacted(t, a, w.streamed)
		if content := item.At("encrypted_content").Text(); !strings.HasPrefix(item.At("id").Text(), "cmp_") || content == "" || strings.Contains(content, "Paris") {
			t.Errorf("item %s", item.Raw)
		}
		// Clients may send the item without its identifier.
		for _, sent := range []string{string(item.Raw), `{"type":"compaction","encrypted_content":` + string(item.At("encrypted_content").Raw) + `}`} {
			for _, upstream := range harness.Texts() {
				later := way{Gateway: w.Gateway, caller: harness.Responses, upstream: upstream, streamed: w.streamed}
				seen := string(later.sees(t, body(sent+","+requests.User(harness.Responses, "And tomorrow?"))).Raw)
				if !strings.Contains(seen, summary) || !strings.Contains(seen, "And tomorrow?") || strings.Contains(seen, "genway.") {
					t.Errorf("%s sees %s", upstream, seen)
				}
			}
		}
		// It can be compacted again.
		again := string(w.seesOf(t, body(string(item.Raw)+","+trigger), answers.Text("Shorter.")).Raw)
		if !strings.Contains(again, summary) || !strings.Contains(again, "Write a summary") {
			t.Errorf("compacted again, the upstream sees %s", again)
		}
	})
	t.Run("no summary", func(t *testing.T) {
		for _, streamed := range []bool{false, true} {
			w := way{Gateway: harness.New(t, harness.Config{}), caller: harness.Responses, upstream: harness.Chat, streamed: streamed}
			w.Upstream(harness.Chat).Answer(answers.Tool("call_1", "weather", paris).Answer(harness.Chat, streamed))
			a := w.ask(body(turns + trigger))
			if !streamed {
				native(t, harness.Responses, a, 502)
			} else if !strings.Contains(string(a.Body), "response.failed") || strings.Contains(string(a.Body), "response.completed") {
				t.Errorf("streamed: %s", a.Body)
			}
		}
	})
	t.Run("own protocol", func(t *testing.T) {
		w := way{Gateway: harness.New(t, harness.Config{}), caller: harness.Responses, upstream: harness.Responses}
		if seen := w.sees(t, body(turns+trigger)); !strings.Contains(string(seen.Raw), trigger) {
			t.Errorf("an upstream of the protocol sees %s", seen.Raw)
		}
		// The conversation has seen another upstream, so that the body is written anew.
		foreign := `{"type":"reasoning","id":"rs_gw0123456789abcdef","summary":[{"type":"summary_text","text":"t"}]},`
		seen := w.sees(t, body(turns+foreign+trigger))
		if items := seen.At("input").List(); string(items[len(items)-1].Raw) != trigger || strings.Contains(string(seen.Raw), "Write a summary") {
			t.Errorf("an upstream of the protocol sees %s", seen.Raw)
		}
		vendors := `{"type":"compaction","id":"cmp_68","encrypted_content":"gAAAAAB"}`
		if seen := w.sees(t, body(vendors+","+requests.User(harness.Responses, "hi"))); !strings.Contains(string(seen.Raw), vendors) {
			t.Errorf("an upstream of the protocol sees %s", seen.Raw)
		}
	})
	t.Run("by its own path", compactPath)
	t.Run("not the last", func(t *testing.T) {
		w := way{Gateway: harness.New(t, harness.Config{}), caller: harness.Responses, upstream: harness.Chat}
		if a := w.ask(body(trigger + "," + requests.User(harness.Responses, "hi"))); a.Status != 400 || a.JSON().At("error.param").Text() != "input[0]" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// seesOf is sees with an answer of the test's choice.
func (w way) seesOf(t *testing.T, body string, reply answers.Reply) probeValue {
	t.Helper()
	w.Upstream(w.upstream).Answer(reply.Answer(w.upstream, w.streamed))
	if a := w.ask(body); a.Status != 200 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	return parse(t, w.Upstream(w.upstream).Last(t).Body)
}

// compacted is the only item of an answer. A stream has it like other items.
func compacted(t *testing.T, a harness.Answer, streamed bool) probeValue {
	t.Helper()
	whole := a.JSON
	if streamed {
		frames := slices.DeleteFunc(a.Frames(), func(f harness.Frame) bool { return f.Event == "" }) // heartbeats
		var names []string
		for _, f := range frames {
			names = append(names, f.Event)
		}
		if got := strings.Join(names, " "); got != "response.created response.in_progress response.output_item.added response.output_item.done response.completed" {
			t.Errorf("events %s", got)
		}
		last := parse(t, []byte(frames[len(frames)-1].Data)).At("response")
		whole = func() probeValue { return last }
		done := parse(t, []byte(frames[len(frames)-2].Data)).At("item")
		done.Is(t, string(last.At("output[0]").Raw))
	}
	response := whole()
	response.At("status").Is(t, `"completed"`)
	items := response.At("output").List()
	if len(items) != 1 || items[0].At("type").Text() != "compaction" {
		t.Fatalf("not one compaction item: %s", response.Raw)
	}
	return items[0]
}

// compactOptions sends what the vendor's operation takes beside the conversation (SDK:
// ResponseCompactParams), and what it does not, in a body that is written anew.
func compactOptions(t *testing.T, g *harness.Gateway, ask func(harness.Protocol, string) harness.Answer, body string) {
	const taken = `"image":{"context_compression":"disabled"},"prompt_cache_options":{"ttl":"30m"},"prompt_cache_retention":"24h"`
	a := ask(harness.Responses, strings.Replace(body, "{", "{"+taken+`,"truncation":"auto","novel":1,`, 1))
	seen := parse(t, g.Responses.Last(t).Body)
	for name, want := range parse(t, []byte("{"+taken+"}")).Members() {
		seen.At(name).Is(t, string(want))
	}
	if lost := a.Header.Get("X-Genway-Lost"); a.Status != 200 || lost != "truncation, novel" || seen.At("truncation").Exists() || seen.At("novel").Exists() {
		t.Errorf("%d, lost %q, the upstream sees %s", a.Status, lost, seen.Raw)
	}
}

// compactPath asks by the path that is for it.
func compactPath(t *testing.T) {
	g := harness.New(t, harness.Config{})
	ask := func(upstream harness.Protocol, body string) harness.Answer {
		call := harness.CallOf(harness.Responses, string(upstream)+"/m", body, false)
		call.Path += "/compact"
		return g.Call(call)
	}
	const body = `{"input":[{"role":"user","content":"How is the weather?"},{"role":"assistant","content":"Sunny."}],"prompt_cache_key":"k"}`
	for _, upstream := range others(harness.Responses) {
		g.Upstream(upstream).Answer(answers.Text("Sun in Paris.").Answer(upstream, false))
		a := ask(upstream, body)
		a.JSON().At("object").Is(t, `"response.compaction"`)
		item := a.JSON().At("output[0]")
		item.At("type").Is(t, `"compaction"`)
		if u := a.JSON().At("usage.total_tokens"); !u.Exists() || !a.JSON().At("created_at").Exists() || a.JSON().At("id").Text() == "" {
			t.Errorf("%s", a.Body)
		}
		if seen := string(g.Upstream(upstream).Last(t).Body); !strings.Contains(seen, "Write a summary") || !strings.Contains(seen, "How is the weather?") {
			t.Errorf("%s sees %s", upstream, seen)
		}
		w := way{Gateway: g, caller: harness.Responses, upstream: upstream}
		if seen := string(w.sees(t, `{"input":[`+string(item.Raw)+`,{"role":"user","content":"hi"}]}`).Raw); !strings.Contains(seen, "Sun in Paris.") {
			t.Errorf("%s sees %s", upstream, seen)
		}
		// A summary that was cut is none.
		g.Upstream(upstream).Answer(answers.Reply{Parts: []answers.Part{{Text: "Sun in"}}, Finish: answers.Truncated}.Answer(upstream, false))
		native(t, harness.Responses, ask(upstream, body), 502)
	}
	const own = `{"id":"resp_1","object":"response.compaction","created_at":1,"output":[{"id":"cmp_1","type":"compaction","encrypted_content":"gA"}],"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":3}}`
	foreign := strings.Replace(body, `{"role":"assistant","content":"Sunny."}`, `{"type":"compaction","encrypted_content":"genway.compaction.U3Vubnku"}`, 1)
	for name, sent := range map[string]string{"as it is": body, "written anew": foreign} {
		g.Responses.Answer(fake.JSON(own))
		if a := ask(harness.Responses, sent); string(a.Body) != own {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		asked := g.Responses.Last(t)
		if asked.Path != "/v1/responses/compact" || strings.Contains(string(asked.Body), "Write a summary") || strings.Contains(string(asked.Body), "compaction_trigger") || strings.Contains(string(asked.Body), "tool_choice") {
			t.Errorf("%s: the upstream is asked %s %s", name, asked.Path, asked.Body)
		}
		if name == "written anew" && !strings.Contains(string(asked.Body), "Sunny.") {
			t.Errorf("the upstream sees %s", asked.Body)
		}
	}
	g.Responses.Answer(fake.JSON(own))
	compactOptions(t, g, ask, foreign)
	for bad, param := range map[string]string{`{"input":"hi","stream":true}`: "stream", `{}`: "input", `{"input":[]}`: "input", `{"input":"hi","background":true}`: "background"} {
		if a := ask(harness.Chat, bad); a.Status != 400 || a.JSON().At("error.param").Text() != param {
			t.Errorf("%s: %d %s", bad, a.Status, a.Body)
		}
	}
}
