package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/genway/genway/test/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// within bounds one step of a page: far above what it takes on a loaded machine.
const within = 3 * time.Minute

// browser is a tab of a Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context // chromedp's handle of a tab

	mu    sync.Mutex
	wrong []string
}

// chromium returns the program of a browser. Without one the test says so and does not run.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	fmt.Fprintln(os.Stderr, "SKIPPED: there is no Chromium, so the console was opened in no browser (Debian, Ubuntu: chromium)")
	t.Skip("there is no Chromium")
	return ""
}

// startBrowser starts a Chromium with a profile of its own, which ends with the test. Now and then one ends as it starts, for
// reasons of its own: it has three tries.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	var err error
	for range 3 {
		var ctx context.Context
		if ctx, err = startOnce(t); err == nil {
			return ctx
		}
		t.Logf("start Chromium: %v", err)
	}
	t.Fatalf("start Chromium: %v", err)
	return nil
}

func startOnce(t *testing.T) (context.Context, error) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(within), chromedp.UserDataDir(t.TempDir()))
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocated)
	if err := chromedp.Run(ctx); err != nil {
		stop()
		end()
		return nil, err //nolint:wrapcheck // the caller says what failed
	}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("end Chromium: %v", err)
		}
		stop()
		end()
	})
	return ctx, nil
}

// newVisit opens a tab that ends with the test: nobody is signed in, and no page of another test still loads. A page
// that breaks its policy, throws, or writes an error is noted.
func newVisit(t *testing.T, chrome context.Context) *browser { //nolint:revive // it is no call's context but chromedp's handle of a browser
	t.Helper()
	ctx, stop := chromedp.NewContext(chrome)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close the tab: %v", err)
		}
		stop()
	})
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	// A deadline on the first run would end the tab with it.
	if err := chromedp.Run(ctx, network.ClearBrowserCookies(), chromedp.EmulateViewport(1280, 900)); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return b
}

func (b *browser) listen(event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			said = fmt.Sprintf("console.%s of %d arguments", e.Type, len(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			said = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if said != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, said)
	}
}

// do runs steps, each within its bound.
func (b *browser) do(what string, steps ...chromedp.Action) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, within)
	defer stop()
	if err := chromedp.Run(ctx, steps...); err != nil {
		var page string
		more, stop := context.WithTimeout(b.ctx, within)
		defer stop()
		_ = chromedp.Run(more, chromedp.Evaluate(`location.href + "\n" + document.body.innerText`, &page))
		b.t.Fatalf("%s: %v; the page is\n%s", what, err, page)
	}
}

// until waits for a page that is loaded and for which a JavaScript expression is true. It asks again
// where the page was left meanwhile.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, within)
	defer stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		var yes bool
		if err := chromedp.Run(ctx, chromedp.Evaluate(`document.readyState === "complete" && !!(`+expression+`)`, &yes)); err == nil && yes {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			b.do(what+": it did not come: "+expression, chromedp.Evaluate(`throw new Error("not there")`, nil))
		}
	}
}

// untilReloaded is until for a page that is loaded again for each look. The page itself would not do that: on
// a busy machine it would be asked to load again before it has.
func (b *browser) untilReloaded(what, expression string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, within)
	defer stop()
	for yes := false; !yes; b.do(what, chromedp.Evaluate(`!!(`+expression+`)`, &yes)) {
		if ctx.Err() != nil {
			b.t.Fatalf("%s: it did not come: %s", what, expression)
		}
		b.do(what, chromedp.Reload())
		b.until(what, "true")
	}
}

// there is an expression for an element that is shown.
func there(selector string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.checkVisibility())`, selector)
}

// click clicks the middle of the first element with the mouse, once the page has it, and waits
// until then holds.
func (b *browser) click(selector, then string) {
	b.t.Helper()
	b.until("click "+selector, there(selector))
	var at struct{ X, Y float64 }
	b.do("find "+selector, chromedp.Evaluate(fmt.Sprintf(`(() => { const e = [...document.querySelectorAll(%q)].find(e => e.checkVisibility());
		e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at))
	b.do("click "+selector, chromedp.MouseClickXY(at.X, at.Y))
	if then != "" {
		b.until("after the click on "+selector, then)
	}
}

// keys types, one key after the other, and waits until then holds.
func (b *browser) keys(typed, then string) {
	b.t.Helper()
	b.do("type", chromedp.KeyEvent(typed))
	if then != "" {
		b.until("after the keys", then)
	}
}

// text returns the text of an element, once the page has it.
func (b *browser) text(selector string) (text string) {
	b.t.Helper()
	b.until("read "+selector, there(selector))
	b.do("read "+selector, chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).textContent.trim()`, selector), &text))
	return text
}

// open navigates, and waits for an element.
func (b *browser) open(url, selector string) {
	b.t.Helper()
	b.do("open "+url, chromedp.Navigate(url))
	b.until("open "+url, there(selector))
}

// clean fails the test for what pages have complained of.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.wrong {
		b.t.Errorf("the browser says: %s", said)
	}
	b.wrong = nil
}

// shot keeps a picture of the page where GENWAY_SCREENSHOTS names a directory.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("GENWAY_SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	b.do("take a picture", chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// violation is what axe-core finds.
type violation struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// accessible holds the page to rules of axe-core, as its options name them.
func (b *browser) accessible(where, axe, rules string) {
	b.t.Helper()
	var text string
	b.do("axe-core", chromedp.Evaluate(axe+`; "ready"`, &text),
		chromedp.Evaluate(`axe.run(`+rules+`).then(r => JSON.stringify(r.violations))`, &text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	var found []violation
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range found {
		var at []string
		for _, n := range v.Nodes {
			at = append(at, n.HTML+"\n\t"+strings.ReplaceAll(n.FailureSummary, "\n", " "))
		}
		b.t.Errorf("%s: %s: %s\n\t%s", where, v.ID, v.Help, strings.Join(at, "\n\t"))
	}
}
