package chaos

import (
	"strconv"
	"testing"

	"github.com/genway/genway/conformance/server"
)

// atOnce is how many requests a limited key may have under way.
const atOnce = callers + 4

// limitedKeys makes keys of all groups that have a limit and a budget of every kind,
// each above what the load needs.
func limitedKeys(t *testing.T, data string) map[string]string {
	t.Helper()
	keys := map[string]string{}
	for _, group := range server.Groups() {
		key, err := server.CreateKey(data, group, "limited", "--owner", "chaos", "--concurrent", strconv.Itoa(atOnce),
			"--requests-per-minute", "100000000", "--tokens-per-minute", "1000000000", "--budget-day", "1000000", "--budget-month", "1000000")
		if err != nil {
			t.Fatal(err)
		}
		keys[group] = key
	}
	return keys
}
