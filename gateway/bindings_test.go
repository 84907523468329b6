package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
)

// Each HTTP binding of the contract is a public path of exactly one protocol, or
// the internal path of its stream; no public path is without a binding.
func TestBindingsArePublicPaths(t *testing.T) {
	e := serve(t, nil)
	public := 0
	methods := genwayv1.File_genway_v1_generation_proto.Services().ByName("Generation").Methods()
	for i := range methods.Len() {
		rule, ok := proto.GetExtension(methods.Get(i).Options(), annotations.E_Http).(*annotations.HttpRule)
		if !ok || rule == nil {
			t.Fatalf("%s has no binding", methods.Get(i).Name())
		}
		for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
			method, path := http.MethodGet, r.GetGet()
			if r.GetPost() != "" {
				method, path = http.MethodPost, r.GetPost()
			}
			for _, field := range []string{"{model=**}", "{request.model=**}", "{name=**}"} {
				path = strings.ReplaceAll(path, field, "m")
			}
			owners := 0
			for _, p := range protocols {
				h := right(p.name)
				answered := e.do(t, method, path, h, p.body)
				if answered.status != http.StatusNotFound && answered.status != http.StatusMethodNotAllowed {
					owners++
				}
			}
			if internal := strings.HasSuffix(path, ":stream"); internal != (owners == 0) {
				t.Errorf("%s %s has %d owners", method, path, owners)
			}
			public += min(owners, 1)
		}
	}
	if public < 15 {
		t.Errorf("only %d public paths", public)
	}
}
