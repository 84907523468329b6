package console_test

import (
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/genway/genway/test/conformance/server"
)

// ofCapturedBodies is case X86: who may read captured bodies opens those of a request, sees what the translation did
// to them, sends the request again beside what was answered then, and deletes them.
func ofCapturedBodies(b *browser, s started) {
	t := b.t
	t.Helper()
	key, err := server.CreateKey(s.data, "chat", "captured", "--capture-until", "1h")
	if err != nil {
		t.Fatal(err)
	}
	code, lost := s.asked(t, key, `{"model":"sandbox-text","messages":[{"role":"user","content":"Say <i>canary</i>."}],"logit_bias":{"1":1}}`)
	if code != http.StatusOK || lost != "logit_bias" {
		t.Fatalf("the request: %d, lost %q", code, lost)
	}
	link, err := server.Output("genway", "console", "link", "--data", s.data, "--url", s.console, "--read-captures")
	if err != nil {
		t.Fatal(err)
	}
	b.open(strings.TrimSpace(link), "header nav")
	b.click(`header a[href="/requests"]`, there("#requests tbody a"))
	b.click("#requests tbody a", there("dl.facts"))
	const bodies = `main a[href$="/bodies"]`
	b.untilReloaded("the bodies are written", there(bodies))
	b.click(`main a[href$="/bodies#xray"]`, `document.querySelector("#lost").textContent === "`+lost+`"`)
	b.do("back", chromedp.NavigateBack())
	b.click(bodies, `document.body.innerText.includes("Say <i>canary</i>.") && document.body.innerText.includes("is the one that the upstream was sent") && `+there("tr.mapped")+` && document.body.innerText.includes("The answer on its way back")`)
	axe := axeCore(t)
	b.do("bypass the policy", page.SetBypassCSP(true)) // as pagesAreAccessible does
	b.accessible("the bodies", axe, `{}`)
	b.shot("bodies-light")
	var wide bool
	b.do("measure", themed("dark"), chromedp.EmulateViewport(400, 900), chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &wide))
	if wide {
		t.Error("the bodies are wider than 400 pixels")
	}
	b.accessible("the bodies, dark", axe, `{runOnly: ["color-contrast"]}`)
	b.shot("bodies-dark")
	b.do("restore the policy", page.SetBypassCSP(false), themed("light"), chromedp.EmulateViewport(1280, 900), chromedp.Reload())
	b.click(`main a[href^="/playground?replay="]`, there("#as-curl")+` && document.querySelector("textarea[name=body]").value.includes("canary") && document.body.innerText.includes("Then: ")`)
	b.click("#run", `document.querySelectorAll("section.answer[data-ended]").length === 1 && !document.querySelector("section.answer .badge.failed")`)
	b.do("back", chromedp.NavigateBack())
	b.click(`form[action$="/bodies/delete"] button`, there("dl.facts")+` && location.pathname.startsWith("/requests/") && !document.querySelector('`+bodies+`')`)
	b.clean()
}
