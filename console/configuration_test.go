package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// A configuration is checked, written and read again by admins, what it changes is shown by lines, and
// whatever a file or a mistake says is text.
func TestConfiguration(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	f.scripted.text = "x"
	page := f.get(t, session, "/configuration").body
	for _, text := range []string{`<tr class="gone"><td><code>-a: 0</code>`, `<tr class="new"><td><code>&#43;a: 1</code>`, `name="file_hash" value="hash"`, `value="write"`, `value="reload"`, "not the file as it is now"} {
		if !strings.Contains(page, text) {
			t.Errorf("there is no %s in %s", text, page)
		}
	}
	post := func(form url.Values) answer {
		t.Helper()
		return f.post(t, session, "/configuration", form)
	}
	got := post(url.Values{"do": {"check"}, "yaml": {"a: 2\r\nb: 3\r\n"}, "file_hash": {"old"}})
	if got.code != http.StatusOK || f.scripted.typed != "a: 2\nb: 3\n" || !strings.Contains(got.body, "<li>line 2: x</li><li>x</li>") || !strings.Contains(got.body, "b: 3") || !strings.Contains(got.body, `value="old"`) || !strings.Contains(got.body, "&#43;a: 2") {
		t.Errorf("check: %d %q %s", got.code, f.scripted.typed, got.body)
	}
	if got := post(url.Values{"do": {"write"}, "yaml": {"c: 1"}, "file_hash": {"hash"}}); got.code != http.StatusOK || f.scripted.typed != "c: 1" || !strings.Contains(got.body, "The file was written") {
		t.Errorf("write: %d %s", got.code, got.body)
	}
	if got := post(url.Values{"do": {"write"}, "yaml": {"mine: 1"}, "file_hash": {"old"}}); got.code != http.StatusBadRequest || !strings.Contains(got.body, "line 3: x") || !strings.Contains(got.body, "mine: 1") || !strings.Contains(got.body, `value="old"`) {
		t.Errorf("a write that is refused: %d %s", got.code, got.body)
	}
	if got := post(url.Values{"do": {"reload"}}); got.code != http.StatusOK || !strings.Contains(got.body, "was read again") {
		t.Errorf("reload: %d %s", got.code, got.body)
	}
	typed := f.post(t, session, "/configuration/check", url.Values{"yaml": {"a"}})
	if want := `{"mistakes":[{"line":2,"message":"x"},{"line":0,"message":"x"}],"warnings":["x"]}`; typed.body != want || typed.header.Get("Content-Type") != "application/json" {
		t.Errorf("while typing: %s", typed.body)
	}
	for _, text := range injections {
		f.scripted.text = text
		for _, form := range []url.Values{{"do": {"check"}, "yaml": {text}, "file_hash": {text}}, {"do": {"write"}, "yaml": {text}, "file_hash": {text}}, {"do": {text}}} {
			if wrong := active(post(form).body); len(wrong) > 0 {
				t.Errorf("%v: %v", form, wrong)
			}
		}
	}
	f.scripted.text = "x"
	viewer := f.signIn(t, f.viewer)
	if page := f.get(t, viewer, "/configuration").body; strings.Contains(page, "<textarea") || strings.Contains(page, `value="reload"`) {
		t.Error("a viewer is offered a change")
	}
	for _, do := range []string{"check", "write", "reload"} {
		if got := f.post(t, viewer, "/configuration", url.Values{"do": {do}, "yaml": {"a: 1"}, "file_hash": {"hash"}}); got.code != http.StatusForbidden {
			t.Errorf("a viewer's %s: %d", do, got.code)
		}
	}
	if got := f.post(t, viewer, "/configuration/check", url.Values{"yaml": {"a"}}); got.code != http.StatusForbidden {
		t.Errorf("a viewer types: %d", got.code)
	}
}

// Case U24: the page says of each value in force where it is from, to viewers too.
func TestConfigurationBySource(t *testing.T) {
	f := openScripted(t)
	f.scripted.text = "x"
	f.scripted.members = []*adminv1.ConfigurationMember{
		{Name: "upstreams.one.api_key", Value: "(masked)", Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FILE, Line: 7},
		{Name: "upstreams.two.api_key", Value: "${TWO}", Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_ENVIRONMENT, Line: 8, Variables: []string{"TWO"}},
		{Name: "store", Value: "a.db", Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FILE, Line: 1, OverriddenBy: "--store"},
		{Name: "--grpc", Value: "127.0.0.1:9090", Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_DEFAULT},
		{Name: "--grace", Value: "1s", Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FLAG},
		{Name: "--log-level", Value: "WARN", Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_ENVIRONMENT, Variables: []string{"GENWAY_LOG_LEVEL"}},
		{Name: "--otlp-endpoint", Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_DEFAULT},
	}
	for name, key := range map[string]string{"an admin": f.root, "a viewer": f.viewer} {
		page := f.get(t, f.signIn(t, key), "/configuration").body
		if strings.Contains(page, "--otlp-endpoint") {
			t.Errorf("%s: a flag that is not set is listed", name)
		}
		for _, row := range [][3]string{
			{"upstreams.one.api_key", "(masked)", "line 7"}, {"upstreams.two.api_key", "${TWO}", "line 8, $TWO"}, {"store", "a.db", "line 1; not in force, since --store is given"},
			{"--grace", "1s", "flag"}, {"--log-level", "WARN", "$GENWAY_LOG_LEVEL"},
		} {
			want := "<code>" + row[0] + `</code></th><td><code class="wrap">` + row[1] + "</code></td><td>" + row[2] + "</td>"
			if !strings.Contains(page, want) {
				t.Errorf("%s: there is no %s in %s", name, want, page)
			}
		}
	}
}
