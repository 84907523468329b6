package route_test

import (
	"testing"

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
