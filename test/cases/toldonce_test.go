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
}

// What an upstream says of its failure in the middle of a stream reaches a caller of
// its protocol as it was said, and is not told again in our words: not even when it is
// too long to travel with the failure itself.
func TestFailuresAreToldOnce(t *testing.T) {
	for _, p := range harness.Texts() {
		for name, size := range map[string]int{"short": 10, "long": 70 << 10} {
			t.Run(string(p)+", "+name, func(t *testing.T) {
				g := harness.New(t, harness.Config{})
				message := strings.Repeat("x", size)
				said := strings.Replace(inBand[p], "MESSAGE", message, 1)
				g.Upstream(p).Answer(then(begun(p), fake.Events(said)...))
				frames := g.Stream(p, string(p)+"/m", p.Hello()).Frames()
				told := 0
				for _, f := range frames {
					if strings.Contains(f.Data, "xxxxxxxxxx") {
						told++
						if f.Data != said {
							t.Errorf("told %.200s", f.Data)
						}
					}
				}
				if told != 1 {
					t.Errorf("told %d times", told)
				}
			})
		}
	}
}
