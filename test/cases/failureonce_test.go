package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// inBand are errors with a message of one's own, in the words of each vendor.
var inBand = map[harness.Protocol]string{
	harness.Chat:            `{"error":{"message":"MESSAGE","type":"server_error","param":null,"code":null}}`,
	harness.Responses:       `{"type":"error","code":"server_error","message":"MESSAGE","param":null,"sequence_number":9}`,
	harness.Messages:        `{"type":"error","error":{"type":"overloaded_error","message":"MESSAGE"}}`,
	harness.GenerateContent: `{"error":{"code":503,"message":"MESSAGE","status":"UNAVAILABLE"}}`,
	harness.Interactions:    `{"error":{"code":"unavailable","message":"MESSAGE"},"event_type":"error"}`,
}

// The failure that an upstream reports in the middle of a stream reaches a caller of
// its protocol unchanged and is not reported again by the gateway, not even when it is
// too long to travel with the failure itself.
func TestFailuresAreReportedOnce(t *testing.T) {
	for _, p := range harness.Texts() {
		for name, size := range map[string]int{"short": 10, "long": 70 << 10} {
			t.Run(string(p)+", "+name, func(t *testing.T) {
				g := harness.New(t, harness.Config{})
				message := strings.Repeat("x", size)
				failed := strings.Replace(inBand[p], "MESSAGE", message, 1)
				g.Upstream(p).Answer(then(begun(p), fake.Events(failed)...))
				frames := g.Stream(p, string(p)+"/m", p.Hello()).Frames()
				failures := 0
				for _, f := range frames {
					if strings.Contains(f.Data, "xxxxxxxxxx") {
						failures++
						if f.Data != failed {
							t.Errorf("the caller got %.200s", f.Data)
						}
					}
				}
				if failures != 1 {
					t.Errorf("reported %d times", failures)
				}
			})
		}
	}
}
