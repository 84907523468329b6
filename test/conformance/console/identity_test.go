package console_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/genway/genway/test/conformance/server"
)

// byAnIdentityProvider is case X69: a browser signs in at an identity provider of another site, which
// is added while the server runs.
func byAnIdentityProvider(b *browser, _ started) {
	t := b.t
	t.Helper()
	const routes = "routes: [{model: \"*\", targets: [{upstream: sandbox}]}]\n"
	file := filepath.Join(t.TempDir(), "genway.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(routes)
	s := start(t, "--config", file)
	redirect := s.console + "/sign-in/oidc"
	at := server.StartIssuer(t, server.Client{
		ID: "genway", Secret: "s3cret", RedirectURL: redirect,
		Claims: map[string]any{"groups": []string{"staff"}, "email": "ada@example.com", "email_verified": true},
	})
	write(routes + fmt.Sprintf("console:\n  oidc: {issuer: %q, client_id: genway, client_secret: s3cret, redirect_url: %q, viewer_groups: [staff]}\n", at.URL(t), redirect))
	b.open(s.console+"/sign-in?to=/keys", "#sign-in")
	b.untilReloaded("the new configuration is in force", there(`a[href^="/sign-in/start"]`))
	b.do("bypass the policy", page.SetBypassCSP(true)) // as pagesAreAccessible does
	b.accessible("sign-in at an identity provider", axeCore(t), `{}`)
	b.do("restore the policy", page.SetBypassCSP(false), chromedp.Reload())
	b.click(`a[href^="/sign-in/start"]`, "")
	b.until("it leads back to the page, signed in", `location.pathname === "/keys" && document.body.innerText.includes("ada@example.com") && document.body.innerText.includes("viewer")`)
	if refused := at.Refused(t); len(refused) != 0 {
		t.Errorf("the identity provider refused %v", refused)
	}
	b.clean()
}
