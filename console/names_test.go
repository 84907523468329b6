package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// V19: the waterfall has the limits and the route as stages of their own, and a request that an older version
// recorded is shown without them.
func TestStagesOfRequest(t *testing.T) {
	f := openScripted(t)
	f.scripted.text = "x"
	session := f.signIn(t, f.root)
	limits, route := `<th scope="row">limits</th><td class="n">200 µs</td><td class="n">500 µs</td>`, `<th scope="row">route</th><td class="n">1.1 ms</td><td class="n">5 µs</td>`
	got := f.get(t, session, "/requests/1-2").body
	admission, first := strings.Index(got, `<th scope="row">admission</th>`), strings.Index(got, `<th scope="row">1. x</th>`)
	if l, r := strings.Index(got, limits), strings.Index(got, route); admission < 0 || l < admission || r < l || first < r {
		t.Errorf("admission, limits, route and the first attempt are at %d, %d, %d, %d of %s", admission, l, r, first, got)
	}
	f.scripted.old = true
	got = f.get(t, session, "/requests/1-2").body
	if strings.Contains(got, `<th scope="row">limits</th>`) || strings.Contains(got, `<th scope="row">route</th>`) || !strings.Contains(got, `<th scope="row">settle</th>`) {
		t.Errorf("an old request: %s", got)
	}
}

// What is searched for is a chip each, whose link is the search without it; fields are completed from the rows that are shown.
func TestChips(t *testing.T) {
	f := openScripted(t)
	f.scripted.text, f.scripted.name = "key_x", "nightly"
	session := f.signIn(t, f.root)
	page := f.get(t, session, "/requests?key=key_x&owner=1&outcome=ok&outcome=failed&lost=1&unknown=1").body
	for _, want := range []string{
		`href="/requests?lost=1&amp;outcome=ok&amp;outcome=failed&amp;owner=1" aria-label="Without Key id: nightly">`, `href="/requests?key=key_x&amp;lost=1&amp;outcome=ok&amp;outcome=failed" aria-label="Without Owner: 1">`,
		`href="/requests?key=key_x&amp;lost=1&amp;outcome=ok&amp;owner=1" aria-label="Without Outcome: failed">`, `aria-label="Without Dropped parameters">`, `<a href="/requests">All requests</a>`,
		`<datalist id="known-key"><option value="key_x">nightly</option></datalist>`, `name="upstream" value="" list="known-upstream"`,
		`<td title="key_x">key_x</td>`, // its upstream
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s in %s", want, page)
		}
	}
	if strings.Contains(page, "unknown=") {
		t.Error("a member that is not known is in a link")
	}
	if page := f.get(t, session, "/requests").body; strings.Contains(page, `class="chips"`) {
		t.Error("a search for nothing has chips")
	}
}

// V20: lists have the names of keys, and CSVs the ids with the names behind all else.
func TestKeyNames(t *testing.T) {
	f := openScripted(t)
	f.scripted.text, f.scripted.name = "key_x", "=nightly <b>"
	f.scripted.usage = func(*adminv1.GetUsageRequest) []*adminv1.UsageRow {
		return []*adminv1.UsageRow{{Values: []string{"key_x"}, Requests: 7}, {Values: []string{"key_nameless"}, Requests: 2}}
	}
	session := f.signIn(t, f.root)
	for path, want := range map[string]string{
		"/requests": ">=nightly &lt;b&gt;</td>", "/requests/refused": `>=nightly &lt;b&gt;</a>`, "/requests/1-2": `<a href="/keys/key_x">=nightly &lt;b&gt;</a> <code>key_x</code>`,
		"/usage?by=key": `<a href="/keys/key_x">=nightly &lt;b&gt;</a> <small>key_x</small>`,
	} {
		if got := f.get(t, session, path).body; !strings.Contains(got, want) {
			t.Errorf("%s has no %s: %s", path, want, got)
		}
	}
	if got := f.get(t, session, "/usage?by=key").body; !strings.Contains(got, `<a href="/keys/key_nameless">key_nameless</a>`) {
		t.Errorf("a key without a name: %s", got)
	}
	if got := f.get(t, session, "/usage?by=model").body; strings.Contains(got, "nightly") {
		t.Errorf("a model has the name of a key: %s", got)
	}
	for path, want := range map[string]*regexp.Regexp{
		"/requests.csv": regexp.MustCompile(`(?m)^id,Time,.*,Key,Key name\n1-2,.*,key_x,'=nightly <b>$`), "/usage.csv?by=key": regexp.MustCompile(`(?m)^key,.*,name\nkey_x,7,.*,'=nightly <b>$`),
	} {
		if got := f.get(t, session, path).body; !want.MatchString(got) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if file := f.get(t, session, "/requests/1-2/file").body; strings.Contains(file, "nightly") {
		t.Errorf("the file for a report names the key: %s", file)
	}
}

// V21: the audit begins with the newest entry, or with the oldest where that is asked for, and names keys.
func TestOrderOfAudit(t *testing.T) {
	f := open(t)
	params := make([]keys.CreateParams, 101)
	for i := range params {
		params[i].Group = keys.GroupChat
	}
	made, err := f.keys.Import(t.Context(), params, false)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, one := range made {
		ids = append(ids, one.Key.ID)
	}
	_, named, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "<b>last</b>"}})
	if err != nil {
		t.Fatal(err)
	}
	session := f.signIn(t, f.root)
	link := regexp.MustCompile(`<a class="button" href="(/audit[^"]*)">(\w+)</a>`)
	newest := f.get(t, session, "/audit").body
	if !strings.Contains(newest, `">&lt;b&gt;last&lt;/b&gt;</a> <small>`+named.ID) || !strings.Contains(newest, ids[100]) || strings.Contains(newest, ids[0]) {
		t.Errorf("the newest: %s", newest)
	}
	next := link.FindStringSubmatch(newest)
	if len(next) != 3 || next[2] != "Older" {
		t.Fatalf("the next page is %v", next)
	}
	if older := f.get(t, session, strings.ReplaceAll(next[1], "&amp;", "&")).body; !strings.Contains(older, ids[0]) || strings.Contains(older, ids[100]) || strings.Contains(older, ">Older<") || !strings.Contains(older, ">Newest<") {
		t.Errorf("the older: %s", older)
	}
	oldest := f.get(t, session, "/audit?order=oldest").body
	if !strings.Contains(oldest, ids[0]) || strings.Contains(oldest, named.ID) || !strings.Contains(oldest, ">Newer<") {
		t.Errorf("the oldest: %s", oldest)
	}
	for _, order := range []string{"", "oldest"} {
		if got := f.get(t, session, "/audit?"+url.Values{"order": {order}, "after": {"9223372036854775807"}}.Encode()); got.code != http.StatusOK {
			t.Errorf("%q behind all is %d", order, got.code)
		}
		if got := f.get(t, session, "/audit?"+url.Values{"order": {order}, "after": {"0"}}.Encode()); got.code != http.StatusBadRequest {
			t.Errorf("%q behind 0 is %d", order, got.code)
		}
	}
}
