package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/config"
)

// Each value of a file has its path and its line, and no secret is among them.
func TestMembers(t *testing.T) {
	text := "\ufeff" + `# canary in a comment
store: postgres://genway:canary@db/genway
upstreams:
  one: {kind: chat, base_url: "https://host/v1?key=canary", api_key: canary, headers: {X-Key: canary, X-More: [canary, {deep: canary}]}, query: {k: 17171717}}
  "two.b":
    kind: messages
    base_url: &base https://${HOST}/${HOST}
    api_key: "${TWO_KEY}"
    auth: {headers: {}}
  three: {<<: {kind: chat}, base_url: *base, takes: !!str x, path: *nowhere}
routes:
  - model: |
      claude-*
    targets: []
    weight: 3
    strict: true
    deadline: null
`
	want := []config.Member{
		{Path: "store", Value: "(masked)", Line: 2},
		{Path: "upstreams.one.kind", Value: "chat", Line: 4},
		{Path: "upstreams.one.base_url", Value: "(masked)", Line: 4},
		{Path: "upstreams.one.api_key", Value: "(masked)", Line: 4},
		{Path: "upstreams.one.headers.X-Key", Value: "(masked)", Line: 4},
		{Path: "upstreams.one.headers.X-More[0]", Value: "(masked)", Line: 4},
		{Path: "upstreams.one.headers.X-More[1].deep", Value: "(masked)", Line: 4},
		{Path: "upstreams.one.query.k", Value: "(masked)", Line: 4},
		{Path: `upstreams."two.b".kind`, Value: "messages", Line: 6},
		{Path: `upstreams."two.b".base_url`, Value: "https://${HOST}/${HOST}", Line: 7, Variables: []string{"HOST"}},
		{Path: `upstreams."two.b".api_key`, Value: "${TWO_KEY}", Line: 8, Variables: []string{"TWO_KEY"}, Referred: true},
		{Path: `upstreams."two.b".auth.headers`, Value: "{}", Line: 9},
		{Path: "upstreams.three.kind", Value: "chat", Line: 10},
		{Path: "upstreams.three.base_url", Value: "https://${HOST}/${HOST}", Line: 7, Variables: []string{"HOST"}},
		{Path: "upstreams.three.takes", Value: "x", Line: 10},
		{Path: "routes[0].model", Value: "claude-*\n", Line: 12},
		{Path: "routes[0].targets", Value: "[]", Line: 14},
		{Path: "routes[0].weight", Value: "3", Line: 15},
		{Path: "routes[0].strict", Value: "true", Line: 16},
		{Path: "routes[0].deadline", Value: "", Line: 17},
	}
	got, err := config.Members([]byte(text))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Hostile texts give no secrets, no end of members and no endless work.
func TestMembersOfHostileTexts(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [" + strings.Repeat("x, ", 9) + "x]\n")
	for i := range 20 {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for name, text := range map[string]string{
		"nothing": "", "a comment": "# canary", "no YAML": "api_key: [canary", "two documents": "a: 1\n---\nb: canary", "no mapping": "- 1",
		"an anchor in itself": "a: &a [*a, {b: *a}]", "an alias of nothing": "a: *b", "many aliases": laughs.String(),
		"deep": strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "wide": "a: [" + strings.Repeat("1, ", 20000) + "1]",
		"twice": "api_key: canary\napi_key: canary", "a key of a list": "? [api_key]\n: canary", "a merged secret": "headers: &h {k: canary}\nx: {<<: *h}\nheaders2: {headers: *h}",
	} {
		members, err := config.Members([]byte(text))
		if len(members) > 5000 {
			t.Errorf("%s: %d members", name, len(members))
		}
		if shown := fmt.Sprint(members, err); strings.Contains(shown, "canary") && name != "a key of a list" && name != "a merged secret" {
			t.Errorf("%s: %s", name, shown)
		}
	}
}
