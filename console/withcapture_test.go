package console

import (
	"strings"
	"testing"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A rule is written into the text as it is: what is not of the rule stays, comments too. A route that is written in another way is left to
// the reader.
func TestWithCapture(t *testing.T) {
	rule := &adminv1.CaptureRule{Until: timestamppb.New(time.Unix(1_800_000_000, 0))}
	const line = `capture: {until: "2027-01-15T08:00:00Z"}`
	for name, c := range map[string]struct{ text, number, with, without string }{
		"a block": {"# é\nroutes: # all\n  # first\n  - model: a # é\n    targets: [{upstream: s}]\n  - model: b\n    targets:\n      - upstream: s\n", "0",
			"# é\nroutes: # all\n  # first\n  - model: a # é\n    " + line + "\n    targets: [{upstream: s}]\n  - model: b\n    targets:\n      - upstream: s\n", ""},
		"the second": {"routes:\n- model: a\n  targets: [{upstream: s}]\n- targets:\n    - upstream: s\n  # why\n  model: b\n", "1",
			"routes:\n- model: a\n  targets: [{upstream: s}]\n- targets:\n    - upstream: s\n  # why\n  " + line + "\n  model: b\n", ""},
		"in braces": {"routes: [{model: \"é\", targets: [{upstream: s}]}, {model: b, targets: [{upstream: s}]}] # x\n", "1",
			"routes: [{model: \"é\", targets: [{upstream: s}]}, {model: b, " + line + ", targets: [{upstream: s}]}] # x\n", ""},
		"another rule": {"routes:\n  - {model: a, targets: [{upstream: s}], capture: {until: 2020-01-01}} # x\n", "0",
			"routes:\n  - {model: a, " + line + ", targets: [{upstream: s}]} # x\n", "routes:\n  - {model: a, targets: [{upstream: s}]} # x\n"},
		"a rule of lines": {"routes:\n  - model: a\n    capture:\n      until: 2020-01-01 # then\n      redact:\n        - x\n    # kept\n    targets: [{upstream: s}]\n", "0",
			"routes:\n  - model: a\n    # kept\n    " + line + "\n    targets: [{upstream: s}]\n", "routes:\n  - model: a\n    # kept\n    targets: [{upstream: s}]\n"},
		"a rule at the end": {"routes:\n  - model: a\n    targets: [{upstream: s}]\n    capture: {until: 2020-01-01}", "0",
			"routes:\n  - model: a\n    " + line + "\n    targets: [{upstream: s}]\n", "routes:\n  - model: a\n    targets: [{upstream: s}]\n"},
		"a rule at the head": {"routes:\n  - capture: {until: 2020-01-01}\n    model: a\n    targets: [{upstream: s}]\n", "0", "", ""},
		"an alias":           {"x: &r {model: a, targets: [{upstream: s}]}\nroutes: [*r]\n", "0", "", ""},
		"one member":         {"routes: [{model: a}]\n", "0", "", ""},
	} {
		for _, step := range []struct {
			rule *adminv1.CaptureRule
			want string
		}{{rule, c.with}, {nil, c.without}} {
			if step.rule == nil && step.want == "" && c.with != "" { // there was none
				step.want = c.text
			}
			got, shown, err := withCapture(c.text, c.number, step.rule)
			if got != step.want || (err == nil) != (step.want != "") || step.rule != nil && shown != line {
				t.Errorf("%s, %v:\n%s\nwant\n%s\n%q, %v", name, step.rule, got, step.want, shown, err)
			}
			if err != nil && step.rule != nil && !strings.Contains(err.Error(), line) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
