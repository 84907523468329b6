package cases

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/genway/genway/conformance/caller"
	"github.com/genway/genway/conformance/server"
	"github.com/genway/genway/conformance/vendors"
)

// noRawKeys makes, changes, imports, uses, rotates and revokes keys, and looks at what is
// written about them.
func noRawKeys(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		made, err := server.CreateKey(data, "chat", "made", "--models", "none-of-these", "--owner", "somebody")
		if err != nil {
			t.Fatal(err)
		}
		raw := []string{made}
		refused := r.call(t, caller.Call{Protocol: "chat", Model: vendors.Model(vendors.Answer, "cancel-own", 1), Key: made})
		genway(t, data, "keys", "update", "made", "--models", "", "--budget-day", "5")
		raw = append(raw, strings.TrimSpace(genway(t, data, "keys", "rotate", "made")))
		if got := r.call(t, caller.Call{Protocol: "chat", Model: vendors.Model(vendors.Answer, "cancel-own", 2), Key: raw[1]}); !got.Whole {
			t.Errorf("%+v", got)
		}
		id := r.row(t, 2).KeyID
		genway(t, data, "keys", "revoke", "made")
		var told strings.Builder
		told.WriteString(refused.Body)
		for _, args := range [][]string{{"keys", "list"}, {"keys", "show", id}, {"audit", "list", "--format", "json"}, {"usage", "--by", "key"}} {
			told.WriteString(genway(t, data, args...))
		}
		if !strings.Contains(told.String(), id) {
			t.Errorf("the key's id %s is not told:\n%s", id, told.String())
		}
		for line := range strings.Lines(r.db.Dump(t)) {
			table, _, _ := strings.Cut(line, ":")
			for _, key := range raw {
				hash := sha256.Sum256([]byte(key))
				if strings.Contains(line, key) || table != "keys" && strings.Contains(strings.ToLower(line), hex.EncodeToString(hash[:])) {
					t.Errorf("a key is in the table %s: %s", table, line)
				}
			}
		}
		for _, key := range raw {
			hash := sha256.Sum256([]byte(key))
			if strings.Contains(told.String(), key) || strings.Contains(strings.ToLower(told.String()), hex.EncodeToString(hash[:])) {
				t.Errorf("a key is told:\n%s", told.String())
			}
		}
	})
}
