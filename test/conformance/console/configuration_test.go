package console_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// ofTheConfiguration is case X65: an admin edits the file where the server was started so, sees each mistake as it
// is typed, and what is written is in force, with its secrets and in the audit.
func ofTheConfiguration(b *browser, _ started) {
	t := b.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "genway.yaml")
	const text = "# mine\nupstreams: {one: {kind: chat, base_url: \"https://one.example/v1\", api_key: canary}}\nroutes: [{model: \"*\", targets: [{upstream: sandbox}], fallback: [{upstream: one}]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--config", file, "--console-write")
	b.open(s.link, "header nav")
	b.click(`header a[href="/configuration"]`, there("details summary"))
	b.click(`main details summary`, there("textarea[name=yaml]"))
	b.click(`textarea[name=yaml]`, `document.activeElement.name === "yaml"`)
	typed := func(from, to string) {
		t.Helper()
		b.do("type", chromedp.Evaluate(`(() => { const e = document.querySelector("textarea[name=yaml]"); e.value = e.value.replace("`+from+`", "`+to+`"); e.dispatchEvent(new Event("input", {bubbles: true})); })()`, nil))
	}
	typed("upstream: sandbox", "upstream: nowhere")
	b.until("the mistake has its line", `/line \d+: .*nowhere/.test(document.querySelector("#typed-mistakes").textContent)`)
	typed("upstream: nowhere", "upstream: sandbox")
	typed("model: \\\"*\\\"", "model: sandbox-*")
	b.until("nothing is wrong", `document.querySelector("#typed-mistakes").textContent === "nothing is wrong"`)
	b.click(`button[value=check]`, `document.querySelectorAll("tr.new").length === 1 && document.querySelectorAll("tr.gone").length === 1`)
	b.do("bypass the policy", page.SetBypassCSP(true)) // as pagesAreAccessible does
	b.accessible("the editor", axeCore(t), `{}`)
	b.do("restore the policy", page.SetBypassCSP(false))
	b.click(`button[value=write]`, `document.body.innerText.includes("The file was written") && document.body.innerText.includes("sandbox-*") && !document.body.innerText.includes("canary")`)
	now, err := os.ReadFile(file)
	if err != nil || string(now) != strings.NewReplacer("canary", `"canary"`, `model: "*"`, "model: sandbox-*").Replace(text) {
		t.Errorf("%v: %s", err, now)
	}
	b.click(`header a[href="/audit"]`, `document.body.innerText.includes("configuration.write")`)
	b.clean()
}
