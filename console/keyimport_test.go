package console_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/genway/genway/core/keys"
)

const goodImport = "\ufeffgroup, name,owner,labels,expire_time,models,addresses,requests_per_minute,budget_month,strict,priority\n" +
	"chat,a,team,\"env=prod,team=x\",2999-01-31,\"gpt-*, claude-*\",10.0.0.0/8,60,12.50,yes,batch\n" +
	"messages,b,=cmd,,never,,,,none,false,interactive\n"

// imported posts a form of an import, with a file unless it is empty.
func (f *fixture) imported(t *testing.T, session, do, pasted, file string) answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, text := range map[string]string{"do": do, "csv": pasted} {
		if err := form.WriteField(name, text); err != nil {
			t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("file", "keys.csv") // as browsers send it where none was chosen
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte(file)); err != nil || form.Close() != nil {
		t.Fatal(err)
	}
	r := request(t, session, http.MethodPost, "/keys/import", url.Values{})
	r.Body, r.ContentLength = http.NoBody, int64(body.Len())
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Body = readCloser{&body}
	return f.do(r)
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

// made returns the keys of the page that shows them, as its CSV.
func made(t *testing.T, page string) []map[string]string {
	t.Helper()
	_, text, _ := strings.Cut(page, `<pre id="made" tabindex="0">`)
	text, _, found := strings.Cut(text, "</pre>")
	if !found {
		t.Fatalf("no keys: %s", page)
	}
	return table(t, html.UnescapeString(text))
}

// Case X72: keys are imported from a CSV, pasted or as a file, all or none; checked beforehand; shown once.
func TestImport(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	if got := f.imported(t, session, "check", goodImport, ""); got.code != http.StatusOK || !strings.Contains(got.body, "2 keys would be made") || count(t, f, keys.GroupChat) != 0 {
		t.Fatalf("%d %s", got.code, got.body)
	}
	got := f.imported(t, session, "import", goodImport, "")
	rows := made(t, got.body)
	if len(rows) != 2 || rows[0]["group"] != "chat" || rows[0]["name"] != "a" || rows[1]["owner"] != "'=cmd" || got.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%v", rows)
	}
	who, err := f.keys.Authenticate(t.Context(), rows[0]["key"])
	if err != nil {
		t.Fatal(err)
	}
	key, err := f.keys.Get(t.Context(), who.KeyID)
	if err != nil || key.ID != rows[0]["id"] || key.Owner != "team" || key.Labels["env"] != "prod" || key.Labels["team"] != "x" || key.ExpireTime.Year() != 2999 || fmt.Sprint(key.Policy.Models) != "[gpt-* claude-*]" ||
		len(key.Policy.Addresses) != 1 || key.Policy.Limits.RequestsPerMinute != 60 || key.Policy.Limits.Budgets[0].Amount != 12_500_000_000 || !key.Policy.Strict || key.Policy.Priority != keys.PriorityBatch {
		t.Errorf("%+v, %v", key, err)
	}
	if again := f.imported(t, session, "import", goodImport, ""); again.code != http.StatusBadRequest || !strings.Contains(again.body, "line 2: name: it is taken") || rawKey.MatchString(again.body) {
		t.Errorf("the same once more: %d %s", again.code, again.body)
	}
	if rows := made(t, f.imported(t, session, "import", "what is pasted counts only without a file", "group\nchat\n").body); len(rows) != 1 {
		t.Errorf("%v", rows)
	}
	if got := f.post(t, session, "/keys/import", url.Values{"do": {"import"}, "csv": {"group,name\r\nchat,\"of a\r\nform\"\r\n"}}); got.code != http.StatusBadRequest || !strings.Contains(got.body, "line 2: name") {
		t.Errorf("a name of two lines: %d %s", got.code, got.body)
	}
	if log := f.get(t, session, "/audit?subject="+who.KeyID).body; !strings.Contains(log, "key.create") && !strings.Contains(log, "key.import") {
		t.Errorf("%s", log)
	}
}

// What cannot be imported is said by line, all of it, and nothing is made.
func TestImportRefuses(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	for text, want := range map[string]string{
		"":                                     "line 1: there is no first line",
		"group\n":                              "there is no key",
		"name\na\n":                            "line 1: the column group is missing",
		"group,group\nchat,chat\n":             "line 1: the column &#34;group&#34; is unknown, or there twice",
		"group,colour\nchat,red\n":             "line 1: the column &#34;colour&#34; is unknown",
		"group\nnothing\n":                     "line 2: group: &#34;nothing&#34; is no group",
		"group\n\n\"\"\n":                      "line 3: group: &#34;&#34; is no group",
		"group,name\nchat\n":                   "line 2: wrong number of fields",
		"group\n\"chat\n":                      "line 2: extraneous or missing &#34; in quoted-field",
		"group,name\nchat,a\nchat,b\nchat,a\n": "line 4: name: it is taken: another key of the import has it",
		"group,strict\nchat,perhaps\n":         "line 2: strict: &#34;perhaps&#34; is unknown",
		"group,priority\nchat,9\n":             "line 2: priority: &#34;9&#34; is unknown",
		"group,labels\nchat,x\n":               "line 2: labels: expected NAME=VALUE",
		"group,labels\nchat,\"a=,a=\"\n":       "line 2: labels: expected NAME=VALUE",
		"group,addresses\nchat,1.2.3\n":        "line 2: addresses",
		"group,requests_per_minute\nchat,-1\nchat,NaN\nchat,9223372036854775808\n": "line 4: requests_per_minute: &#34;9223372036854775808&#34; is not a whole number",
		"group,requests_per_minute\nchat,-1\n":                                     "line 2: limits.requests_per_minute",
		"group,budget_day\nchat,0\n":                                               "line 2: limits.budgets",
		"group,name\nchat,gwk_000000000000000000000000000000000000\n":              "line 2: name",
		"group\ngwk_000000000000000000000000000000000000\n":                        "line 2: group: [REDACTED]",
		"group,expire_time\nchat,1999-01-01\n":                                     "line 2: expire_time",
		"group,name\nchat,<b>\nnone,<script>alert(1)</script>\n":                   "line 3: group",
		"group\n" + strings.Repeat("chat\n", 1001):                                 "keys: at most 1000",
		"group,name\n" + strings.Repeat("none,x\n", 500):                           "line 21: group",
		"group,name\nchat," + strings.Repeat("a", 101) + "\n":                      "line 2: name",
		"group,name\x00\nchat,a\n":                                                 "is unknown",
	} {
		got := f.imported(t, session, "import", text, "")
		if got.code != http.StatusBadRequest || !strings.Contains(got.body, want) || rawKey.MatchString(strings.ReplaceAll(got.body, html.EscapeString(text), "")) && !strings.Contains(text, "gwk_") {
			t.Errorf("%.60q: %d, not %s: %.3000s", text, got.code, want, got.body)
		}
		if wrong := active(got.body); len(wrong) > 0 {
			t.Errorf("%q: %v", text, wrong)
		}
		if n := strings.Count(got.body, "<li>line "); n > 20 {
			t.Errorf("%d mistakes are shown", n)
		}
	}
	if n := count(t, f, keys.GroupChat); n != 0 {
		t.Errorf("%d keys were made", n)
	}
	if got := f.imported(t, session, "import", "", strings.Repeat("chat\n", 1<<18)); got.code != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "genway keys import") {
		t.Errorf("a large file: %d %.200s", got.code, got.body)
	}
	viewer := f.signIn(t, f.viewer)
	for _, do := range []string{"check", "import"} {
		if got := f.imported(t, viewer, do, "group\nchat\n", ""); got.code != http.StatusForbidden {
			t.Errorf("a viewer's %s: %d", do, got.code)
		}
	}
	if list := f.get(t, viewer, "/keys").body; strings.Contains(list, "/keys/import") {
		t.Error("a viewer is offered an import")
	}
}
