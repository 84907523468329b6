//go:build screenshots

package console_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/genway/genway/test/conformance/server"
)

// maxPicture bounds a picture of the documentation, in bytes.
const maxPicture = 200 << 10

// explained is a body of messages some of which chat completions cannot carry.
const explained = `{"model": "qwen3-32b", "max_tokens": 256, "top_k": 40, "temperature": 0.2,
 "system": [{"type": "text", "text": "Answer briefly.", "cache_control": {"type": "ephemeral"}}],
 "tools": [{"name": "weather", "description": "The weather of a place", "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}}}],
 "messages": [{"role": "user", "content": "Will it rain in Lisbon?"}]}`

// startDemo starts a server on a made-up week.
func startDemo(t *testing.T) started {
	t.Helper()
	s := started{data: t.TempDir()}
	if _, err := server.Output("genway", "demo", "--data", s.data); err != nil {
		t.Fatal(err)
	}
	p, err := server.StartProcess("genway", "serve", "--data", s.data, "--config", filepath.Join(s.data, "demo.yaml"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0", "--log-format", "json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	pages, err := p.Await("the console is up")
	if err != nil {
		t.Fatal(err)
	}
	s.console = pages["console"]
	return s
}

// TestScreenshots takes the pictures of the README and of docs/observability.md (make screenshots) into the directory that GENWAY_SCREENSHOTS names, and
// with GENWAY_SCREENSHOTS_ALL those of all pages, in both themes, wide and narrow.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("GENWAY_SCREENSHOTS")
	if dir == "" {
		t.Fatal("GENWAY_SCREENSHOTS names no directory")
	}
	chrome := startBrowser(t)
	s := startDemo(t)
	b := newVisit(t, chrome)
	b.open(s.console+"/sign-in", "#sign-in")
	b.open(s.anotherLink(t), "header nav")
	b.do("choose a theme", themed("light"), chromedp.EmulateViewport(1280, 800))
	b.open(s.console+"/overview", "figure svg")
	b.shot("overview")
	b.open(s.console+"/requests?upstream=azure&outcome=ok&period=all", "#requests tbody a")
	b.click("#requests tbody a", there("svg.waterfall"))
	b.shot("request")
	b.open(s.console+"/xray?protocol=messages&upstream=protocol:chat_completions", "textarea[name=body]")
	b.do("write a body", chromedp.SetValue("textarea[name=body]", explained, chromedp.ByQuery))
	b.click(`form[action="/xray"] button`, there("tr.lost"))
	b.do("look at the result", chromedp.Evaluate(`document.querySelector("form[action='/xray'] ~ *").scrollIntoView()`, nil))
	b.shot("xray")
	b.open(s.console+"/usage?by=model", "figure svg")
	b.shot("usage")
	b.do("choose a theme", themed("dark"), chromedp.EmulateViewport(400, 800))
	b.open(s.console+"/requests", "#requests tbody a")
	b.shot("requests-narrow")
	for _, name := range []string{"overview", "request", "xray", "usage", "requests-narrow"} {
		info, err := os.Stat(filepath.Join(dir, name+".png"))
		if err != nil || info.Size() > maxPicture {
			t.Errorf("%s is of %d bytes, at most %d are good: %v", name, info.Size(), maxPicture, err)
		}
	}
	if os.Getenv("GENWAY_SCREENSHOTS_ALL") != "" {
		all(b, s)
	}
	b.clean()
}

// all takes all pages.
func all(b *browser, s started) {
	for _, width := range []int64{1280, 400} {
		for _, theme := range []string{"light", "dark"} {
			b.do("choose a theme", themed(theme), chromedp.EmulateViewport(width, 1000))
			for _, p := range append(slices.Clone(paths), struct{ name, path string }{"key", "/keys"}) {
				if p.path == "/requests/LAST" {
					b.open(s.console+"/requests?upstream=azure&outcome=ok&period=all", "#requests tbody a")
					b.click("#requests tbody a", there("svg.waterfall"))
				} else {
					b.open(s.console+p.path, "main h1")
				}
				name := p.name + "-" + theme
				if width < 1000 {
					name += "-narrow"
				}
				switch p.name {
				case "key":
					b.click(`#main tbody a[href^="/keys/"]`, there(`form[action$="/settings"]`))
				case "configuration":
					b.click(`main details summary`, there("textarea[name=yaml]"))
					b.do("change it", chromedp.Evaluate(`(() => { const e = document.querySelector("textarea[name=yaml]"); e.value = e.value.replace("weight: 3", "weight: 5"); })()`, nil))
					b.click(`button[value=check]`, there("tr.new"))
				case "xray":
					b.click(`form[action="/xray"] button`, there("tr.kept, tr.mapped"))
				case "playground":
					for n, text := range []string{"What is a gateway?", "And in one word?"} {
						b.click("#say", "")
						b.keys(text, there("#say"))
						b.click("#say-send", `document.querySelectorAll("#turns .hint").length === `+strconv.Itoa(n+1))
					}
				}
				var picture []byte
				b.do("take a picture", chromedp.FullScreenshot(&picture, 100))
				if err := os.WriteFile(filepath.Join(os.Getenv("GENWAY_SCREENSHOTS"), name+".png"), picture, 0o600); err != nil {
					b.t.Fatal(err)
				}
			}
		}
	}
}
