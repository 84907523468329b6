package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

const routed = "routes: [{model: \"*\", targets: [{upstream: sandbox}]}]\n"

// Each mistake in the console's identity provider has its line.
func TestConsoleMistakes(t *testing.T) {
	const good = "issuer: https://login.example, client_id: genway, redirect_url: https://genway.example/sign-in/oidc, admin_groups: [a]"
	for text, want := range map[string]string{
		"{" + good + "}": "",
		"{" + strings.ReplaceAll(good, "https://login.example", "http://127.0.0.1:9") + "}": "",
		"{" + good + ", client_secret: x, scopes: [groups], groups_claim: https://x/roles}": "",
		"{}": "console.oidc: issuer is missing\nconsole.oidc: client_id is missing\nconsole.oidc: redirect_url is missing\nconsole.oidc: admin_groups and viewer_groups are missing, so nobody could sign in; name a group",
		"{" + strings.ReplaceAll(good, "https://login.example", "http://login.example") + "}":      "console.oidc.issuer: expected https://host, without a query or a fragment",
		"{" + strings.ReplaceAll(good, "https://login.example", "http://127.evil.example") + "}":   "console.oidc.issuer: expected https://host, without a query or a fragment",
		"{" + strings.ReplaceAll(good, "https://genway.example", "http://127.0.0.1.example") + "}": "console.oidc.redirect_url: expected the console's address",
		"{" + strings.ReplaceAll(good, "https://login.example", "https://u:p@x") + "}":             "console.oidc.issuer: expected https://host, without a query or a fragment",
		"{" + strings.ReplaceAll(good, "https://login.example", "https://x/?a=b") + "}":            "console.oidc.issuer: expected https://host, without a query or a fragment",
		"{" + strings.ReplaceAll(good, "https://login.example", "login.example") + "}":             "console.oidc.issuer: expected https://host, without a query or a fragment",
		"{" + strings.ReplaceAll(good, "/sign-in/oidc", "/callback") + "}":                         "console.oidc.redirect_url: expected the console's address with the path /sign-in/oidc",
		"{" + strings.ReplaceAll(good, "https://genway.example", "http://genway.example") + "}":    "console.oidc.redirect_url: expected the console's address",
		"{" + strings.ReplaceAll(good, "/sign-in/oidc", "/sign-in/oidc?x=1") + "}":                 "console.oidc.redirect_url: expected the console's address",
		"{" + good + ", client_secret: x, client_secret_file: y}":                                  "client_secret and client_secret_file exclude each other",
		"{" + good + ", client_secret_file: nowhere}":                                              "console.oidc.client_secret_file: open ",
		"{" + good + ", scopes: [\"openid groups\"]}":                                              "console.oidc.scopes[0]: \"openid groups\" is no scope",
		"{" + good + ", viewer_groups: [a]}":                                                       "console.oidc.viewer_groups[0]: \"a\" is a group of admins, too",
		"{" + good + ", viewer_groups: [\"\"]}":                                                    "console.oidc.viewer_groups[0]: it is empty",
		"{" + good + ", viewer_groups: [b], capture_groups: [a, b, c]}":                            "",
		"{" + good + ", capture_groups: [a, \"\"]}":                                                "console.oidc.capture_groups[1]: it is empty",
		"{" + strings.ReplaceAll(good, "admin_groups", "capture_groups") + "}":                     "console.oidc: admin_groups and viewer_groups are missing, so nobody could sign in; name a group",
		"{" + good + ", client_secret: [x]}":                                                       "console.oidc.client_secret: expected text (the client secret, best as ${NAME} from the environment), got a list",
		"{" + good + ", clientid: x}":                                                              `unknown key "clientid" in console.oidc; did you mean "client_id"?`,
	} {
		_, err := config.Parse("f", []byte(routed+"console:\n  oidc: "+text+"\n"), func(string) (string, bool) { return "", false })
		got := lines(err)
		if want == "" && got != "" || want != "" && !strings.Contains(strings.ReplaceAll(got, "f:3:9: ", ""), want) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// The secret is read from its file each time, and never shown.
func TestConsoleSecret(t *testing.T) {
	dir := t.TempDir()
	file, secret := filepath.Join(dir, "genway.yaml"), filepath.Join(dir, "secret")
	text := routed + "console:\n  oidc: {issuer: https://l.example, client_id: g, redirect_url: https://g.example/sign-in/oidc, viewer_groups: [v], client_secret_file: secret}\n"
	for path, content := range map[string]string{file: text, secret: "one\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(file, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		if err := os.WriteFile(secret, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.OIDC().Secret(); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, "client_secret_file: secret", "client_secret: s3cret", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if shown, err := config.Masked(file); err != nil || strings.Contains(string(shown), "s3cret") || !strings.Contains(string(shown), "client_id: g") {
		t.Errorf("%s %v", shown, err)
	}
}
