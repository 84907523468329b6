package cases_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

// dial opens a WebSocket of the gateway.
func dial(t *testing.T, g *harness.Gateway) *websocket.Conn {
	t.Helper()
	call := harness.CallOf(harness.Responses, "m", "{}", true)
	conn, _, err := websocket.Dial(t.Context(), g.URL+call.Path, &websocket.DialOptions{HTTPHeader: call.Header, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	return conn
}

// say sends a request over a WebSocket.
func say(t *testing.T, conn *websocket.Conn, upstream harness.Protocol, members string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","store":false,"model":"`+string(upstream)+`/m",`+members+`}`)); err != nil {
		t.Fatal(err)
	}
}

// hear reads messages until one is of the type, and returns it and the types of all.
func hear(t *testing.T, conn *websocket.Conn, kind string) (types []string, last string) {
	t.Helper()
	for {
		_, message, err := conn.Read(t.Context())
		if err != nil {
			t.Fatalf("%v after %v", err, types)
		}
		types = append(types, parse(t, message).At("type").Text())
		if slices.Contains([]string{kind, "error", "response.failed"}, types[len(types)-1]) {
			return types, string(message)
		}
	}
}

// overSocketStored has a response that Genway stores go on over another WebSocket, and not for another key.
func overSocketStored(t *testing.T) {
	db, err := store.Open(t.Context(), store.Config{Location: newFile(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g, written := kept(t, db, nil)
	other, _ := kept(t, db, otherKey{})
	ask := func(g *harness.Gateway, members string) probe.Value {
		g.Chat.Answer(answers.Text("The first answer.").Answer(harness.Chat, true))
		conn := dial(t, g)
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"chat/m",`+members+`}`)); err != nil {
			t.Fatal(err)
		}
		_, last := hear(t, conn, "response.completed")
		return parse(t, []byte(last))
	}
	first := ask(g, `"input":"the first question"`).At("response")
	id := first.At("id").Text()
	if string(first.At("store").Raw) != "true" {
		t.Fatalf("%s", first.Raw)
	}
	second := `"previous_response_id":"` + id + `","input":"the second question"`
	if next := ask(g, second).At("response"); next.At("previous_response_id").Text() != id || string(next.At("store").Raw) != "true" {
		t.Errorf("%s", next.Raw)
	}
	if asked := string(g.Chat.Last(t).Body); !strings.Contains(asked, "the first question") || !strings.Contains(asked, "The first answer.") {
		t.Errorf("the upstream gets %s", asked)
	}
	written()
	if refused := ask(other, second); refused.At("error.code").Text() != "previous_response_not_found" {
		t.Errorf("%s", refused.Raw)
	}
}

// overSocket has each upstream answer two turns over a WebSocket, of which the second has the first before it, and begin a third one.
func overSocket(t *testing.T) {
	for _, upstream := range harness.Texts() {
		t.Run(string(upstream), func(t *testing.T) {
			recorder, rows := newBook(t)
			g := harness.New(t, harness.Config{Ledger: recorder})
			u := g.Upstream(upstream)
			u.Answer(answers.Text("The first answer.").Answer(upstream, true))
			conn := dial(t, g)
			say(t, conn, upstream, `"input":"the first question"`)
			types, first := hear(t, conn, "response.completed")
			if types[0] != "response.created" || !slices.Contains(types, "response.output_text.delta") {
				t.Errorf("%v", types)
			}
			id := parse(t, []byte(first)).At("response.id").Text()
			u.Answer(answers.Text("The second answer.").Answer(upstream, true))
			say(t, conn, upstream, `"previous_response_id":"`+id+`","input":"the second question"`)
			if _, second := hear(t, conn, "response.completed"); parse(t, []byte(second)).At("response.previous_response_id").Text() != id || !strings.Contains(second, "The second answer.") {
				t.Errorf("%s", second)
			}
			asked := string(u.Last(t).Body)
			at := 0
			for _, part := range []string{"the first question", "The first answer.", "the second question"} {
				next := strings.Index(asked, part)
				if next < at || strings.Count(asked, part) != 1 {
					t.Errorf("%s is not where it belongs in %s", part, asked)
				}
				at = next
			}
			if strings.Contains(asked, `"previous_response_id":"`) || strings.Contains(asked, "response.create") {
				t.Errorf("the upstream gets %s", asked)
			}
			never := make(chan struct{})
			t.Cleanup(func() { close(never) })
			u.Answer(then(begun(upstream), fake.Wait(never)))
			say(t, conn, upstream, `"input":"hi"`)
			hear(t, conn, "response.output_text.delta")
			since := time.Now()
			_ = conn.CloseNow()
			<-u.Last(t).Done
			if took := time.Since(since); took > 100*time.Millisecond {
				t.Errorf("the upstream's call was cancelled after %v", took)
			}
			for i, want := range []books.Outcome{books.OK, books.OK, books.Cancelled} {
				if row := settled(t, rows, i+1); row.Outcome != want {
					t.Errorf("row %d: %+v", i+1, row.Result)
				}
			}
		})
	}
	t.Run("stored", overSocketStored)
}
