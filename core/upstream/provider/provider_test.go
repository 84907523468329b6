package provider_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/core/upstream/provider"
)

// What is registered can be meant: names are sorted and unique, each row has its source, and
// the default endpoint of a kind is the only one, or has a name as the others do.
func TestTable(t *testing.T) {
	if names := provider.Names(); !slices.IsSorted(names[:len(names)-1]) || slices.Contains(names[:len(names)-1], provider.Custom) {
		t.Errorf("the names are %v", names)
	}
	for _, p := range provider.All {
		if provider.Find(p.Name) != p || p.Title == "" {
			t.Errorf("%s is not found", p.Name)
		}
		for i := range p.Endpoints {
			e := &p.Endpoints[i]
			if _, err := time.Parse(time.DateOnly, e.Read); err != nil || e.Source == "" {
				t.Errorf("%s: the source is %q, read %q", p.Name, e.Source, e.Read)
			}
			for _, kind := range e.Kinds {
				if found, names := p.Endpoint(kind, e.Name); e.Name != "" && found != e || e.Name == "" && len(names) == 0 && found != e {
					t.Errorf("%s: endpoint %q for %s is not found", p.Name, e.Name, kind)
				}
			}
			if (e.Generate == "") != (e.Stream == "") || e.Generate != "" && !strings.Contains(e.Generate, "{model}") {
				t.Errorf("%s: the paths are %q and %q", p.Name, e.Generate, e.Stream)
			}
		}
	}
	if provider.Find(provider.Custom) != nil || provider.Find("") != nil || provider.Find("nobody") != nil {
		t.Error("custom assumes something")
	}
}

// The least is what each engine takes, but for what bears on the answer: that is sent.
func TestLeast(t *testing.T) {
	bears := []string{"tool_choice", "response_format.json_schema"}
	engines := 0
	for _, p := range provider.All {
		e, _ := p.Endpoint("chat", "")
		if !p.Engine || e == nil {
			continue
		}
		engines++
		for _, name := range dialect.Members() {
			if dialect.Least.Takes(name) && !e.Chat.Takes(name) && !slices.Contains(bears, name) && !strings.HasPrefix(name, "messages.content.") {
				t.Errorf("%s does not take %s", p.Name, name)
			}
		}
	}
	if engines < 4 {
		t.Errorf("%d engines", engines)
	}
}

func TestAt(t *testing.T) {
	claude, _ := provider.Find("vertex").Endpoint("messages", "")
	for region, want := range map[string]string{
		"global":   "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic/models",
		"eu":       "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/models",
		"us-east5": "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models",
	} {
		if got := claude.At("", map[string]string{"project": "p", "region": region}); got != want {
			t.Errorf("%s: got %s", region, got)
		}
	}
	if got := claude.At("http://127.0.0.1:1/", map[string]string{"project": "p", "region": "eu"}); got != "http://127.0.0.1:1/v1/projects/p/locations/eu/publishers/anthropic/models" {
		t.Errorf("got %s", got)
	}
	if got := claude.Parameters(); !slices.Equal(got, []string{"project", "region"}) {
		t.Errorf("got %v", got)
	}
}
