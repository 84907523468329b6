package console_test

import (
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
)

// Case U37: an admin asks for the bodies of a key's requests and ends that, which the audit has; a viewer sees the
// rules and changes none, and what is absurd is refused in words.
func TestCaptureRules(t *testing.T) {
	f := openScripted(t)
	session, viewer := f.signIn(t, f.root), f.signIn(t, f.viewer)
	_, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "<b>ci</b>", Owner: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	form := func(changes ...string) url.Values {
		with := url.Values{"key": {key.ID}, "for": {"2h"}, "share": {"12.5"}, "max_bytes": {"1024"}, "redact": {"content, /messages/*/text"}}
		for i := 0; i < len(changes); i += 2 {
			with.Set(changes[i], changes[i+1])
		}
		return with
	}
	rule := func() *keys.Key {
		got, err := f.keys.Get(t.Context(), key.ID)
		if err != nil {
			t.Fatal(err)
		}
		return &got
	}
	if page := f.get(t, session, "/captures?key="+key.ID).body; !strings.Contains(page, "Nothing is captured now") || !strings.Contains(page, `name="key" value="`+key.ID+`"`) {
		t.Error(page)
	}
	for name, with := range map[string]url.Values{
		"no duration": form("for", ""), "a duration of nothing": form("for", "0s"), "backwards": form("for", "-1h"), "too far": form("for", "169h"), "absurdly far": form("for", "2540400h10m10s"),
		"no share": form("share", "0"), "a negative share": form("share", "-1"), "more than all": form("share", "100.1"), "NaN": form("share", "NaN"), "infinite": form("share", "1e999"),
		"bytes": form("max_bytes", "-1"), "more bytes than fit": form("max_bytes", strconv.FormatUint(math.MaxUint64, 10)), "many bytes": form("max_bytes", "9007199254740993"), "a bad pointer": form("redact", "/a~2"),
		"a long name": form("redact", strings.Repeat("x", 300)), "neither": form("key", ""), "both": form("route", "0"), "no such route": form("key", "", "route", "0"), "a route of a text": form("key", "", "route", "x"),
		"no such key": form("key", "key_none"), "a huge key": form("key", strings.Repeat("k", 100_000)),
	} {
		if got := f.post(t, session, "/captures", with); got.code < 400 || got.code >= 500 || rule().Policy.Capture != nil {
			t.Errorf("%s: %d %+v", name, got.code, rule().Policy.Capture)
		}
	}
	if got := f.post(t, viewer, "/captures", form()); got.code != http.StatusForbidden || rule().Policy.Capture != nil {
		t.Errorf("a viewer asks: %d", got.code)
	}
	got := f.post(t, session, "/captures", form())
	asked := rule().Policy.Capture
	if got.code != http.StatusOK || asked == nil || asked.Share != 0.125 || asked.MaxBytes != 1024 || strings.Join(asked.Redact, " ") != "content /messages/*/text" || time.Until(asked.Until) > 2*time.Hour || time.Until(asked.Until) < time.Hour {
		t.Fatalf("%d %+v %s", got.code, asked, got.body)
	}
	for name, session := range map[string]string{"an admin": session, "a viewer": viewer} {
		page := f.get(t, session, "/captures").body
		for _, text := range []string{`<a href="/keys/` + key.ID + `">&lt;b&gt;ci&lt;/b&gt;</a>`, `<td class="n">12.5 %</td><td class="n">1.0 KiB</td><td class="wrap">content, /messages/*/text</td>`} {
			if !strings.Contains(page, text) {
				t.Errorf("%s: there is no %s in %s", name, text, page)
			}
		}
		if strings.Contains(page, `action="/captures`) != (name == "an admin") {
			t.Errorf("%s: forms in %s", name, page)
		}
	}
	if got := f.post(t, viewer, "/captures/end", url.Values{"key": {key.ID}}); got.code != http.StatusForbidden || rule().Policy.Capture == nil {
		t.Errorf("a viewer ends it: %d", got.code)
	}
	if got := f.post(t, session, "/captures/end", url.Values{"key": {key.ID}}); got.code != http.StatusOK || rule().Policy.Capture != nil || !strings.Contains(got.body, "Nothing is captured now") {
		t.Errorf("%d %s", got.code, got.body)
	}
	if rule().Name != "<b>ci</b>" || rule().Owner != "a" {
		t.Errorf("other settings were changed: %+v", rule().Settings)
	}
	if record := f.get(t, session, "/audit?subject="+key.ID).body; strings.Count(record, "key.update") < 2 {
		t.Error(record)
	}
}

// Case U38: the rule of a route is written into the file where that may be written, and is shown as the line to write
// where it may not. The secrets that are masked in the text stay what they are.
func TestCaptureRulesOfRoutes(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	const file = "upstreams:\n  one: {kind: chat, base_url: \"https://one.example/v1\", api_key: canary}\nroutes:\n  - {model: \"a*\", targets: [{upstream: one}], capture: {until: 2020-01-01}}\n  - {model: \"<b>*\", protocols: [messages], targets: [{upstream: sandbox}]}\n"
	masked, err := config.MaskedText([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	f.scripted.yaml = string(masked)
	written := func() *config.Config {
		t.Helper()
		whole, _, err := config.Unmask([]byte(f.scripted.typed), []byte(file))
		if err != nil {
			t.Fatalf("%v in %s", err, f.scripted.typed)
		}
		c, err := config.Parse("f", whole, os.LookupEnv)
		if err != nil || c.Upstreams["one"].APIKey != "canary" || len(c.Routes) != 2 {
			t.Fatalf("%v in %s", err, whole)
		}
		return c
	}
	page := f.get(t, session, "/captures").body
	for _, text := range []string{`<option value="0">a*</option>`, `<option value="1">&lt;b&gt;* for messages</option>`, `End the rule of route a*`} {
		if !strings.Contains(page, text) {
			t.Errorf("there is no %s in %s", text, page)
		}
	}
	with := url.Values{"route": {"1"}, "for": {"30m"}, "share": {"1"}, "redact": {"content"}}
	if got := f.post(t, session, "/captures", with); got.code != http.StatusOK {
		t.Fatalf("%d %s", got.code, got.body)
	}
	rule := written().Routes[1].Capture
	if rule == nil || *rule.Share != 0.01 || rule.MaxBytes != 0 || rule.Redact[0] != "content" || time.Until(time.Time(rule.Until)) > 30*time.Minute || time.Until(time.Time(rule.Until)) < 29*time.Minute {
		t.Errorf("%+v in %s", rule, f.scripted.typed)
	}
	if got := f.post(t, session, "/captures/end", url.Values{"route": {"0"}}); got.code != http.StatusOK || written().Routes[0].Capture != nil {
		t.Errorf("%d %s", got.code, f.scripted.typed)
	}
	f.scripted.typed, f.scripted.fixed = "", true
	got := f.post(t, session, "/captures", with)
	if got.code != http.StatusOK || f.scripted.typed != "" || !strings.Contains(got.body, "<pre>capture: {share: 0.01, redact: [content], until:") {
		t.Errorf("%d %s", got.code, got.body)
	}
	if got := f.post(t, session, "/captures/end", url.Values{"route": {"0"}}); got.code != http.StatusConflict || f.scripted.typed != "" {
		t.Errorf("%d %s", got.code, got.body)
	}
	for _, route := range []string{"-1", "2", "9223372036854775807", "9999999999999999999", "0x0", ""} {
		if got := f.post(t, session, "/captures/end", url.Values{"route": {route}}); got.code != http.StatusBadRequest {
			t.Errorf("route %q: %d", route, got.code)
		}
	}
}
