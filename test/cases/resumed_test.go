package cases_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/items"
	accounting "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// opens asks for the events of a response that is stored.
func opens(ctx context.Context, g *harness.Gateway, id, query string) *harness.Reader {
	call := harness.CallOf(harness.Responses, "responses/m", "{}", false)
	call.Method, call.Path, call.Body = http.MethodGet, "/v1/responses/"+id+"?stream=true"+query, ""
	return g.OpenCall(ctx, call)
}

// frameOf is the next event of a stream as text; "" at the end.
func frameOf(r *harness.Reader) string {
	for {
		f, ok := r.Next()
		if !ok {
			return ""
		}
		if f.Data != "" {
			return f.Event + " " + f.Data
		}
	}
}

// rest is what is left of a stream.
func rest(r *harness.Reader) (frames []string) {
	for f := frameOf(r); f != ""; f = frameOf(r) {
		frames = append(frames, f)
	}
	return frames
}

// numbered demands that events are numbered one after the other.
func numbered(t *testing.T, frames []string, first int) {
	t.Helper()
	for i, f := range frames {
		if !strings.Contains(f, fmt.Sprintf(`"sequence_number":%d,`, first+i)) {
			t.Errorf("event %d is %s", first+i, f)
		}
	}
}

// listening starts a response in the background that is streamed, and reads its events until one contains a text.
func listening(ctx context.Context, t *testing.T, g *harness.Gateway, upstream harness.Protocol, text string) (id string, r *harness.Reader, frames []string) {
	t.Helper()
	r = g.Open(ctx, harness.Responses, string(upstream)+"/m", `{"background":true,"input":"the question"}`)
	if r.Status != http.StatusOK {
		t.Fatalf("status %d", r.Status)
	}
	for f := frameOf(r); ; f = frameOf(r) {
		if f == "" {
			t.Fatalf("no event has %s: %s", text, frames)
		}
		if frames = append(frames, f); strings.Contains(f, text) {
			break
		}
	}
	_, data, _ := strings.Cut(frames[0], " ")
	return parse(t, []byte(data)).At("response").At("id").Text(), r, frames
}

// halfway is a streamed answer that waits after "The two.", which ends its first text.
func halfway(upstream harness.Protocol, texts ...string) (answer fake.Answer, hold chan struct{}) {
	reply := answers.Reply{}
	for _, text := range texts {
		reply.Parts = append(reply.Parts, answers.Part{Text: text})
	}
	answer, hold = reply.Answer(upstream, true), make(chan struct{})
	written := 0
	for i, event := range reply.Events(upstream) {
		if strings.Contains(event, "The two.") {
			written = i + 1
			break
		}
	}
	answer.Steps = slices.Insert(answer.Steps, written, fake.Wait(hold))
	return answer, hold
}

// backgroundStreamed has a response go on when its caller leaves, and followed at two cores from several places.
func backgroundStreamed(t *testing.T, upstream harness.Protocol) {
	db := opened(t)
	first, _ := accounted(t, db, nil)
	second, _ := accounted(t, db, nil)
	other, _ := accounted(t, db, otherKey{})
	answer, hold := halfway(upstream, "The one.The two.", "The rest.")
	first.Upstream(upstream).Answer(answer)
	ctx, leave := context.WithCancel(t.Context())
	id, _, seen := listening(ctx, t, first, upstream, "The two.")
	leave()
	numbered(t, seen, 0)
	if !strings.HasPrefix(seen[0], "response.created ") || !strings.HasPrefix(seen[1], "response.in_progress ") {
		t.Errorf("%s", seen)
	}
	var followers []*harness.Reader
	for _, g := range []*harness.Gateway{first, second} {
		for after := -1; after < len(seen); after += 2 { // also beyond what there is
			query := ""
			if after >= 0 {
				query = fmt.Sprintf("&starting_after=%d", after)
			}
			followers = append(followers, opens(t.Context(), g, id, query))
		}
	}
	native(t, harness.Responses, about(other, http.MethodGet, id+"?stream=true"), 404)
	close(hold)
	var whole []string
	for i, r := range followers {
		frames := rest(r)
		if whole == nil {
			whole = frames
			numbered(t, whole, 0)
		}
		half := len(followers) / 2
		if want := whole[2*(i%half):]; !slices.Equal(frames, want) {
			t.Errorf("follower %d has\n%s\nnot\n%s", i, strings.Join(frames, "\n"), strings.Join(want, "\n"))
		}
	}
	if !slices.Equal(whole[:len(seen)], seen) {
		t.Errorf("the caller has\n%s\nfollowers\n%s", seen, whole[:len(seen)])
	}
	done := until(t, second, id, "completed")
	if end := whole[len(whole)-1]; end != fmt.Sprintf(`response.completed {"type":"response.completed","sequence_number":%d,"response":%s}`, len(whole)-1, done.Body) {
		t.Errorf("%s\n%s", end, done.Body)
	}
	accounts(t, db, 1)
	for _, g := range []*harness.Gateway{second, first} { // from the store alone
		if again := rest(opens(t.Context(), g, id, "")); !slices.Equal(again, whole) {
			t.Errorf("%s", again)
		}
		if frames := rest(opens(t.Context(), g, id, fmt.Sprintf("&starting_after=%d", len(whole)-1))); len(frames) > 0 {
			t.Errorf("%s", frames)
		}
		for _, after := range []string{strconv.Itoa(len(whole)), "9007199254740993"} {
			native(t, harness.Responses, about(g, http.MethodGet, id+"?stream=true&starting_after="+after), 400)
		}
	}
	about(second, http.MethodDelete, id)
	native(t, harness.Responses, about(second, http.MethodGet, id+"?stream=true"), 404)
}

func backgroundStreams(t *testing.T) {
	t.Run("replayed", streamReplayed)
	t.Run("failed", streamFails)
	t.Run("cancelled", streamCancelled)
	t.Run("long", streamLong)
	t.Run("many", streamMany)
	t.Run("cancelled at its end", cancelledAtItsEnd)
	t.Run("refused", func(t *testing.T) {
		db := opened(t)
		g, _ := accounted(t, db, nil)
		for body, status := range map[string]int{
			`{"background":true,"store":false,"input":"hi"}`: 400, `{"background":1,"input":"hi"}`: 400, `{"background":true}`: 400,
		} {
			native(t, harness.Responses, g.Stream(harness.Responses, "chat/m", body), status)
		}
		for _, id := range []string{"resp_1", "resp_gw" + strings.Repeat("0", 32), strings.Repeat("x", 4000)} {
			native(t, harness.Responses, about(g, http.MethodGet, id+"?stream=true"), 404)
		}
	})
}

// streamReplayed streams responses whose events are not stored: what they add up to, the same each time.
func streamReplayed(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	other, _ := accounted(t, db, nil)
	for _, body := range []string{`{"input":"q"}`, `{"background":true,"input":"q"}`} {
		reply := answers.Think("a thought", "").Then(answers.Text("The answer.")).Then(answers.Tool("call_1", "f", `{"a":1}`))
		g.Chat.Answer(reply.Answer(harness.Chat, false))
		id := g.Post(harness.Responses, "chat/m", body).JSON().At("id").Text()
		all := rest(opens(t.Context(), g, id, ""))
		numbered(t, all, 0)
		final := until(t, g, id, "completed")
		var kinds []string
		for _, f := range all {
			kind, _, _ := strings.Cut(f, " ")
			kinds = append(kinds, kind)
		}
		text := strings.Join(kinds, " ")
		for _, want := range []string{"response.created response.in_progress response.output_item.added", "response.output_text.delta response.output_text.done", "response.function_call_arguments.delta", "response.output_item.done response.completed"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
		for _, item := range final.JSON().At("output").List() {
			if !strings.Contains(strings.Join(all, "\n"), `"item":`+string(item.Raw)) {
				t.Errorf("%s is not in %s", item.Raw, all)
			}
		}
		if !strings.HasSuffix(all[len(all)-1], `"response":`+string(final.Body)+"}") {
			t.Errorf("%s", all)
		}
		for after := range all {
			if frames := rest(opens(t.Context(), other, id, fmt.Sprintf("&starting_after=%d", after))); !slices.Equal(frames, all[after+1:]) {
				t.Errorf("after %d: %s", after, frames)
			}
		}
	}
}

// streamFails has an upstream break off, and one refuse.
func streamFails(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	second, _ := accounted(t, db, nil)
	refusal := fake.Refusal(http.StatusBadRequest, `{"error":{"message":"No such thing.","type":"invalid_request_error","param":null,"code":null}}`)
	cut, hold := halfway(harness.Chat, "The one.The two.", "The rest.")
	at := slices.IndexFunc(cut.Steps, func(s fake.Step) bool { return fmt.Sprint(s) == fmt.Sprint(fake.Wait(hold)) })
	cut.Steps = append(cut.Steps[:at+1], fake.Cut())
	for text, answer := range map[string]fake.Answer{"No such thing.": refusal, "cut off": cut} {
		g.Chat.Answer(answer)
		id, r, seen := listening(t.Context(), t, g, harness.Chat, map[bool]string{true: "response.in_progress", false: "The two."}[text == "No such thing."])
		elsewhere := opens(t.Context(), second, id, "")
		if text == "cut off" {
			close(hold)
		}
		seen = append(seen, rest(r)...)
		numbered(t, seen, 0)
		if end := seen[len(seen)-1]; !strings.HasPrefix(end, "response.failed ") || !strings.Contains(end, text) || !strings.Contains(end, `"status":"failed"`) || !strings.Contains(end, `"store":true`) {
			t.Errorf("%s", end)
		}
		if frames := rest(elsewhere); !slices.Equal(frames, seen) {
			t.Errorf("%s\n%s", frames, seen)
		}
		if got := until(t, second, id, "failed"); !strings.HasSuffix(seen[len(seen)-1], `"response":`+string(got.Body)+"}") {
			t.Errorf("%s %s", got.Body, seen[len(seen)-1])
		}
	}
	for _, row := range accounts(t, db, 2) {
		if row.Outcome != accounting.Failed {
			t.Errorf("%+v", row)
		}
	}
}

// streamCancelled cancels and deletes a response that is followed at two cores.
func streamCancelled(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		db := opened(t)
		g, _ := accounted(t, db, nil)
		second, _ := accounted(t, db, nil)
		answer, _ := halfway(harness.Chat, "The one.The two.", "The rest.") // which never comes
		g.Chat.Answer(answer)
		id, r, seen := listening(t.Context(), t, g, harness.Chat, "The two.")
		elsewhere := opens(t.Context(), second, id, "&starting_after=1")
		path := map[string]string{http.MethodPost: "/cancel"}[method]
		if a := about(second, method, id+path); a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		seen = append(seen, rest(r)...)
		numbered(t, seen, 0)
		if end := seen[len(seen)-1]; !strings.HasPrefix(end, "response.incomplete ") || !strings.Contains(end, `"status":"cancelled"`) {
			t.Errorf("%s", end)
		}
		frames := rest(elsewhere)
		if end := frames[len(frames)-1]; method == http.MethodDelete {
			if !strings.HasPrefix(end, "error ") || !strings.Contains(end, "not found") {
				t.Errorf("%s", end)
			}
		} else if !strings.Contains(end, `"status":"cancelled"`) {
			t.Errorf("%s", end)
		}
		if row := accounts(t, db, 1)[0]; row.Outcome != accounting.Cancelled {
			t.Errorf("%+v", row)
		}
	}
}

// streamLong has many pieces of events, and a caller that begins to read when all is over.
func streamLong(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	second, _ := accounted(t, db, nil)
	reply := answers.Reply{}
	for i := range 40 {
		reply.Parts = append(reply.Parts, answers.Part{Text: fmt.Sprintf("%d ", i) + strings.Repeat("x", 20<<10)})
	}
	g.Chat.Answer(reply.Answer(harness.Chat, true))
	id, r, seen := listening(t.Context(), t, g, harness.Chat, "response.created")
	until(t, g, id, "completed")
	seen = append(seen, rest(r)...)
	numbered(t, seen, 0)
	for _, g := range []*harness.Gateway{g, second} {
		if frames := rest(opens(t.Context(), g, id, "&starting_after=20")); !slices.Equal(frames, seen[21:]) {
			t.Errorf("%d events, not %d", len(frames), len(seen)-21)
		}
	}
}

// streamMany has a key follow more responses at once than it may.
func streamMany(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	answer, hold := halfway(harness.Chat, "The one.The two.", "The rest.")
	g.Chat.Answer(answer)
	id, r, _ := listening(t.Context(), t, g, harness.Chat, "The two.")
	ctx, leave := context.WithCancel(t.Context())
	readers := make([]*harness.Reader, 99)
	var wait sync.WaitGroup
	for i := range readers {
		wait.Go(func() { readers[i] = opens(ctx, g, id, "") })
	}
	wait.Wait()
	a := about(g, http.MethodGet, id+"?stream=true")
	if message := native(t, harness.Responses, a, http.StatusTooManyRequests); !strings.Contains(message, "follows 100 responses") {
		t.Errorf("%s", a.Body)
	}
	leave() // none of them has read
	close(hold)
	if frames := rest(r); !strings.HasPrefix(frames[len(frames)-1], "response.completed ") {
		t.Errorf("%s", frames)
	}
	accounts(t, db, 1)
}

// cancelledAtItsEnd has a cancellation come to the store when the response has ended: it is cancelled to all who ask, and not continued.
func cancelledAtItsEnd(t *testing.T) {
	db := opened(t)
	g, _ := accounted(t, db, nil)
	g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	id, _ := created(t, g, harness.Chat, "")
	until(t, g, id, "completed")
	keeper := items.New(items.Config{Store: db.Items(), Keep: time.Hour})
	defer keeper.Close()
	if err := keeper.Cancel(t.Context(), items.ResponseID{KeyID: "key_" + string(harness.Chat), ID: id}); err != nil {
		t.Fatal(err)
	}
	until(t, g, id, "cancelled")
	native(t, harness.Responses, g.Post(harness.Responses, "chat/m", `{"previous_response_id":"`+id+`","input":"hi"}`), 400)
}
