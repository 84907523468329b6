package programs

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// status is what a chat request with a key gets.
func (r *rig) status(t *testing.T, key string) int {
	t.Helper()
	return r.call(t, caller.Call{Protocol: "chat", Model: vendors.Model(vendors.Answer, "cancel-own", 1), Key: key}).Status
}

// wellKnown are credentials that other gateways have had.
var wellKnown = []string{"", "sk-1234", "root", "123456", "admin", "default", "genway", "gwk_default", "master", "null", "undefined"}

// noDefaults tries a fresh core, which has no key at all, and a gateway with a key of each
// group.
func noDefaults(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		core, err := server.StartProcess("genway-core", append([]string{"--grpc", "127.0.0.1:0", "--log-format", "json"}, server.At(data)...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := core.Stop(); err != nil {
				t.Error(err)
			}
		})
		up, err := core.Await("core is up")
		if err != nil {
			t.Fatal(err)
		}
		if list := genway(t, data, "keys", "list"); strings.Contains(list, "key_") {
			t.Errorf("a fresh core has keys:\n%s", list)
		}
		unreachable := httptest.NewServer(nil) // the JSON side, which a core has not
		defer unreachable.Close()
		direct, err := caller.New(unreachable.URL, up["grpc"])
		if err != nil {
			t.Fatal(err)
		}
		defer direct.Close()
		for _, key := range wellKnown {
			seen, err := direct.Do(t.Context(), caller.Call{Protocol: "grpc", Model: "sandbox-text", Key: key})
			if err != nil || seen.Status == http.StatusOK || !strings.Contains(seen.Body, "Unauthenticated") {
				t.Errorf("%q opens a fresh core: %+v, %v", key, seen, err)
			}
		}
	})
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		if list := genway(t, data, "keys", "list"); strings.Contains(list, "admin") {
			t.Errorf("a gateway has a key for administrators:\n%s", list)
		}
		for _, protocol := range protocols() {
			for _, key := range wellKnown {
				for _, inURL := range []bool{false, true} {
					if protocol == "grpc" && inURL {
						continue
					}
					seen, err := r.client.Do(t.Context(), caller.Call{Protocol: protocol, Model: vendors.Model(vendors.Answer, "cancel-own", 1), Key: key, KeyInURL: inURL})
					if err != nil || seen.Status < 400 {
						t.Errorf("%s: %q opens a gateway: %+v, %v", protocol, key, seen, err)
					}
				}
			}
		}
		if answered := r.vendors.Answered(1); answered.Calls > 0 {
			t.Errorf("the upstream was asked %d times", answered.Calls)
		}
	})
}
