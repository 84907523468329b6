package console_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hello is a request with a member that upstreams of other protocols lose.
const hello = `{"model":"sandbox-text","messages":[{"role":"user","content":"Say hello."}],"logit_bias":{"1":1}}`

// TestConsole opens one server's console in one Chromium, one test after the other.
func TestConsole(t *testing.T) {
	chrome := startBrowser(t)
	s := start(t)
	for _, test := range []struct {
		name string
		run  func(*browser, started)
	}{{"the journey", journey}, {"by keyboard", byKeyboard}, {"by an identity provider", byAnIdentityProvider}, {"the configuration", ofTheConfiguration}, {"captured bodies", ofCapturedBodies}, {"pages are accessible", pagesAreAccessible}} {
		t.Run(test.name, func(t *testing.T) { test.run(newVisit(t, chrome), s) })
	}
}

// journey is case X60: from the first start to a limit that refuses, by mouse and under the policy of the
// pages: none throws, and none breaks its policy.
func journey(b *browser, s started) {
	t := b.t
	t.Helper()
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
	b.click(`header a[href="/requests"]`, there("#tail-pause"))
	b.click(`#tail-pause`, `document.querySelector("#tail-state").textContent.startsWith("Live")`)
	b.follow(s, key)
	b.until("a request is there by itself", there("#requests tbody a"))
	b.click(`#tail-pause`, `document.querySelector("#tail-state").textContent.startsWith("Paused")`)
	b.click(`#requests thead th:nth-child(10) button`, `document.querySelector("#requests th[aria-sort]").textContent === "In"`)
	b.do("choose a zone", emulation.SetTimezoneOverride("Asia/Tokyo"), chromedp.Reload())
	b.until("times are of the zone", `document.querySelector("#zone").textContent === "Times: Asia/Tokyo" && document.querySelector("#requests time").textContent !== document.querySelector("#requests time").dataset.utc`)
	b.click(`#zone button`, `document.querySelector("#zone").textContent === "Times: UTC" && document.querySelector("#requests time").textContent === document.querySelector("#requests time").dataset.utc`)
	b.click(`#requests tbody a`, there("svg.waterfall"))
	b.click(`a[href^="/xray?"]`, there("textarea[name=body]"))
	b.click(`form[action="/xray"] button`, there("tr.kept, tr.mapped"))
	b.do("go back", chromedp.NavigateBack(), chromedp.NavigateBack())
	b.click(`a[href^="/keys/key_"]`, there(`form[action$="/settings"]`))
	b.click(`input[name=requests_per_minute]`, "")
	b.keys("1", `document.querySelector("input[name=requests_per_minute]").value === "1"`)
	b.click(`form[action$="/settings"] button`, `document.querySelector("input[name=requests_per_minute]")?.defaultValue === "1"`)
	refused := false
	for range 3 { // one a minute
		refused = refused || s.ask(t, key, hello) == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("nothing was refused")
	}
	b.do("remember the page", chromedp.Location(&at))
	b.click(`header a[href="/requests"]`, there(`a[href="/requests/refused"]`))
	b.click(`a[href="/requests/refused"]`, `document.querySelector("#refused tbody").innerText.includes("key, 1 requests/minute")`)
	b.open(at, `a[href^="/audit?subject="]`)
	b.click(`a[href^="/audit?subject="]`, `document.body.innerText.includes("key.update")`)
	playground(b)
	b.click(`form[action="/sign-out"] button`, there("#sign-in"))
	b.clean()
}

// follow makes requests until the live tail has one: what ends before the tail begins is not followed.
func (b *browser) follow(s started, key string) {
	b.t.Helper()
	for shown := false; !shown; {
		if code := s.ask(b.t, key, hello); code != http.StatusOK {
			b.t.Fatalf("a request: %d", code)
		}
		b.do("look", chromedp.Evaluate(`!document.querySelector("#tail-state").textContent.startsWith("Live: 0")`, &shown))
	}
}

// playground is case X64: a body is sent as each protocol, and what comes is shown: raw, as text, as a tool
// call and as an image, with its row of the ledger.
func playground(b *browser) {
	b.t.Helper()
	b.click(`header a[href="/playground"]`, there("#as-curl"))
	ended := func(n int) string {
		return `document.querySelectorAll("section.answer[data-ended]").length === ` + strconv.Itoa(n) + ` && !document.querySelector("section.answer .badge.failed")`
	}
	for _, p := range []struct{ link, shown string }{
		{"", `document.querySelector(".said").textContent.includes("Say hello.") && document.querySelectorAll(".raw li").length > 3`},
		{"?protocol=responses", there(".raw li")},
		{"?protocol=messages", there(".raw li")},
		{"?example=tools&protocol=messages", `document.querySelector(".tool").textContent.startsWith("get_weather({")`},
		{"?protocol=generate_content", there(".raw li")},
		{"?protocol=images", `document.querySelector(".images img").naturalWidth === 256`},
		{"?protocol=grpc", `document.querySelector(".said").textContent.includes("Say hello.")`},
	} {
		if p.link != "" {
			b.click(`main a[href="`+p.link+`"]`, `location.search === "`+p.link+`" && `+there("#as-curl"))
		}
		b.click("#run", ended(1)+" && "+p.shown+" && "+there(`section.answer a[href^="/requests/"]`))
	}
	toolByForm(b)
	chats(b)
	b.click("input[name=model]", "")
	b.keys("sandbox-text, sandbox-other", `document.querySelector("#as-curl").textContent.includes("sandbox-text")`)
	b.click("#run", `document.querySelectorAll("section.answer[data-ended]").length === 2 && `+there("section.answer .badge.failed"))
}

// toolByForm is case V13: a tool is added to the body by a form, as each protocol spells one, and offered; what is no tool
// changes nothing.
func toolByForm(b *browser) {
	b.t.Helper()
	for _, p := range []string{"chat_completions", "responses", "messages", "generate_content", "grpc"} {
		b.click(`main nav[aria-label="Protocols"] a[href="?protocol=`+p+`"]`, `location.search === "?protocol=`+p+`" && `+there("#as-curl"))
		b.click("#tool-form summary", there("#tool-add"))
		b.click("#tool-add", `document.getElementById("tool-state").textContent.startsWith("Name the tool")`)
		b.keys("say_hello", "") // the name has the focus
		b.click(`[data-tool="parameters"]`, "")
		b.keys("<b>", "")
		b.click("#tool-add", `document.getElementById("tool-state").textContent.includes("<b>") && !document.querySelector("textarea[name=body]").value.includes("say_hello")`)
		b.keys(kb.Backspace+kb.Backspace+kb.Backspace+"city: string, days?: integer", "")
		b.click("#tool-add", `document.getElementById("tool-state").textContent.includes("1 in all") && document.getElementById("as-curl").textContent.includes("say_hello")`)
		b.click("#run", `document.querySelectorAll("section.answer[data-ended]").length === 1 && !document.querySelector("section.answer .badge.failed") && document.querySelector(".said").textContent.includes("Tools offered: say_hello")`)
	}
}

// byKeyboard is case X75: the same journey without a mouse. What is not at the beginning of a page is reached by
// Tab alone.
func byKeyboard(b *browser, s started) {
	t := b.t
	t.Helper()
	b.open(s.console, "#sign-in")
	b.keys(s.anotherLink(t), "")
	b.keys(kb.Enter, there("header nav"))
	b.keys("g", "")
	b.keys("k", there(`a[href="/keys/new"]`))
	b.keys("/", `document.activeElement.name === "name"`)
	for _, next := range []string{"owner", "group", "all", "", ""} { // the button, and the link to a new key
		b.keys(kb.Tab, `(document.activeElement.name ?? "") === "`+next+`"`)
	}
	b.keys(kb.Enter, there(`form[action="/keys"]`))
	b.tab("input[name=name]")
	b.keys("typed", "")
	b.keys(kb.Enter, there("#raw"))
	key := b.text("#raw")
	if code := s.ask(t, key, hello); code != http.StatusOK {
		t.Fatalf("the first request: %d", code)
	}
	b.keys("g", "")
	b.keys("r", there("#tail-pause"))
	b.tab("#tail-pause")
	b.keys(kb.Enter, `document.querySelector("#tail-state").textContent.startsWith("Live")`)
	b.follow(s, key)
	b.keys(" ", `document.querySelector("#tail-state").textContent.startsWith("Paused")`)
	b.tab("#requests tbody a")
	b.keys(kb.Enter, there("svg.waterfall"))
	b.tab(`a[href^="/xray?"]`)
	b.keys(kb.Enter, there("textarea[name=body]"))
	b.tab(`form[action="/xray"] button`)
	b.keys(kb.Enter, there("tr.kept, tr.mapped"))
	b.keys("g", "")
	b.keys("k", there(`a[href="/keys/new"]`))
	var at string
	b.do("find the key", chromedp.Evaluate(`[...document.querySelectorAll("tbody th a")].find(a => a.textContent === "typed").getAttribute("href")`, &at))
	b.tab(`tbody a[href="` + at + `"]`)
	b.keys(kb.Enter, there(`form[action$="/settings"]`))
	b.tab("input[name=requests_per_minute]")
	b.keys("1", "")
	b.keys(kb.Enter, `document.querySelector("input[name=requests_per_minute]")?.defaultValue === "1"`)
	refused := false
	for range 3 { // one a minute
		refused = refused || s.ask(t, key, hello) == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("nothing was refused")
	}
	b.tab(`a[href^="/audit?subject="]`)
	b.keys(kb.Enter, `document.body.innerText.includes("key.update")`)
	b.tab(`form[action="/sign-out"] button`)
	b.keys(kb.Enter, there("#sign-in"))
	b.clean()
}

// maxTabs is how many presses of Tab a page may take.
const maxTabs = 200

// tab presses Tab until an element has the focus, which is visible.
func (b *browser) tab(selector string) {
	b.t.Helper()
	b.until("reach "+selector, there(selector))
	b.do("begin at the top", chromedp.Evaluate(`document.activeElement.blur()`, nil))
	for range maxTabs {
		var reached bool
		b.do("press Tab", chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(fmt.Sprintf(`document.activeElement.matches(%q) && getComputedStyle(document.activeElement).outlineStyle !== "none"`, selector), &reached))
		if reached {
			return
		}
	}
	b.t.Fatalf("%d presses of Tab do not lead to %s", maxTabs, selector)
}

// chats is a conversation of two turns in each protocol of text, one whose tool is called, and a picture that is drawn.
func chats(b *browser) {
	b.t.Helper()
	turns := func(n int) string {
		return `document.querySelectorAll("#turns .turn.model .hint").length === ` + strconv.Itoa(n)
	}
	say := func(text, shown string) {
		b.t.Helper()
		b.click("#say", "")
		b.keys(text, `document.querySelector("#say").value === "`+text+`"`)
		b.click("#say-send", shown)
	}
	picture := filepath.Join(b.t.TempDir(), "picture.png")
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(picture, drawn.Bytes(), 0o600); err != nil {
		b.t.Fatal(err)
	}
	for _, protocol := range []string{"chat_completions", "responses", "messages", "generate_content", "grpc"} {
		b.do("open "+protocol, chromedp.Evaluate(`location.assign("/playground?protocol=`+protocol+`&example=tools")`, nil))
		b.until(protocol+" is open", `location.search.includes("protocol=`+protocol+`&") && `+there("#as-curl"))
		say("Paris weather", `document.querySelectorAll("#turns .turn.model input").length === 1 && `+turns(1))
		b.click("#turns input", "")
		b.keys("sunny", `document.querySelector("#turns input").value === "sunny"`)
		b.click("#turns button", turns(2))
		b.do("choose a picture", chromedp.SetUploadFiles("#picture", []string{picture}, chromedp.ByQuery))
		say("Thanks", turns(3)+` && document.querySelector("#turns .turn img").naturalWidth === 4 && document.querySelector("textarea[name=body]").value.includes("image") && !document.querySelector("section.answer .badge.failed") && document.querySelector("textarea[name=body]").value.includes("sunny")`)
	}
	b.do("open images", chromedp.Evaluate(`location.assign("/playground?protocol=images")`, nil))
	b.until("images are open", `location.search === "?protocol=images" && `+there("#as-curl"))
	say("A blue circle", `document.querySelector("#turns .turn.model img")?.naturalWidth === 256`)
	b.do("back to a text", chromedp.Evaluate(`location.assign("/playground")`, nil))
	b.until("a text is open", `location.search === "" && `+there("#as-curl"))
}
