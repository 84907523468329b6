package cases

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/conformance/caller"
	"github.com/genway/genway/conformance/server"
	"github.com/genway/genway/conformance/vendors"
)

// status is what a chat request with a key gets.
func (r *rig) status(t *testing.T, key string) int {
	t.Helper()
	return r.call(t, caller.Call{Protocol: "chat", Model: vendors.Model(vendors.Answer, "cancel-own", 1), Key: key}).Status
}

// becomes waits 2 s for a key to get a status: by then every core knows.
func (r *rig) becomes(t *testing.T, what, key string, want int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Second); ; {
		got := r.status(t, key)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s gets %d after 2 s, want %d", what, got, want)
		}
	}
}

// rotation gives a key new secrets while it is used, under a grace that does not end and
// one that does at once.
func rotation(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		first, err := server.CreateKey(data, "chat", "rotated")
		if err != nil {
			t.Fatal(err)
		}
		rotate := func(grace string) string {
			return strings.TrimSpace(genway(t, data, "keys", "rotate", "rotated", "--grace", grace))
		}
		r.becomes(t, "the first secret", first, http.StatusOK)
		second := rotate("1h")
		r.becomes(t, "the second secret", second, http.StatusOK)
		if got := r.status(t, first); got != http.StatusOK {
			t.Errorf("in its grace the first secret gets %d", got)
		}
		third := rotate("1h")
		r.becomes(t, "the third secret", third, http.StatusOK)
		r.becomes(t, "the first secret, which two have replaced", first, http.StatusUnauthorized)
		if got := r.status(t, second); got != http.StatusOK {
			t.Errorf("in its grace the second secret gets %d", got)
		}
		fourth := rotate("0s")
		r.becomes(t, "the third secret, without a grace", third, http.StatusUnauthorized)
		r.becomes(t, "the second secret", second, http.StatusUnauthorized)
		r.becomes(t, "the fourth secret", fourth, http.StatusOK)
		genway(t, data, "keys", "revoke", "rotated")
		r.becomes(t, "the fourth secret, of a revoked key", fourth, http.StatusUnauthorized)
		ids := map[string]bool{}
		for _, row := range r.db.Ledger(t) {
			ids[row.KeyID] = true
		}
		if len(ids) != 1 {
			t.Errorf("the ledger takes the secrets of one key for %d keys", len(ids))
		}
	})
}

// wellKnown are credentials that other gateways have had.
var wellKnown = []string{"", "sk-1234", "root", "123456", "admin", "default", "genway", "gwk_default", "master", "null", "undefined"}

// noDefaults tries a fresh core, which has no key at all, and a fresh gateway, which makes
// some of its own.
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
			t.Errorf("a fresh gateway has a key for administrators:\n%s", list)
		}
		for _, protocol := range protocols() {
			for _, key := range wellKnown {
				for _, inURL := range []bool{false, true} {
					if protocol == "grpc" && inURL {
						continue
					}
					seen, err := r.client.Do(t.Context(), caller.Call{Protocol: protocol, Model: vendors.Model(vendors.Answer, "cancel-own", 1), Key: key, KeyInURL: inURL})
					if err != nil || seen.Status < 400 {
						t.Errorf("%s: %q opens a fresh gateway: %+v, %v", protocol, key, seen, err)
					}
				}
			}
		}
		if told := r.vendors.Told(1); told.Calls > 0 {
			t.Errorf("the upstream was asked %d times", told.Calls)
		}
	})
}
