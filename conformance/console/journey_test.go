package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hello is a request with a member that upstreams of other protocols lose.
const hello = `{"model":"sandbox-text","messages":[{"role":"user","content":"Say hello."}],"logit_bias":{"1":1}}`

// Case X60: from the first start to a limit that refuses, by mouse and under the policy of the pages: none
// throws, and none breaks its policy.
func TestJourney(t *testing.T) {
	b := openBrowser(t)
	s := start(t)
	b.open(s.link, "header nav")
	var at string
	b.do("look at the address", chromedp.Location(&at))
	if strings.Contains(at, "gwk_") {
		t.Errorf("the secret of the link stays in the address: %s", at)
	}
	b.click(`header a[href="/keys"]`, there(`a[href="/keys/new"]`))
	b.click(`a[href="/keys/new"]`, there(`form[action="/keys"] button`))
	b.click(`input[name=name]`, "")
	b.keys("first", `document.querySelector("input[name=name]").value === "first"`)
	b.click(`form[action="/keys"] button`, there("#raw"))
	key := b.text("#raw")
	if code := s.ask(t, key, hello); code != http.StatusOK {
		t.Fatalf("the first request: %d", code)
	}
	b.click(`input[name=requests_per_minute]`, "")
	b.keys("1", `document.querySelector("input[name=requests_per_minute]").value === "1"`)
	b.click(`form[action$="/settings"] button`, `!document.querySelector("#raw") && document.querySelector("input[name=requests_per_minute]")?.value === "1"`)
	refused := false
	for range 3 { // one a minute
		refused = refused || s.ask(t, key, hello) == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("nothing was refused")
	}
	b.click(`a[href^="/audit?subject="]`, `document.body.innerText.includes("key.update")`)
	b.click(`form[action="/sign-out"] button`, there("#sign-in"))
	b.clean()
}

// A page is reached and used without a mouse.
func TestByKeyboard(t *testing.T) {
	b := openBrowser(t)
	s := start(t)
	b.open(s.console, "#sign-in")
	b.keys(s.link, "")
	b.keys(kb.Enter, there("header nav"))
	b.keys("g", "")
	b.keys("k", there(`a[href="/keys/new"]`))
	b.keys("/", `document.activeElement.name === "owner"`)
	for _, next := range []string{"group", "all", "", ""} { // the button, and the link to a new key
		b.keys(kb.Tab, `(document.activeElement.name ?? "") === "`+next+`"`)
	}
	b.keys(kb.Enter, there(`form[action="/keys"]`))
	b.do("focus the name", chromedp.Focus(`input[name=name]`, chromedp.ByQuery))
	b.keys("typed", "")
	b.keys(kb.Enter, there("#raw"))
	if code := s.ask(t, b.text("#raw"), hello); code != http.StatusOK {
		t.Errorf("its key: %d", code)
	}
	b.clean()
}
