package route_test

import (
	"reflect"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Whoever accounts for a request learns who served it and as what.
func TestNote(t *testing.T) {
	busy, good := &stub{name: "busy", err: fault.New(fault.Overloaded, "BUSY", "busy")}, &stub{name: "good"}
	first, second := target(busy, 0), target(good, 0)
	second.Model = "theirs"
	r := route.New([]route.Route{
		{Model: "m*", Targets: []route.Target{first}, Fallback: []route.Target{second}},
		{Model: "plain", Targets: []route.Target{target(good, 0)}},
	})
	for model, want := range map[string]upstream.Note{
		"m1":    {Route: "m*", Name: "good", Model: "theirs", Calls: 2},
		"plain": {Route: "plain", Name: "good", Model: "plain", Calls: 1},
	} {
		var got upstream.Note
		if _, err := r.GenerateText(upstream.WithNote(t.Context(), &got), &genwayv1.GenerateTextRequest{Model: model}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", model, got, err, want)
		}
	}
}
