package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

var rawKey = regexp.MustCompile(`gwk_[0-9A-Za-z]{36}`)

// A key is made and shown once, its settings are changed as the form says, it is rotated and
// revoked, and the audit has all of it.
func TestKeys(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	made := f.post(t, session, "/keys", url.Values{
		"group": {"messages", "chat"}, "name": {"ci"}, "owner": {"ada"}, "models": {"gpt-*, claude-*"}, "budget_day": {"12.50"}, "requests_per_minute": {"60"}, "expire_time": {"2999-01-31"},
	})
	raw := rawKey.FindString(made.body)
	if made.code != http.StatusOK || raw == "" {
		t.Fatalf("%d %s", made.code, made.body)
	}
	if made.header.Get("Cache-Control") != "no-store" {
		t.Error("the page with the key may be kept")
	}
	who, err := f.keys.Authenticate(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if who.Group != "chat,messages" {
		t.Errorf("a key of %q", who.Group)
	}
	at := "/keys/" + who.KeyID
	page := f.get(t, session, at)
	if list := f.get(t, session, "/keys?group=messages"); !strings.Contains(list.body, who.KeyID) || !strings.Contains(list.body, ">chat,messages<") || !strings.Contains(page.body, ">chat,messages<") {
		t.Errorf("its groups are not shown: %s", list.body)
	}
	if rawKey.MatchString(page.body) || !strings.Contains(page.body, `value="12.5"`) || !strings.Contains(page.body, `value="gpt-*, claude-*"`) {
		t.Errorf("the page afterwards: %s", page.body)
	}
	if got := f.post(t, session, at+"/settings", url.Values{"name": {"ci2"}, "budget_month": {"0.000000001"}, "strict": {"1"}}); got.code != http.StatusSeeOther {
		t.Fatalf("update: %d %s", got.code, got.body)
	}
	key, err := f.keys.Get(t.Context(), who.KeyID)
	if err != nil || key.Name != "ci2" || key.Owner != "" || key.Policy.Models != nil || !key.Policy.Strict || len(key.Policy.Limits.Budgets) != 1 || key.Policy.Limits.Budgets[0].Amount != 1 || key.ExpireTime != nil {
		t.Errorf("%+v, %v", key, err)
	}
	rotated := rawKey.FindString(f.post(t, session, at+"/rotate", url.Values{"grace": {"0s"}}).body)
	if _, err := f.keys.Authenticate(t.Context(), raw); err == nil || rotated == "" {
		t.Errorf("rotated to %q, the old secret: %v", rotated, err)
	}
	f.post(t, session, at+"/revoke", nil)
	if _, err := f.keys.Authenticate(t.Context(), rotated); err == nil {
		t.Error("a revoked key is good")
	}
	if len(active(`<p onclick="x">`)) == 0 || len(active(`<a href="javascript:x">`)) == 0 || len(active(`<script>x</script>`)) == 0 {
		t.Error("the check finds nothing")
	}
	if list := f.get(t, session, "/keys").body; strings.Contains(list, who.KeyID) {
		t.Error("a revoked key is in the list of live ones")
	}
	audit := f.get(t, session, "/audit?subject="+who.KeyID).body
	for _, action := range []string{"key.create", "key.update", "key.rotate", "key.revoke"} {
		if !strings.Contains(audit, action) {
			t.Errorf("the audit has no %s", action)
		}
	}
	if got := f.post(t, session, "/audit/verify", nil); !strings.Contains(got.body, "The audit is whole") {
		t.Errorf("verify: %s", got.body)
	}
}

// The form of a key has a field for each limit of the Admin API, and sets it; so does an import.
func TestEachLimitHasAField(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	empty := f.get(t, session, "/keys/new").body
	for i, kind := range limit.Kinds {
		if !strings.Contains(empty, ` name="`+kind.Name+`" value=""`) {
			t.Errorf("%s is not in the form", kind.Name)
		}
		made := f.post(t, session, "/keys", url.Values{"group": {"chat"}, "name": {kind.Name}, kind.Name: {"7"}})
		imported := f.post(t, session, "/keys/import", url.Values{"do": {"import"}, "csv": {"group,name," + kind.Name + "\nchat,csv-" + kind.Name + ",7\n"}})
		for name, page := range map[string]answer{kind.Name: made, "csv-" + kind.Name: imported} {
			who, err := f.keys.Authenticate(t.Context(), rawKey.FindString(page.body))
			if err != nil {
				t.Fatalf("%s: %v: %s", name, err, page.body)
			}
			if n := *who.Policy.Limits.Figure(limit.Metric(i)); n != 7 {
				t.Errorf("%s is %d", name, n)
			}
		}
		if !strings.Contains(made.body, ` name="`+kind.Name+`" value="7"`) {
			t.Errorf("%s is not in the key's form", kind.Name)
		}
	}
}

// What is no setting is refused with the name of the field, and nothing is made.
func TestKeyFormIsChecked(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	for _, c := range []struct{ field, value string }{
		{"requests_per_minute", "-1"}, {"requests_per_minute", "9007199254740993"}, {"requests_per_minute", "9223372036854775808"}, {"requests_per_minute", "NaN"},
		{"tokens_per_minute", "1e3"}, {"concurrent", "½"}, {"budget_day", "-1"}, {"budget_day", "NaN"}, {"budget_day", "1e9"}, {"budget_month", "0"}, {"budget_month", "9223372036.854775808"},
		{"budget_month", "0.0000000001"}, {"budget_day", "1/2"}, {"expire_time", "tomorrow"}, {"expire_time", "1999-01-01"}, {"name", strings.Repeat("a", 101)}, {"name", "gwk_x"},
		{"owner", "a\nb"}, {"addresses", "10.0.0.1/33"}, {"models", "a " + strings.Repeat("m", 300)}, {"read_only", "1"}, {"group", "nothing"}, {"group", ""}, {"group", "chat,chat"}, {"group", "chat,nothing"}, {"group", "chat,admin"}, {"group", ","},
	} {
		form := url.Values{"group": {"chat"}, c.field: strings.Split(c.value, ",")}
		got := f.post(t, session, "/keys", form)
		if got.code != http.StatusBadRequest || !strings.Contains(got.body, strings.TrimSuffix(strings.TrimSuffix(c.field, "_day"), "_month")) {
			t.Errorf("%s=%.20q: %d %s", c.field, c.value, got.code, got.body)
		}
	}
	if n := count(t, f, keys.GroupChat); n != 0 {
		t.Errorf("%d keys were made", n)
	}
	for path, want := range map[string]int{"/keys/key_nothing": 404, "/keys/" + url.PathEscape("../x"): 404, "/keys?after=nothing": 400, "/audit?after=-1": 400, "/audit?after=9223372036854775808": 400} {
		if got := f.get(t, session, path); got.code != want {
			t.Errorf("%s: %d", path, got.code)
		}
	}
	if got := f.post(t, session, "/audit/verify", url.Values{"known": {"abc"}}); got.code != http.StatusBadRequest {
		t.Errorf("a head that is none: %d", got.code)
	}
}

// A form that is refused has what was typed, and marks each field that is wrong; so has the form of a key that exists.
func TestFormsKeepWhatWasTyped(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	_, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "old"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ field, value string }{
		{"concurrent", "many"}, {"budget_month", "0"}, {"budget_day", "$5"}, {"expire_time", "tomorrow"}, {"models", strings.Repeat("m", 300)}, {"addresses", "10.0.0.1/33"}, {"requests_per_minute", "-1"}, {"owner", "a\tb"},
	} {
		form := url.Values{"group": {"chat", "messages"}, "name": {"typed"}, "tokens_per_minute": {"77"}, "strict": {"1"}, c.field: {c.value}}
		for _, path := range []string{"/keys", "/keys/" + key.ID + "/settings"} {
			got := f.post(t, session, path, form)
			if got.code != http.StatusBadRequest || strings.Count(got.body, "aria-invalid") != 1 || strings.Count(got.body, `<span class="wrong" role="alert">`) != 1 {
				t.Errorf("%s %s: %d %s", path, c.field, got.code, got.body)
			}
			for _, want := range []string{`name="name" value="typed"`, `name="tokens_per_minute" value="77"`, `name="strict" value="1" checked`, `name="` + c.field + `" value="` + html.EscapeString(c.value) + `"`} {
				if !strings.Contains(got.body, want) {
					t.Errorf("%s %s: there is no %s in %s", path, c.field, want, got.body)
				}
			}
			if path == "/keys" && !strings.Contains(got.body, `value="messages" checked`) {
				t.Errorf("%s: the groups are not those chosen: %s", c.field, got.body)
			}
		}
	}
	if again, err := f.keys.Get(t.Context(), key.ID); err != nil || again.Name != "old" {
		t.Errorf("%v, %v", again, err)
	}
	two := f.post(t, session, "/keys", url.Values{"group": {"chat,admin"}, "name": {strings.Repeat("a", 101)}})
	if two.code != http.StatusBadRequest || !strings.Contains(two.body, `class="wrong"`) {
		t.Errorf("%d %s", two.code, two.body)
	}
}

// Keys are found by name, id or GROUP/NAME, and each has what it has spent this month.
func TestKeysAreFound(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	_, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "nightly"}})
	if err != nil {
		t.Fatal(err)
	}
	f.scripted.usage = func(*adminv1.GetUsageRequest) []*adminv1.UsageRow {
		return []*adminv1.UsageRow{used(key.ID, 3, 6e9)}
	}
	for _, name := range []string{"nightly", " nightly ", key.ID, "chat/nightly"} {
		if got := f.get(t, session, "/keys?"+url.Values{"name": {name}}.Encode()); got.code != http.StatusSeeOther || got.header.Get("Location") != "/keys/"+key.ID {
			t.Errorf("%q: %d %s", name, got.code, got.header.Get("Location"))
		}
	}
	for _, name := range []string{"night", "<b>", "\x00\xff", f.root, strings.Repeat("n", 1<<16)} {
		if got := f.get(t, session, "/keys?"+url.Values{"name": {name}}.Encode()); got.code != http.StatusOK || !strings.Contains(got.body, `role="alert"`) || len(active(got.body)) > 0 {
			t.Errorf("%.20q: %d %.300s", name, got.code, got.body)
		}
	}
	if page := f.get(t, session, "/keys").body; !strings.Contains(page, `<a href="/requests?key=`+key.ID+`">$6.00</a>`) {
		t.Error(page)
	}
}

// injections are texts that would be more than text in some place of a page.
var injections = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onfocus='alert(1)' autofocus='`, `</title><svg onload=alert(1)>`, `{{.}}`, `${alert(1)}`,
	`javascript:alert(1)`, `--><script>`, `</textarea><b>`, `&lt;b&gt;`, `]]>`, "\u202e<b>",
}

// active returns what a page has that a browser would run, or load from elsewhere.
func active(page string) (found []string) {
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return found
		case html.TextToken, html.EndTagToken, html.CommentToken, html.DoctypeToken:
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			switch token.Data {
			case "img", "b", "iframe", "object", "style", "base":
				found = append(found, token.String())
			case "script":
				if len(token.Attr) != 2 || token.Attr[1].Val != "/assets/console.js" {
					found = append(found, token.String())
				}
			}
			for _, a := range token.Attr {
				own := a.Val == "" || strings.HasPrefix(a.Val, "?") || strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//")
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
					found = append(found, token.String())
				case (a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction") && !own:
					found = append(found, token.String())
				}
			}
		}
	}
}

// Case X58: whatever somebody can choose is text on every page.
func TestInjections(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	check := func(where string, got answer) {
		t.Helper()
		for _, wrong := range active(got.body) {
			t.Errorf("%s has %s", where, wrong)
		}
	}
	for i, text := range injections {
		_, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{
			Name: text, Owner: text, Labels: map[string]string{"l": text}, Policy: keys.Policy{Models: []string{text}},
		}})
		if err != nil {
			if i == len(injections)-1 {
				continue // it is not printable
			}
			t.Fatalf("%q: %v", text, err)
		}
		check("the key's page", f.get(t, session, "/keys/"+key.ID))
		q := url.QueryEscape(text)
		for _, path := range []string{"/keys?owner=" + q + "&group=" + q, "/usage?by=" + q + "&period=" + q, "/audit?subject=" + q, "/connect?group=" + q + "&model=" + q, "/keys/" + url.PathEscape(text), "/" + url.PathEscape(text), "/sign-in?to=" + q} {
			check(path, f.get(t, session, path))
		}
		check("the connect form", f.post(t, session, "/connect", url.Values{"group": {"chat"}, "name": {text + "2"}, "model": {text}}))
		check("the sign-in", f.post(t, "", "/sign-in", url.Values{"key": {text}, "to": {text}}))
		f.ahead.Add(int64(60e9))
	}
	for _, path := range append(pages, "/audit?after=1") {
		check(path, f.get(t, session, path))
	}
	if len(active(`<p onclick="x">`)) == 0 || len(active(`<a href="javascript:x">`)) == 0 || len(active(`<script>x</script>`)) == 0 {
		t.Error("the check finds nothing")
	}
	if list := f.get(t, session, "/keys").body; strings.Count(list, "&lt;script&gt;alert(1)") == 0 {
		t.Error("the names are not in the list")
	}
}
