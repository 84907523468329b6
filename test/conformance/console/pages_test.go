package console_test

import (
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// paths are the pages of a console, by the names of their pictures.
var paths = []struct{ name, path string }{
	{"overview", "/overview"}, {"requests", "/requests"}, {"request", "/requests/LAST"}, {"refused", "/requests/refused"}, {"xray", "/xray"}, {"playground", "/playground"}, {"upstreams", "/upstreams"}, {"try", "/upstreams/try?upstream=sandbox"}, {"configuration", "/configuration"}, {"captures", "/captures"}, {"nodes", "/nodes"}, {"usage", "/usage?by=model"}, {"keys", "/keys"}, {"newkey", "/keys/new"}, {"keyimport", "/keys/import"}, {"audit", "/audit"}, {"sessions", "/sessions"}, {"connect", "/connect"},
}

func axeCore(t *testing.T) string {
	t.Helper()
	file, err := os.Open("testdata/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// themed shows pages as to somebody who has chosen that theme.
func themed(theme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}})
}

// pagesAreAccessible is case X59: axe-core finds nothing on any page, in light and dark, wide and narrow, and no page is wider than
// a narrow screen.
func pagesAreAccessible(b *browser, s started) {
	t := b.t
	t.Helper()
	axe := axeCore(t)
	// axe-core makes elements of strings, which the console's policy forbids its own pages. The journey
	// runs under that policy.
	b.do("bypass the policy", page.SetBypassCSP(true))
	b.open(s.console+"/sign-in", "#sign-in")
	b.accessible("sign-in", axe, `{}`)
	b.open(s.anotherLink(t), "header nav") // on the page that is open: a change of what is behind #
	for _, screen := range []struct {
		theme string
		width int64
		rules string // of axe-core; what a page has does not depend on its colors
	}{{"light", 1280, `{}`}, {"dark", 400, `{runOnly: ["color-contrast"]}`}} {
		b.do("choose a theme", themed(screen.theme), chromedp.EmulateViewport(screen.width, 900))
		for _, p := range paths {
			var wide bool
			if p.path == "/requests/LAST" {
				b.click("#requests tbody a", there("dl.facts"))
			} else {
				b.open(s.console+p.path, "main h1")
			}
			b.do("measure "+p.path, chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &wide))
			if wide {
				t.Errorf("%s is wider than %d pixels", p.path, screen.width)
			}
			b.accessible(p.path+" "+screen.theme, axe, screen.rules)
			b.shot(p.name + "-" + screen.theme)
		}
	}
}
