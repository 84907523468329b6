package cases_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/items"
	accounting "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// perKey is how many responses a key may have in the background here, and how many requests at once.
const perKey = 3

// accounted is a core that stores responses, runs them in the background and has a ledger. end ends both.
func accounted(t *testing.T, db *store.Store, callers auth.Keys) (g *harness.Gateway, end func()) {
	t.Helper()
	keeper := items.New(items.Config{Store: db.Items(), Keep: time.Hour})
	recorder, err := accounting.Start(t.Context(), accounting.Config{Store: db.Ledger(), OnItems: keeper.Written})
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := recorder.Close(); err != nil {
			t.Error(err)
		}
		keeper.Close()
	})
	t.Cleanup(end)
	return harness.New(t, harness.Config{
		Items: keeper, Keys: callers, Ledger: recorder, Background: perKey,
		Limiter: limit.New(limit.NewMemory(nil), limit.Rules{Keys: limit.Limits{Concurrent: perKey}}),
	}), end
}

// created makes a response in the background.
func created(t *testing.T, g *harness.Gateway, upstream harness.Protocol, more string) (id, body string) {
	t.Helper()
	a := g.Post(harness.Responses, string(upstream)+"/m", `{"background":true,"input":"the question"`+more+`}`)
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	response := a.JSON()
	if id = response.At("id").Text(); !strings.HasPrefix(id, "resp_gw") || response.At("status").Text() != "queued" || string(response.At("background").Raw) != "true" ||
		string(response.At("output").Raw) != "[]" || string(response.At("store").Raw) != "true" || string(response.At("usage").Raw) != "null" {
		t.Fatalf("%s", a.Body)
	}
	return id, string(a.Body)
}

// until asks for a response until it has a status.
func until(t *testing.T, g *harness.Gateway, id, status string) harness.Answer {
	t.Helper()
	a := about(g, http.MethodGet, id)
	for deadline := time.Now().Add(20 * time.Second); ; a = about(g, http.MethodGet, id) {
		if a.Status != http.StatusOK {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		switch got := a.JSON().At("status").Text(); {
		case got == status:
			return a
		case got != "in_progress" || time.Now().After(deadline):
			t.Fatalf("the response is %s, not %s: %s", got, status, a.Body)
		}
	}
}

// accounts waits until a number of requests is in the ledger, and returns them. None is open.
func accounts(t *testing.T, db *store.Store, count int) []*accounting.Entry {
	t.Helper()
	var last []*accounting.Entry
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		last = nil
		for e, err := range db.Ledger().Entries(t.Context(), time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Outcome != accounting.Open {
				last = append(last, e)
			}
		}
		if len(last) == count {
			return last
		}
	}
	t.Fatalf("%d requests are settled, not %d", len(last), count)
	return nil
}

func opened(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Location: newFile(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func inBackground(t *testing.T) {
	for _, upstream := range harness.Texts() {
		t.Run(string(upstream), func(t *testing.T) { backgroundOver(t, upstream) })
	}
	for _, upstream := range harness.Texts() {
		t.Run(string(upstream)+" streamed", func(t *testing.T) { backgroundStreamed(t, upstream) })
	}
	t.Run("streams", backgroundStreams)
	t.Run("lost", backgroundLoses)
	t.Run("memory", backgroundMemory)
	t.Run("failed", backgroundFails)
	t.Run("cancelled", backgroundCancelled)
	t.Run("bounded", backgroundBounded)
	t.Run("shut down", backgroundShutDown)
	t.Run("refused", backgroundRefused)
}

// What a response in the background loses is named where it is fetched, at each core, in the words of an answer that is waited for.
func backgroundLoses(t *testing.T) {
	db := opened(t)
	first, _ := accounted(t, db, nil)
	second, _ := accounted(t, db, nil)
	const members = `,"max_tool_calls":3,"seed":1,"input":[{"role":"user","content":"q"},{"type":"message","role":"user","content":"the question","phase":"x"}]`
	for _, upstream := range harness.Texts() {
		for range 2 {
			first.Upstream(upstream).Answer(answers.Text("fine").Answer(upstream, false))
		}
		waited := first.Post(harness.Responses, string(upstream)+"/m", `{"unknown_setting":1`+members+`}`)
		queued := first.Post(harness.Responses, string(upstream)+"/m", `{"background":true,"unknown_setting":1`+members+`}`)
		if waited.Status != http.StatusOK || queued.Status != http.StatusOK {
			t.Fatalf("%s: %d %s, %d %s", upstream, waited.Status, waited.Body, queued.Status, queued.Body)
		}
		for _, g := range []*harness.Gateway{first, second} {
			a := until(t, g, queued.JSON().At("id").Text(), "completed")
			if got, want := a.Header.Get("X-Genway-Lost"), waited.Header.Get("X-Genway-Lost"); got != want || upstream == harness.Messages && want == "" {
				t.Errorf("%s: %q is named as lost, want %q", upstream, got, want)
			}
		}
	}
}

// memorySeen tells of each call whether it may use memory that is used again when the caller has its answer.
type memorySeen struct {
	upstream.Upstream

	seen chan bool
}

func (m memorySeen) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	m.seen <- arena.Of(ctx) != nil || arena.BodyOf(ctx) != nil
	return m.Upstream.GenerateText(ctx, req)
}

// The answer of a response in the background is read into memory of its own: that of the call by which it began is another
// caller's by then.
func backgroundMemory(t *testing.T) {
	db, seen := opened(t), make(chan bool, 1)
	keeper := items.New(items.Config{Store: db.Items(), Keep: time.Hour})
	t.Cleanup(keeper.Close)
	g := harness.New(t, harness.Config{Items: keeper, Background: 1, Wrap: func(u upstream.Upstream) upstream.Upstream { return memorySeen{u, seen} }})
	for _, background := range []bool{false, true} {
		g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
		if a := g.Post(harness.Responses, "chat/m", fmt.Sprintf(`{"background":%t,"input":"the question"}`, background)); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if <-seen == background {
			t.Errorf("background %t: the call has memory of its caller's: %t", background, background)
		}
	}
}

func backgroundOver(t *testing.T, upstream harness.Protocol) {
	db := opened(t)
	first, _ := accounted(t, db, nil)
	second, _ := accounted(t, db, nil)
	other, _ := accounted(t, db, otherKey{})
	hold := make(chan struct{})
	answer := answers.Text("The answer.").Answer(upstream, false)
	answer.Hold = hold
	first.Upstream(upstream).Answer(answer)
	id, queued := created(t, first, upstream, `,"metadata":{"a":"b"}`)
	running := strings.Replace(queued, `"queued"`, `"in_progress"`, 1)
	for _, g := range []*harness.Gateway{first, second} {
		if a := about(g, http.MethodGet, id); a.Status != http.StatusOK || string(a.Body) != running {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		a := g.Post(harness.Responses, string(upstream)+"/m", `{"previous_response_id":"`+id+`","input":"hi"}`)
		if message := native(t, harness.Responses, a, 400); !strings.Contains(message, "not complete") || a.JSON().At("error").At("param").Text() != "previous_response_id" {
			t.Errorf("%s", a.Body)
		}
	}
	missing(t, other, id)
	native(t, harness.Responses, about(other, http.MethodPost, id+"/cancel"), 404)
	close(hold)
	done := until(t, first, id, "completed")
	if response := done.JSON(); response.At("output").List()[0].At("content").List()[0].At("text").Text() != "The answer." || string(response.At("background").Raw) != "true" ||
		string(response.At("created_at").Raw) != string(parse(t, []byte(queued)).At("created_at").Raw) || response.At("metadata").At("a").Text() != "b" {
		t.Errorf("%s", done.Body)
	}
	if seen := string(first.Upstream(upstream).Last(t).Body); strings.Contains(seen, "background") {
		t.Errorf("the upstream sees %s", seen)
	}
	if a := until(t, second, id, "completed"); !bytes.Equal(a.Body, done.Body) {
		t.Errorf("another core\n%s\nthis one\n%s", a.Body, done.Body)
	}
	for range 2 { // what has ended stays as it is
		if a := about(second, http.MethodPost, id+"/cancel"); a.Status != http.StatusOK || !bytes.Equal(a.Body, done.Body) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	row := accounts(t, db, 1)[0]
	if row.Outcome != accounting.OK || row.Usage.Output == 0 || row.Method != "GenerateText" {
		t.Errorf("%+v", row)
	}
	second.Upstream(upstream).Answer(answers.Text("The second answer.").Answer(upstream, false))
	next := second.Post(harness.Responses, string(upstream)+"/m", `{"previous_response_id":"`+id+`","input":"the second question"}`)
	inOrder(t, string(second.Upstream(upstream).Last(t).Body), "the question", "The answer.", "the second question")
	if upstream != harness.Responses { // which stores its own
		native(t, harness.Responses, about(second, http.MethodPost, next.JSON().At("id").Text()+"/cancel"), 400)
	}
	if a := about(second, http.MethodDelete, id); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	// A core answers from its memory until it has noticed that the store has the response.
	for deadline := time.Now().Add(20 * time.Second); about(first, http.MethodGet, id).Status != http.StatusNotFound && time.Now().Before(deadline); {
	}
	missing(t, first, id)
	native(t, harness.Responses, about(first, http.MethodPost, id+"/cancel"), 404)
}

func backgroundFails(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	g.Upstream(harness.Chat).Answer(fake.Refusal(http.StatusBadRequest, `{"error":{"message":"No such thing.","type":"invalid_request_error","param":"messages[0].content","code":null}}`))
	id, _ := created(t, g, harness.Chat, "")
	failed := until(t, g, id, "failed").JSON()
	if message := failed.At("error").At("message").Text(); !strings.Contains(message, "No such thing.") || failed.At("error").At("code").Text() == "" || string(failed.At("store").Raw) != "true" {
		t.Errorf("%s", failed.Raw)
	}
	if row := accounts(t, db, 1)[0]; row.Outcome != accounting.Failed {
		t.Errorf("%+v", row)
	}
	native(t, harness.Responses, g.Post(harness.Responses, "chat/m", `{"previous_response_id":"`+id+`","input":"hi"}`), 400)
	g.Upstream(harness.Chat).Answer(answers.Text(strings.Repeat("x", 9<<20)).Answer(harness.Chat, false))
	id, _ = created(t, g, harness.Chat, "")
	if failed := until(t, g, id, "failed").JSON(); failed.At("error").At("message").Text() != "the response is too large to be stored" {
		t.Errorf("%s", failed.Raw)
	}
	unknown := "resp_gw" + strings.Repeat("0", 32)
	for _, upstream := range harness.Texts() {
		a := g.Post(harness.Responses, string(upstream)+"/m", `{"background":true,"input":"hi","previous_response_id":"`+unknown+`"}`)
		if message := native(t, harness.Responses, a, 400); message != "Previous response with id '"+unknown+"' not found." {
			t.Errorf("%s", a.Body)
		}
	}
}

// backgroundCancelled cancels at the core that runs the response and at another one, many times at once, and deletes it.
func backgroundCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		elsewhere bool
		method    string
		path      string
	}{
		"here":                {false, http.MethodPost, "/cancel"},
		"at another core":     {true, http.MethodPost, "/cancel"},
		"by deletion":         {false, http.MethodDelete, ""},
		"by deletion at both": {true, http.MethodDelete, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db := opened(t)
			first, _ := accounted(t, db, nil)
			second, _ := accounted(t, db, nil)
			g := first
			if c.elsewhere {
				g = second
			}
			answer := answers.Text("fine").Answer(harness.Chat, false)
			answer.Hold = make(chan struct{}) // for ever
			first.Upstream(harness.Chat).Answer(answer)
			id, queued := created(t, first, harness.Chat, "")
			first.Upstream(harness.Chat).Await(t)
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() {
					a := about(g, c.method, id+c.path)
					if c.method == http.MethodPost && (a.Status != http.StatusOK || string(a.Body) != strings.Replace(queued, `"queued"`, `"cancelled"`, 1)) {
						t.Errorf("%d %s", a.Status, a.Body)
					}
				})
			}
			wait.Wait()
			<-first.Upstream(harness.Chat).Last(t).Done
			if row := accounts(t, db, 1)[0]; row.Outcome != accounting.Cancelled || row.Usage.Input == 0 {
				t.Errorf("%+v", row)
			}
			for _, g := range []*harness.Gateway{first, second} {
				if c.method == http.MethodDelete {
					missing(t, g, id)
				} else if a := until(t, g, id, "cancelled"); string(a.JSON().At("output").Raw) != "[]" {
					t.Errorf("%s", a.Body)
				}
			}
			native(t, harness.Responses, second.Post(harness.Responses, "chat/m", `{"previous_response_id":"`+id+`","input":"hi"}`), 400)
		})
	}
}

// backgroundBounded has as many responses of a key as may run at once, and then others.
func backgroundBounded(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	hold := make(chan struct{})
	answer := answers.Text("fine").Answer(harness.Chat, false)
	answer.Hold = hold
	var ids []string
	for range perKey {
		g.Upstream(harness.Chat).Answer(answer)
		id, _ := created(t, g, harness.Chat, "")
		ids = append(ids, id)
	}
	for range 3 {
		a := g.Post(harness.Responses, "chat/m", `{"background":true,"input":"hi"}`)
		if message := native(t, harness.Responses, a, http.StatusTooManyRequests); !strings.HasPrefix(message, fmt.Sprintf("background: this key has %d responses", perKey)) || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s", a.Body)
		}
	}
	for _, id := range ids { // which takes no place of the requests at once: all are taken
		if a := about(g, http.MethodGet, id); a.Status != http.StatusOK {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	}
	close(hold)
	for _, id := range ids {
		until(t, g, id, "completed")
	}
	accounts(t, db, perKey)
	g.Upstream(harness.Chat).Answer(answer)
	id, _ := created(t, g, harness.Chat, "")
	until(t, g, id, "completed")
}

// backgroundShutDown ends a core, as a signal does, whose response does not end.
func backgroundShutDown(t *testing.T) {
	db := opened(t)
	other, _ := accounted(t, db, nil)
	var id string
	t.Run("core", func(t *testing.T) {
		g, _ := accounted(t, db, nil)
		answer := answers.Text("fine").Answer(harness.Chat, false)
		answer.Hold = make(chan struct{})
		g.Upstream(harness.Chat).Answer(answer)
		id, _ = created(t, g, harness.Chat, "")
	})
	failed := until(t, other, id, "failed").JSON()
	if message := failed.At("error").At("message").Text(); !strings.Contains(message, "shut down") || failed.At("error").At("code").Text() != "server_error" {
		t.Errorf("%s", failed.Raw)
	}
	accounts(t, db, 1)
}

func backgroundRefused(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	for body, param := range map[string]string{
		`{"background":true,"store":false,"input":"hi"}`:                    "background",
		`{"background":"true","input":"hi"}`:                                "background",
		`{"background":1,"input":"hi"}`:                                     "background",
		`{"background":{},"input":"hi"}`:                                    "background",
		`{"background":true}`:                                               "input",
		`{"background":true,"input":[{"role":"astronaut","content":"hi"}]}`: "input[0].role",
	} {
		a := g.Post(harness.Responses, "chat/m", body)
		if native(t, harness.Responses, a, 400); !strings.HasPrefix(a.JSON().At("error").At("param").Text(), param) {
			t.Errorf("%s: %s", body, a.Body)
		}
	}
	native(t, harness.Responses, g.Post(harness.Responses, "chat/m", `{"background":true,"input":"`+strings.Repeat("x", 5<<20)+`"}`), http.StatusRequestEntityTooLarge)
	for _, id := range []string{"resp_1", "resp_gw" + strings.Repeat("0", 32), "%00", strings.Repeat("x", 4000)} {
		native(t, harness.Responses, about(g, http.MethodPost, id+"/cancel"), 404)
	}
	native(t, harness.Responses, about(g, http.MethodGet, "resp_1/cancel"), 405)
	if asked := g.Upstream(harness.Chat).Requests(); len(asked) > 0 {
		t.Errorf("the upstream was asked %d times", len(asked))
	}
	if rows := slices.Collect(func(yield func(*accounting.Entry) bool) {
		for e := range db.Ledger().Entries(context.Background(), time.Time{}) {
			if !yield(e) {
				return
			}
		}
	}); len(rows) > 0 {
		t.Errorf("%d rows", len(rows))
	}
}
