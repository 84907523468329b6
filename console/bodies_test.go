package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// reader returns the session of a key that reads captured bodies.
func (f *fixture) reader(t *testing.T, readOnly bool) string {
	t.Helper()
	raw, _, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupAdmin, Settings: keys.Settings{Policy: keys.Policy{ReadCaptures: true, ReadOnly: readOnly}}})
	if err != nil {
		t.Fatal(err)
	}
	return f.signIn(t, raw)
}

// bodiesOf are the bodies of a translated request.
func bodiesOf(caller, sent, answer string) []*adminv1.CapturedBody {
	body := func(kind adminv1.BodyKind, call int32, protocol genwayv1.Protocol, text string) *adminv1.CapturedBody {
		return &adminv1.CapturedBody{Kind: kind, Call: call, Protocol: &protocol, Upstream: "claude", Size: int64(len(text)), Data: []byte(text)}
	}
	return []*adminv1.CapturedBody{
		body(adminv1.BodyKind_BODY_KIND_CALLER_REQUEST, 0, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, caller),
		body(adminv1.BodyKind_BODY_KIND_UPSTREAM_REQUEST, 1, genwayv1.Protocol_PROTOCOL_MESSAGES, `{"first":"call"}`),
		body(adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER, 1, genwayv1.Protocol_PROTOCOL_MESSAGES, `{"first":"failure"}`),
		body(adminv1.BodyKind_BODY_KIND_UPSTREAM_REQUEST, 2, genwayv1.Protocol_PROTOCOL_MESSAGES, sent),
		body(adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER, 2, genwayv1.Protocol_PROTOCOL_MESSAGES, answer),
	}
}

// Case X84: who has the right sees the bodies of a request and what the translation did to them, and can
// send it again; other viewers see neither bodies nor links to them.
func TestBodies(t *testing.T) {
	f := openScripted(t)
	f.scripted.text, f.scripted.protocol, f.scripted.method = "claude", genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "GenerateText"
	f.scripted.captured = bodiesOf(`{"model":"m","messages":[]}`, `{ "to" : "claude" }`, `{"from":"claude"}`)
	var asked []*adminv1.ExplainRequest
	explained := &adminv1.ExplainResponse{UpstreamBody: []byte(`{"to":"claude"}`), MessageJson: "{}", Lost: []string{"messages[0].<b>", "top_k"}, Members: []*adminv1.ExplainedMember{{Fate: adminv1.Fate_FATE_LOST, Path: "messages"}}}
	f.scripted.explain = func(req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
		asked = append(asked, req)
		return explained, nil
	}
	for name, session := range map[string]string{"an admin": f.signIn(t, f.root), "a viewer": f.signIn(t, f.viewer)} {
		if page := f.get(t, session, "/requests/1-2"); strings.Contains(page.body, "/bodies") || !strings.Contains(page.body, "Its bodies were captured") || !strings.Contains(page.body, "X-ray of an example") {
			t.Errorf("%s: the request's page", name)
		}
		if page := f.get(t, session, "/xray?request=1-2"); !strings.Contains(page.body, "is an example of the protocol") || !strings.Contains(page.body, `href="/requests/1-2"`) {
			t.Errorf("%s: the X-ray does not say that it is of an example", name)
		}
		for _, path := range []string{"/requests/1-2/bodies", "/playground?replay=1-2"} {
			if got := f.get(t, session, path); got.code != http.StatusForbidden || strings.Contains(got.body, "messages") {
				t.Errorf("%s: %s is %d", name, path, got.code)
			}
		}
	}
	for name, readOnly := range map[string]bool{"an admin with the right": false, "a viewer with the right": true} {
		session := f.reader(t, readOnly)
		if page := f.get(t, session, "/requests/1-2"); !strings.Contains(page.body, `href="/requests/1-2/bodies"`) || !strings.Contains(page.body, `href="/requests/1-2/bodies#xray"`) {
			t.Errorf("%s: the request's page has no link", name)
		}
		asked = nil
		page := f.get(t, session, "/requests/1-2/bodies")
		for _, want := range []string{"The caller’s body, chat_completions", "Call 1: what claude was sent", "&#34;failure&#34;", "Call 2: what claude answered", "is the one that the upstream was sent", `href="/playground?replay=1-2"`, `class="lost"`, `<strong id="lost">messages[0].&lt;b&gt;, top_k</strong>`} {
			if !strings.Contains(page.body, want) {
				t.Errorf("%s: the bodies have no %q", name, want)
			}
		}
		if len(asked) != 1 || asked[0].GetProtocol() != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS || asked[0].GetUpstream() != "claude" || string(asked[0].GetAnswer()) != `{"from":"claude"}` || asked[0].GetStream() || asked[0].GetModel() != "" {
			t.Errorf("%s: %v was explained", name, asked)
		}
		if strings.Contains(page.body, "/bodies/delete") == readOnly {
			t.Errorf("%s: the button to delete", name)
		}
		again := f.get(t, session, "/playground?replay=1-2")
		if again.code != http.StatusOK || !strings.Contains(again.body, "{&#34;model&#34;:&#34;m&#34;,&#34;messages&#34;:[]}") || !strings.Contains(again.body, "Then: Call 2: what claude answered") || !strings.Contains(again.body, `value="chat_completions"`) {
			t.Errorf("%s: the playground has %d %s", name, again.code, again.body)
		}
		deleted := f.post(t, session, "/requests/1-2/bodies/delete", nil)
		if readOnly && deleted.code != http.StatusForbidden || !readOnly && (deleted.code != http.StatusSeeOther || f.scripted.deleted.GetId() != "1-2") {
			t.Errorf("%s deletes: %d", name, deleted.code)
		}
	}
	explained.UpstreamBody = []byte(`{"to":"another"}`)
	session := f.reader(t, true)
	if page := f.get(t, session, "/requests/1-2/bodies"); !strings.Contains(page.body, "differs from what the upstream was sent") {
		t.Error("a translation that has changed since is not named")
	}
	f.scripted.explain = func(req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
		if req.GetUpstream() != "" {
			return nil, fault.Invalid("upstream", "upstream: the model's route has no target of that name")
		}
		return explained, nil
	}
	if page := f.get(t, session, "/requests/1-2/bodies"); !strings.Contains(page.body, `class="lost"`) {
		t.Error("an upstream that was removed is not replaced by its protocol")
	}
	f.scripted.explain = func(*adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
		return nil, fault.Invalid("model", "model: <no route>")
	}
	if page := f.get(t, session, "/requests/1-2/bodies"); page.code != http.StatusOK || !strings.Contains(page.body, "cannot be explained any more: model: &lt;no route&gt;") {
		t.Errorf("a route that was removed: %d", page.code)
	}
	for _, path := range []string{"/requests/9-9/bodies", "/playground?replay=9-9", "/playground?replay=%00"} {
		if got := f.get(t, session, path); got.code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.code)
		}
	}
}

// What is not whole is shown as what it is, and not sent again.
func TestBodiesInPart(t *testing.T) {
	f := openScripted(t)
	f.scripted.text, f.scripted.protocol, f.scripted.method = "up", genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "GenerateText"
	session := f.reader(t, true)
	caller := func(change func(*adminv1.CapturedBody)) []*adminv1.CapturedBody {
		b := &adminv1.CapturedBody{Kind: adminv1.BodyKind_BODY_KIND_CALLER_REQUEST, Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS.Enum(), Size: 9, Data: []byte("{}")}
		change(b)
		return []*adminv1.CapturedBody{b}
	}
	for name, c := range map[string]struct {
		bodies []*adminv1.CapturedBody
		want   string
	}{
		"cut":      {caller(func(b *adminv1.CapturedBody) { b.Cut = true }), "only the first 2 bytes are kept"},
		"redacted": {caller(func(b *adminv1.CapturedBody) { b.Redacted = true }), "members are redacted"},
		"binary":   {caller(func(b *adminv1.CapturedBody) { b.Data = []byte("\x00\xff") }), "it is no UTF-8"},
		"none":     {[]*adminv1.CapturedBody{}, "was not captured"},
		"unknown":  {caller(func(b *adminv1.CapturedBody) { b.Kind = 99 }), "a kind that this console does not know"},
	} {
		f.scripted.captured = c.bodies
		page := f.get(t, session, "/requests/1-2/bodies")
		if page.code != http.StatusOK || !strings.Contains(page.body, c.want) || strings.Contains(page.body, "replay=") {
			t.Errorf("%s: %d %s", name, page.code, page.body)
		}
		if got := f.get(t, session, "/playground?replay=1-2"); got.code != http.StatusConflict && got.code != http.StatusNotFound {
			t.Errorf("%s is sent again: %d", name, got.code)
		}
	}
	f.scripted.captured, f.scripted.method = caller(func(*adminv1.CapturedBody) {}), "CountTokens"
	if page := f.get(t, session, "/requests/1-2/bodies").body; !strings.Contains(page, "The X-ray is of requests that generate") {
		t.Errorf("a count: %s", page)
	}
}

// Case U28: the answer of a stream is explained as far as it came and was kept, whatever became of the
// request; nothing is made of one of which members are redacted.
func TestBodiesOfStreams(t *testing.T) {
	f := openScripted(t)
	session := f.reader(t, true)
	f.scripted.text, f.scripted.protocol, f.scripted.method = "claude", genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "StreamGenerateText"
	var asked *adminv1.ExplainRequest
	f.scripted.explain = func(req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
		asked = req
		return &adminv1.ExplainResponse{UpstreamBody: []byte(`{"to":"claude"}`), MessageJson: "{}", Answer: &adminv1.ExplainedAnswer{
			Stream: true, UpstreamEvents: 1234, CallerEvents: 77, UpstreamBody: []byte(`{"amounts":"to"}`), CallerBody: []byte(`{"caller":"gets"}`), Truncated: true,
			Refusal: &adminv1.ExplainedRefusal{Message: "the stream <was> cut"}, Members: []*adminv1.ExplainedMember{{Fate: adminv1.Fate_FATE_LOST, Path: "usage"}},
		}}, nil
	}
	for name, c := range map[string]struct {
		change func(*adminv1.CapturedBody)
		answer string
		says   string
	}{
		"whole":    {func(*adminv1.CapturedBody) {}, "data: {}", ""},
		"cut":      {func(b *adminv1.CapturedBody) { b.Cut = true }, "data: {}", "Only the first 8 bytes of the stream were kept"},
		"redacted": {func(b *adminv1.CapturedBody) { b.Redacted = true }, "", ""},
	} {
		f.scripted.captured = bodiesOf(`{"model":"m"}`, `{"to":"claude"}`, "data: {}")
		c.change(f.scripted.captured[4])
		page := f.get(t, session, "/requests/1-2/bodies").body
		if string(asked.GetAnswer()) != c.answer || !asked.GetStream() || !strings.Contains(page, c.says) || c.says == "" && strings.Contains(page, "Only the first") {
			t.Errorf("%s: %q is explained", name, asked.GetAnswer())
		}
		for _, want := range []string{"1234 events", "the 77 that the caller gets", "&#34;amounts&#34;", "&#34;caller&#34;", "the stream &lt;was&gt; cut", "more parameters than are traced", `class="lost"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
	}
	// Of an upstream that takes the contract's messages, the contract's events are the answer.
	f.scripted.captured = bodiesOf(`{"model":"m"}`, `{"to":"claude"}`, "")[:1]
	f.scripted.captured = append(f.scripted.captured, &adminv1.CapturedBody{Kind: adminv1.BodyKind_BODY_KIND_CONTRACT_ANSWER, Size: 12, Data: []byte(`{"ping":{}}` + "\n")})
	if f.get(t, session, "/requests/1-2/bodies"); string(asked.GetAnswer()) != `{"ping":{}}` {
		t.Errorf("%q is explained", asked.GetAnswer())
	}
}

// What callers and upstreams send is text, whatever it is.
func TestInjectionsOfBodies(t *testing.T) {
	f := openScripted(t)
	session := f.reader(t, false)
	f.scripted.protocol, f.scripted.method = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "GenerateText"
	for _, text := range injections {
		f.scripted.text = text
		f.scripted.captured = append(bodiesOf(text, text, text), &adminv1.CapturedBody{Kind: adminv1.BodyKind_BODY_KIND_CONTRACT_ANSWER, Upstream: text, Data: []byte(text)})
		f.scripted.captured[1].Upstream = text
		for _, path := range []string{"/requests/1-2/bodies", "/playground?replay=1-2"} {
			got := f.get(t, session, path)
			if got.code != http.StatusOK && got.code != http.StatusConflict {
				t.Errorf("%s: %d", path, got.code)
			}
			for _, wrong := range active(got.body) {
				t.Errorf("%s has %s", path, wrong)
			}
		}
	}
}
