package console_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/console"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// runLine is a line of a run.
type runLine struct {
	Kind, Text, ID string
	At             float64
	Failed         bool
	Facts          [][2]string
}

// lines are what a run has sent.
func lines(t *testing.T, got answer) (list []runLine) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(got.body, "\n"), "\n") {
		var l runLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%d %q: %v", got.code, line, err)
		}
		list = append(list, l)
	}
	return list
}

func kinds(list []runLine) string {
	var names []string
	for _, l := range list {
		names = append(names, l.Kind)
	}
	return strings.Join(names, " ")
}

// Case X63: the playground sends a body to its own gateway alone, by the key that is shown, and returns what
// comes as text.
func TestPlayground(t *testing.T) {
	f := openScripted(t)
	f.scripted.text = "<b>"
	session := f.signIn(t, f.root)
	stream := "event: a\ndata: {\"choices\":[{\"delta\":{\"content\":\"<script>\"}}]}\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		name         string
		form         url.Values
		answer       http.HandlerFunc
		path, body   string
		want, pieces string
	}{
		{"chat", url.Values{"protocol": {"chat_completions"}, "body": {`{"model":"a"}`}}, nil, "/v1/chat/completions", `{"model":"a"}`, "head piece end", `{"model":"a"}`},
		{"another model", url.Values{"protocol": {"messages"}, "body": {"{ \"a\":[1, 2], \"model\" : {\"x\":1}, \"b\": 1e999}"}, "model": {" b\"<c> "}}, nil, "/v1/messages", "{ \"a\":[1, 2], \"model\" : \"b\\\"\\u003cc\\u003e\", \"b\": 1e999}", "head piece end", ""},
		{"a first model", url.Values{"protocol": {"responses"}, "body": {`{"input":1}`}, "model": {"b"}}, nil, "/v1/responses", `{"model":"b","input":1}`, "head piece end", ""},
		{"an empty object", url.Values{"protocol": {"images"}, "body": {` { } `}, "model": {"b"}}, nil, "/v1/images/generations", ` {"model":"b" } `, "head piece end", ""},
		{"no JSON, as it is", url.Values{"protocol": {"chat_completions"}, "body": {"\x00{{{"}}, nil, "/v1/chat/completions", "\x00{{{", "head piece end", "\x00{{{"},
		{"no body", url.Values{"protocol": {"chat_completions"}}, nil, "/v1/chat/completions", "", "head end", ""},
		{"a model that climbs", url.Values{"protocol": {"generate_content"}, "model": {"../../../v1/files?x=#y%2f"}}, nil, "/v1beta/models/..%2F..%2F..%2Fv1%2Ffiles%3Fx=%23y%252f:generateContent", "", "head end", ""},
		{"a stream", url.Values{"protocol": {"generate_content"}, "model": {"m"}, "stream": {"1"}, "body": {"{}"}}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = w.Write([]byte(stream))
		}, "/v1beta/models/m:streamGenerateContent?alt=sse", "{}", "head piece piece end", stream}, //nolint:dupword // two pieces
		{"a refusal", url.Values{"protocol": {"chat_completions"}}, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<img src=x onerror=alert(1)>", http.StatusTeapot)
		}, "/v1/chat/completions", "", "head piece end", "<img src=x onerror=alert(1)>\n"},
		{"a redirect is not followed", url.Values{"protocol": {"chat_completions"}}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://192.0.2.1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "/v1/chat/completions", "", "head end", ""},
		{"too long an answer", url.Values{"protocol": {"chat_completions"}}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat("a", 8<<20+1)))
		}, "/v1/chat/completions", "", "head cut end", ""},
		{"a cut answer", url.Values{"protocol": {"chat_completions"}}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "/v1/chat/completions", "", "head piece cut end", "half"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.gateway.answer = c.answer
			c.form.Set("key", "gwk_pasted")
			got := f.post(t, session, "/playground/run", c.form)
			list := lines(t, got)
			if got.code != http.StatusOK || kinds(list) != c.want || !strings.HasPrefix(got.header.Get("Content-Type"), "application/x-ndjson") {
				t.Fatalf("%d %s", got.code, kinds(list))
			}
			sent, _ := f.gateway.last()
			if want := (sentRequest{c.path, sent.key, c.body, "192.0.2.1:0"}); sent != want || strings.TrimPrefix(sent.key, "Bearer ") != "gwk_pasted" {
				t.Errorf("%+v was sent, want %+v", sent, want)
			}
			var pieces strings.Builder
			for _, l := range list {
				if l.Kind == "piece" {
					pieces.WriteString(l.Text)
				}
			}
			if c.pieces != "" && pieces.String() != c.pieces {
				t.Errorf("pieces %q", pieces.String())
			}
			if end := list[len(list)-1]; end.ID != "1-2" || len(end.Facts) == 0 || f.scripted.asked.GetFilter().GetRequestId() != "req_fake" {
				t.Errorf("the end: %+v", end)
			}
		})
	}
	if strings.Contains(f.get(t, session, "/playground?protocol=messages").body, "gwk_pasted") {
		t.Error("a pasted key is shown")
	}
}

// The contract is sent as a direct caller, and its errors are the service's.
func TestPlaygroundContract(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	for _, c := range []struct{ protocol, body, stream, want, text, method string }{
		{"grpc", `{"model":"m"}`, "", "head piece end", `"answer"`, "GenerateText"},
		{"grpc", `{"model":"m"}`, "1", "head piece piece end", `"hey"`, "StreamGenerateText"},     //nolint:dupword // two pieces
		{"grpc", `{"model":"cut"}`, "1", "head piece piece cut end", "cut", "StreamGenerateText"}, //nolint:dupword // two pieces
		{"grpc", `{"model":"none"}`, "", "head piece end", "there is no <b>none</b>", "GenerateText"},
		{"grpc", `{"unknown":1}`, "", "head piece end", "no message of the contract", ""},
		{"grpc", `[]`, "1", "head piece end", "no message of the contract", ""},
		{"grpc", "\x00", "1", "head piece end", "no message of the contract", ""},
		{"grpc_images", `{"model":"m"}`, "", "head piece end", "unknown method", ""},
	} {
		_, before := f.gateway.last()
		got := f.post(t, session, "/playground/run", url.Values{"protocol": {c.protocol}, "body": {c.body}, "stream": {c.stream}, "key": {"gwk_pasted"}})
		list := lines(t, got)
		if kinds(list) != c.want || !strings.Contains(strings.ReplaceAll(got.body, `\u003c`, "<"), strings.ReplaceAll(strings.ReplaceAll(c.text, `"`, `\"`), ">", `\u003e`)) && !strings.Contains(got.body, "not implemented") {
			t.Errorf("%+v: %s", c, got.body)
		}
		sent, n := f.gateway.last()
		if c.method != "" && (sent != sentRequest{c.method, "Bearer gwk_pasted", sent.body, "192.0.2.1"} || n != before+1) {
			t.Errorf("%+v: %+v was sent", c, sent)
		}
	}
}

// Strangers, viewers, other sites and absurd forms send nothing.
func TestPlaygroundRefuses(t *testing.T) {
	f := openScripted(t)
	admin, viewer := f.signIn(t, f.root), f.signIn(t, f.viewer)
	good := url.Values{"protocol": {"chat_completions"}, "body": {"{}"}, "key": {"gwk_x"}}
	with := func(name, value string) url.Values {
		form := maps.Clone(good)
		form.Set(name, value)
		return form
	}
	for _, c := range []struct {
		name, session string
		form          url.Values
		code          int
	}{
		{"nobody", "", good, 401},
		{"a forged session", "gwk_nothing", good, 401},
		{"a viewer without a key", viewer, with("key", ""), 403},
		{"no protocol", admin, with("protocol", ""), 400},
		{"another protocol", admin, with("protocol", "http://192.0.2.1/"), 400},
		{"a key of several lines", admin, with("key", "a\r\nX-Evil: 1"), 400},
		{"a key that is not ASCII", admin, with("key", "ключ"), 400},
		{"a huge key", admin, with("key", strings.Repeat("k", 257)), 400},
		{"a huge model", admin, with("model", strings.Repeat("m", 257)), 400},
		{"a model for what is no object", admin, url.Values{"protocol": {"responses"}, "body": {"[1]"}, "model": {"m"}, "key": {"k"}}, 400},
		{"a model for no JSON", admin, url.Values{"protocol": {"responses"}, "body": {`{"a":`}, "model": {"m"}, "key": {"k"}}, 400},
		{"no model in the path", admin, with("protocol", "generate_content"), 400},
		{"too large a form", admin, with("body", strings.Repeat("a", 1<<20)), 413},
	} {
		if got := f.post(t, c.session, "/playground/run", c.form); got.code != c.code || strings.Contains(got.body, "<script>alert") {
			t.Errorf("%s: %d %s", c.name, got.code, got.body)
		}
	}
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		r := request(t, admin, http.MethodPost, "/playground/run", good)
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set(header, value)
		if got := f.do(r); got.code != http.StatusForbidden {
			t.Errorf("%s: %d", header, got.code)
		}
	}
	if got := f.get(t, admin, "/playground/run?protocol=chat_completions"); got.code != http.StatusNotFound {
		t.Errorf("a GET: %d", got.code)
	}
	if _, n := f.gateway.last(); n > 0 || count(t, f, keys.GroupChat) > 0 {
		t.Errorf("%d requests were sent, %d keys made", n, count(t, f, keys.GroupChat))
	}
	// A viewer who has a key of the group may use it.
	if got := f.post(t, viewer, "/playground/run", good); got.code != http.StatusOK || count(t, f, keys.GroupChat) > 0 {
		t.Errorf("a viewer's key: %d", got.code)
	}
}

// Without a key an admin has one made for the session, which ends within the hour, is used again,
// and is in the audit.
func TestPlaygroundMakesKeys(t *testing.T) {
	f := openScripted(t)
	one, two := f.signIn(t, f.root), f.signIn(t, f.root)
	form := url.Values{"protocol": {"chat_completions"}, "body": {"{}"}}
	keyOf := func(session string) string {
		t.Helper()
		if got := f.post(t, session, "/playground/run", form); got.code != http.StatusOK || rawKey.MatchString(got.body) {
			t.Fatalf("%d %s", got.code, got.body)
		}
		sent, _ := f.gateway.last()
		return rawKey.FindString(sent.key)
	}
	first := keyOf(one)
	who, err := f.keys.Authenticate(t.Context(), first)
	if err != nil || who.Group != keys.GroupChat {
		t.Fatalf("%+v, %v", who, err)
	}
	key, err := f.keys.Get(t.Context(), who.KeyID)
	if err != nil || key.ExpireTime == nil || time.Until(*key.ExpireTime) > time.Hour || key.Labels["playground"] == "" {
		t.Errorf("%+v, %v", key, err)
	}
	if keyOf(one) != first || keyOf(two) == first {
		t.Error("a key belongs to one session, and serves until it ends")
	}
	f.ahead.Store(int64(51 * time.Minute))
	one = f.signIn(t, f.root)
	if keyOf(one) == first {
		t.Error("a key is used that ends")
	}
	if got := f.get(t, one, "/audit?subject="+who.KeyID).body; !strings.Contains(got, "key.create") {
		t.Error("it is not in the audit")
	}
	// The end of a session, by itself or by an admin, ends its keys.
	two = f.signIn(t, f.root)
	mine, theirs := keyOf(one), keyOf(two)
	session, err := f.keys.Authenticate(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.post(t, two, "/sessions/"+session.KeyID+"/end", nil); got.code != http.StatusSeeOther {
		t.Fatalf("the end of a session: %d %s", got.code, got.body)
	}
	if _, err := f.keys.Authenticate(t.Context(), mine); err == nil {
		t.Error("a key outlives its session, which an admin ended")
	}
	if _, err := f.keys.Authenticate(t.Context(), theirs); err != nil {
		t.Errorf("the key of another session: %v", err)
	}
	if got := f.post(t, two, "/sign-out", nil); got.code != http.StatusSeeOther {
		t.Fatalf("the sign-out: %d %s", got.code, got.body)
	}
	if _, err := f.keys.Authenticate(t.Context(), theirs); err == nil {
		t.Error("a key outlives the session that has signed out")
	}
}

// A session has four runs at once at most; a browser that leaves ends its run.
func TestPlaygroundIsBounded(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	arrived, left := make(chan struct{}, 8), make(chan struct{}, 8)
	f.gateway.answer = func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}
	form := url.Values{"protocol": {"chat_completions"}, "body": {"{}"}, "key": {"gwk_x"}}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{}, 8)
	for range 4 {
		go func() {
			f.ServeHTTP(httptest.NewRecorder(), request(t, session, http.MethodPost, "/playground/run", form).WithContext(ctx))
			ended <- struct{}{}
		}()
	}
	for range 4 {
		<-arrived
	}
	if got := f.post(t, session, "/playground/run", form); got.code != http.StatusTooManyRequests {
		t.Errorf("a fifth: %d %s", got.code, got.body)
	}
	leave()
	for range 4 {
		<-ended
		<-left
	}
	f.gateway.answer = nil
	if got := f.post(t, session, "/playground/run", form); got.code != http.StatusOK {
		t.Errorf("afterwards: %d", got.code)
	}
}

// The console of a core without a JSON side sends requests to the address that is configured, follows no redirect, and names that address and
// models of the routes in what it shows.
func TestPlaygroundElsewhere(t *testing.T) {
	f := openScripted(t)
	var reached []string
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached = append(reached, r.URL.Path)
		if len(reached) == 2 {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write([]byte(`{"said":"hey"}`))
	}))
	t.Cleanup(edge.Close)
	f.config.Gateway, f.config.API, f.config.Edge = nil, edge.URL, edge.URL
	f.config.Models = func() map[genwayv1.Protocol]string {
		return map[genwayv1.Protocol]string{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: "gpt-9", genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: "gemini-9", genwayv1.Protocol_PROTOCOL_IMAGES: "draw-9", genwayv1.Protocol_PROTOCOL_UNSPECIFIED: "any-9"}
	}
	var err error
	if f.Console, err = console.New(f.config); err != nil {
		t.Fatal(err)
	}
	session := f.signIn(t, f.root)
	form := url.Values{"protocol": {"chat_completions"}, "body": {`{"model":"a"}`}}
	if got := lines(t, f.post(t, session, "/playground/run", form)); kinds(got) != "head piece end" || got[1].Text != `{"said":"hey"}` {
		t.Errorf("%+v", got)
	}
	if got := lines(t, f.post(t, session, "/playground/run", form)); !strings.HasPrefix(got[0].Text, "307") || len(reached) != 2 || reached[0] != "/v1/chat/completions" {
		t.Errorf("%+v, %v", got, reached)
	}
	for path, want := range map[string][]string{
		"/playground": {"&#34;model&#34;: &#34;gpt-9&#34;", "at " + edge.URL}, "/playground?protocol=generate_content": {`name="model" value="gemini-9"`},
		"/playground?protocol=images": {"&#34;draw-9&#34;"}, "/playground?protocol=grpc": {"&#34;any-9&#34;"}, "/playground?protocol=messages": {"&#34;sandbox-text&#34;"},
		"/connect": {edge.URL + "/v1", "gpt-9"}, "/connect?group=generatecontent": {"gemini-9", edge.URL}, "/connect?group=internal": {"any-9"}, "/connect?model=mine": {"mine"},
	} {
		page := f.get(t, session, path).body
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s has no %s", path, text)
			}
		}
	}
}
