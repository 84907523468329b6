package route_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cpu"
)

var protocols = []genwayv1.Protocol{
	genwayv1.Protocol_PROTOCOL_UNSPECIFIED, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_RESPONSES,
	genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, genwayv1.Protocol_PROTOCOL_IMAGES,
}

// linear is how routes were found before there was an index: one by one, by a regular
// expression.
func linear(routes []route.Route, protocol genwayv1.Protocol, model string) int {
	return slices.IndexFunc(routes, func(r route.Route) bool {
		pieces := strings.Split(r.Model, "*")
		for i, p := range pieces {
			pieces[i] = regexp.QuoteMeta(p)
		}
		return regexp.MustCompile("^"+strings.Join(pieces, ".*")+"$").MatchString(model) && (len(r.Protocols) == 0 || slices.Contains(r.Protocols, protocol))
	})
}

// The first route that matches wins, as if they were tried one by one; and a model is listed
// exactly where some caller's request for it comes to a route whose upstream lists it.
func TestRoutesAreFoundAsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/*")), 1, 4, -1)
		names := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.SampledFrom([]rune("ab/")), 1, 4, -1), 0, 4, rapid.ID).Draw(t, "names")
		var listed []*genwayv1.Model
		for _, name := range names {
			listed = append(listed, &genwayv1.Model{Name: name})
		}
		var routes []route.Route
		for i := range rapid.IntRange(0, 8).Draw(t, "routes") {
			lists := rapid.Bool().Draw(t, "lists")
			target := route.Target{Name: fmt.Sprint("u", i), Models: func() []*genwayv1.Model {
				if lists {
					return listed
				}
				return nil
			}}
			routes = append(routes, route.Route{
				Model:     text.Draw(t, "pattern"),
				Protocols: rapid.SliceOfNDistinct(rapid.SampledFrom(protocols), 0, 2, rapid.ID).Draw(t, "protocols"),
				Targets:   []route.Target{target},
			})
		}
		router := route.New(routes)
		for _, model := range append(names, text.Draw(t, "model")) {
			want := map[string]bool{}
			for _, protocol := range protocols {
				i := linear(routes, protocol, model)
				if got := router.Explain(protocol, model).Route; got != i {
					t.Errorf("%s of %s comes to %d, want %d", model, protocol, got, i)
				}
				if i >= 0 && slices.Contains(names, model) && len(routes[i].Targets[0].Models()) > 0 {
					want[model] = true
				}
			}
			for _, r := range routes {
				want[model] = want[model] || r.Model == model && !strings.Contains(model, "*")
			}
			if got := slices.ContainsFunc(router.Models(), func(m *genwayv1.Model) bool { return m.GetName() == model }); got != want[model] {
				t.Errorf("%s is listed: %t, want %t", model, got, want[model])
			}
		}
	})
}

// The list of models of many routes is made without trying each route for each model.
func TestModelsOfManyRoutes(t *testing.T) {
	var listed []*genwayv1.Model
	for i := range 1000 {
		listed = append(listed, &genwayv1.Model{Name: fmt.Sprintf("m%d/x", i)})
	}
	target := route.Target{Name: "u", Models: func() []*genwayv1.Model { return listed }}
	var routes []route.Route
	for i := range 2000 {
		routes = append(routes, route.Route{Model: fmt.Sprintf("t%d/*", i), Targets: []route.Target{target}})
	}
	routes = append(routes, route.Route{Model: "m*", Targets: []route.Target{target}})
	took := cpu.Took(func() {
		if n := len(route.New(routes).Models()); n != 1000 {
			t.Errorf("%d models", n)
		}
	})
	// Trying each takes 2,000 × 1,000 × 2,000 comparisons: minutes.
	if took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
