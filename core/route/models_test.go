package route_test

import (
	"testing"

	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// describing lists a model in full.
type describing struct{ stub }

func (*describing) Models() []*genwayv1.Model {
	limit := int64(9)
	return []*genwayv1.Model{{Name: "real", DisplayName: "Real", OwnedBy: "vendor", InputTokenLimit: &limit, GeneratesImages: true, Description: "draws"}}
}

// An alias is described as its target, under its own name; one whose upstream
// lists nothing by what its targets speak.
func TestAliasesAreDescribed(t *testing.T) {
	u, silent := &describing{}, &stub{name: "silent"}
	images := genwayv1.Protocol_PROTOCOL_IMAGES
	r := route.New([]route.Route{
		{Model: "alias", Targets: []route.Target{{Name: "u", Upstream: u, Model: "real"}}},
		{Model: "real", Targets: []route.Target{{Name: "u", Upstream: u}}},
		{Model: "both", Targets: []route.Target{target(silent, chat), target(silent, images)}},
		{Model: "pictures", Targets: []route.Target{target(silent, images)}},
	})
	limit := int64(9)
	for i, want := range []*genwayv1.Model{
		{Name: "alias", DisplayName: "alias", OwnedBy: "vendor", InputTokenLimit: &limit, GeneratesImages: true, Description: "draws"},
		{Name: "real", DisplayName: "real", OwnedBy: "vendor", InputTokenLimit: &limit, GeneratesImages: true, Description: "draws"},
		{Name: "both", DisplayName: "both", OwnedBy: "silent", GeneratesText: true, GeneratesImages: true},
		{Name: "pictures", DisplayName: "pictures", OwnedBy: "silent", GeneratesImages: true},
	} {
		if got := r.Models()[i]; !proto.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := u.Models()[0].GetName(); got != "real" {
		t.Errorf("the upstream's own listing says %s", got)
	}
}

// A model is described by what the catalogue and the prices know of it. Of a name that leads to several models, only
// what holds for each is stated; targets of a fallback do not count, and what an upstream says itself stays.
func TestModelsAreDescribedByTheCatalogue(t *testing.T) {
	known, err := catalog.Parse("catalog.yaml", []byte(`models:
  - {model: large, context: 400000, max_output: 128000, input: [text, image, document], output: [text], thinking: [effort], thinks: always, efforts: [low, medium, high], refuses: [temperature, prefill], tools: true, structured_output: true}
  - {model: small, context: 200000, max_output: 256000, input: [image, text], output: [text], thinking: [effort, budget], thinks: asked, efforts: [low, high], min_budget: 9, refuses: [seed], tools: true, structured_output: false}
  - {model: plain, thinking: []}
  - {model: real, context: 5, max_output: 6, input: [audio], thinking: [budget], thinks: default, min_budget: 128, max_budget: 32768}
`))
	if err != nil {
		t.Fatal(err)
	}
	prices := map[string]*genwayv1.ModelPrice{"large": {InputNanoDollars: 3}, "small": {InputNanoDollars: 2}, "real": {OutputNanoDollars: 1}}
	leads := func(u *describing, model string) route.Target {
		return route.Target{Name: "u", Upstream: u, Model: model, Catalog: known, Price: func(name string) *genwayv1.ModelPrice { return prices[name] }}
	}
	u := &describing{}
	r := route.New([]route.Route{
		{Model: "large", Targets: []route.Target{leads(u, "")}, Fallback: []route.Target{leads(u, "small")}},
		{Model: "either", Targets: []route.Target{leads(u, "large"), leads(u, "small")}},
		{Model: "mixed", Targets: []route.Target{leads(u, "large"), leads(u, "plain")}},
		{Model: "plain", Targets: []route.Target{leads(u, "")}},
		{Model: "stranger", Targets: []route.Target{leads(u, "")}},
		{Model: "*", Targets: []route.Target{leads(u, "")}},
	})
	const text, image, document, audio = genwayv1.Modality_MODALITY_TEXT, genwayv1.Modality_MODALITY_IMAGE, genwayv1.Modality_MODALITY_DOCUMENT, genwayv1.Modality_MODALITY_AUDIO
	want := map[string]*genwayv1.Model{
		"large": {
			ContextTokenLimit: new(int64(400000)), OutputTokenLimit: new(int64(128000)), Inputs: []genwayv1.Modality{text, image, document}, Outputs: []genwayv1.Modality{text},
			Thinking:      &genwayv1.ModelThinking{When: genwayv1.ModelThinking_WHEN_ALWAYS, Efforts: []string{"low", "medium", "high"}},
			RefusedFields: []string{"sampling.temperature"}, TakesTools: new(true), TakesJsonSchema: new(true), Price: prices["large"],
		},
		"either": {
			ContextTokenLimit: new(int64(200000)), OutputTokenLimit: new(int64(128000)), Inputs: []genwayv1.Modality{text, image}, Outputs: []genwayv1.Modality{text},
			Thinking:      &genwayv1.ModelThinking{Efforts: []string{"low", "high"}},
			RefusedFields: []string{"sampling.temperature", "sampling.seed"}, TakesTools: new(true), TakesJsonSchema: new(false),
		},
		"mixed":    {RefusedFields: []string{"sampling.temperature"}},
		"plain":    {Thinking: &genwayv1.ModelThinking{When: genwayv1.ModelThinking_WHEN_NEVER}},
		"stranger": {},
		"real": {
			DisplayName: "Real", OwnedBy: "vendor", InputTokenLimit: new(int64(9)), GeneratesImages: true, Description: "draws", // by the upstream
			ContextTokenLimit: new(int64(5)), OutputTokenLimit: new(int64(6)), Inputs: []genwayv1.Modality{audio}, Price: prices["real"],
			Thinking: &genwayv1.ModelThinking{When: genwayv1.ModelThinking_WHEN_DEFAULT, MinBudgetTokens: new(int64(128)), MaxBudgetTokens: new(int64(32768))},
		},
	}
	got := r.Models()
	if len(got) != len(want) {
		t.Errorf("%d models, want %d", len(got), len(want))
	}
	for _, m := range got {
		w := want[m.GetName()]
		if w == nil {
			t.Errorf("%v is not wanted", m)
			continue
		}
		if w.Name = m.GetName(); w.OwnedBy == "" {
			w.OwnedBy, w.DisplayName, w.GeneratesText = "u", w.Name, true
		}
		if !proto.Equal(m, w) {
			t.Errorf("%v\nwant %v", m, w)
		}
	}
	if m := u.Models()[0]; m.ContextTokenLimit != nil || m.Price != nil {
		t.Errorf("the upstream's own listing was changed: %v", m)
	}
}

// A model that draws in answers of text is listed as one that generates images, too, as far as the catalogue knows.
func TestModelsThatDrawAreListed(t *testing.T) {
	known, silent := catalog.Shipped(), &stub{name: "silent"}
	at := func(protocol genwayv1.Protocol, model string) []route.Target {
		return []route.Target{{Name: "u", Upstream: silent, Protocol: protocol, Model: model, Catalog: known}}
	}
	r := route.New([]route.Route{
		{Model: "draws", Targets: at(genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, "gemini-2.5-flash-image")},
		{Model: "writes", Targets: at(genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, "gemini-2.5-flash")},
		{Model: "has no place", Targets: at(genwayv1.Protocol_PROTOCOL_MESSAGES, "gemini-2.5-flash-image")},
		{Model: "is not known to", Targets: []route.Target{{Name: "u", Upstream: writes{silent}, Protocol: chat, Model: "gemini-2.5-flash-image", Catalog: known}}},
		{Model: "draws in chat", Targets: at(chat, "gemini-2.5-flash-image")},
	})
	for i, draws := range []bool{true, false, false, false, true} {
		if m := r.Models()[i]; m.GetGeneratesImages() != draws || !m.GetGeneratesText() {
			t.Errorf("%v", m)
		}
	}
}

// writes is an upstream whose protocol may draw, and which does not.
type writes struct{ *stub }

func (writes) Draws() bool { return false }

// Images are drawn by targets that are for them, where there are any, and else by those that draw in answers of text.
func TestTargetsForImages(t *testing.T) {
	silent := &stub{name: "silent"}
	images, responses := genwayv1.Protocol_PROTOCOL_IMAGES, genwayv1.Protocol_PROTOCOL_RESPONSES
	r := route.New([]route.Route{
		{Model: "own", Targets: []route.Target{target(silent, responses), target(silent, images)}, Fallback: []route.Target{{Name: "writes", Upstream: writes{silent}, Protocol: chat}, target(silent, responses)}},
		{Model: "drawn", Targets: []route.Target{{Name: "writes", Upstream: writes{silent}, Protocol: chat}, target(silent, responses)}},
		{Model: "none", Targets: []route.Target{{Name: "writes", Upstream: writes{silent}, Protocol: chat}}},
	})
	own, drawn, none := r.Explain(images, "own"), r.Explain(images, "drawn"), r.Explain(images, "none")
	if len(own.Targets) != 1 || own.Targets[0].Protocol != images || len(own.Fallback) != 1 || own.Fallback[0].Protocol != responses {
		t.Errorf("%+v", own)
	}
	if len(drawn.Targets) != 1 || drawn.Targets[0].Protocol != responses || len(none.Targets) != 0 {
		t.Errorf("%+v, %+v", drawn, none)
	}
}
