package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
)

// Case V24: the page of the upstreams says of what kind their failures are, as a bar and as a table.
func TestFailuresByKind(t *testing.T) {
	f := openScripted(t)
	f.scripted.text = "u"
	got := f.get(t, f.signIn(t, f.viewer), "/upstreams")
	for _, text := range []string{
		"u: 8 failed", ">rate limited: 6</title>", `<a href="/requests?kind=rate_limited&amp;outcome=failed&amp;upstream=u">rate limited</a></th><td class="n">6</td><td class="n">75.0 %</td>`, `<a href="/requests?outcome=failed&amp;upstream=u&amp;without_kind=1">unknown</a></th><td class="n">1</td><td class="n">12.5 %</td>`, `Refused for what the caller sent: <a href="/requests?kind=invalid_request&amp;outcome=failed&amp;upstream=u">invalid request</a> 9.`,
	} {
		if got.code != http.StatusOK || !strings.Contains(got.body, text) {
			t.Errorf("%d: there is no %s in %s", got.code, text, got.body)
		}
	}
	if strings.Contains(got.body, "sandbox: ") || strings.Contains(got.body, "There are too many") || strings.Contains(got.body, "/upstreams/try") {
		t.Errorf("an upstream without failures has a mix, all are said to be too many, or a viewer may try: %s", got.body)
	}
}

// Case V25: an administrator tries an upstream, and sees its fault with its times.
func TestTry(t *testing.T) {
	f := openScripted(t)
	f.scripted.text = "rate_limited"
	session := f.signIn(t, f.root)
	if got := f.get(t, session, "/upstreams"); !strings.Contains(got.body, `href="/upstreams/try?upstream=sandbox"`) {
		t.Errorf("there is no link: %s", got.body)
	}
	if got := f.get(t, session, "/upstreams/try?upstream=rate_limited"); got.code != http.StatusOK || !strings.Contains(got.body, `<option value="rate_limited" selected>`) || !strings.Contains(got.body, `name="model" value="rate_limited"`) || f.scripted.tried != nil {
		t.Errorf("the form: %d, sent %v: %s", got.code, f.scripted.tried, got.body)
	}
	got := f.post(t, session, "/upstreams/try", url.Values{"upstream": {"rate_limited"}, "model": {" m "}, "image": {"1"}})
	for _, text := range []string{"rate_limited failed", "rate limited</span>", "<dd>429</dd>", "<dd>1.0 ms</dd>", `href="/requests?request=rate_limited"`} {
		if got.code != http.StatusOK || !strings.Contains(got.body, text) {
			t.Errorf("%d: there is no %s in %s", got.code, text, got.body)
		}
	}
	if tried := f.scripted.tried; tried.GetUpstream() != "rate_limited" || tried.GetModel() != "m" || !tried.GetImage() {
		t.Errorf("tried %v", tried)
	}
	f.scripted.refusal = fault.New(fault.RateLimited, "TOO_MANY_TRIALS", "wait for <b>2 seconds")
	if got := f.post(t, session, "/upstreams/try", url.Values{"upstream": {"u"}, "model": {"m"}}); got.code != http.StatusTooManyRequests || !strings.Contains(got.body, html.EscapeString("wait for <b>2 seconds")) {
		t.Errorf("too often: %d %s", got.code, got.body)
	}
}

// Case V26: nothing is tried for viewers, strangers, other sites and other hosts, nor by a link.
func TestTryRefuses(t *testing.T) {
	f := openScripted(t)
	f.scripted.text = "u"
	admin, viewer := f.signIn(t, f.root), f.signIn(t, f.viewer)
	form := url.Values{"upstream": {"u"}, "model": {"m"}}
	for name, c := range map[string]struct {
		session string
		change  func(*http.Request)
		code    int
	}{
		"nobody":         {"", nil, http.StatusUnauthorized},
		"a forged one":   {"gwk_nothing", nil, http.StatusUnauthorized},
		"a viewer":       {viewer, nil, http.StatusForbidden},
		"another site":   {admin, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"another origin": {admin, func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"another host":   {admin, func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
	} {
		r := request(t, c.session, http.MethodPost, "/upstreams/try", form)
		if c.change != nil {
			c.change(r)
		}
		if got := f.do(r); got.code != c.code {
			t.Errorf("%s: %d, want %d", name, got.code, c.code)
		}
	}
	if got := f.get(t, viewer, "/upstreams/try?upstream=u"); got.code != http.StatusForbidden {
		t.Errorf("a viewer's form: %d", got.code)
	}
	if f.scripted.tried != nil {
		t.Errorf("tried %v", f.scripted.tried)
	}
	for what, value := range strange {
		for _, name := range []string{"upstream", "model", "image"} {
			if got := f.post(t, admin, "/upstreams/try", url.Values{name: {value}}); got.code >= http.StatusInternalServerError || len(active(got.body)) > 0 {
				t.Errorf("%s as %s: %d", what, name, got.code)
			}
		}
	}
}
