package cases_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
)

func validatedCases() []Case {
	return []Case{
		{"X5", "generateContent's mode VALIDATED is AUTO for every upstream of another protocol: functions whose schemas fit are strict, and the mode is named as lost where one is not", validated},
	}
}

func validated(t *testing.T) {
	const fits, lax = `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}`,
		`{"type":"object","properties":{"q":{"type":"string"}}}`
	for p, choice := range map[harness.Protocol]string{harness.Chat: `"auto"`, harness.Responses: `"auto"`, harness.Messages: `{"type":"auto"}`} {
		for _, tc := range []struct {
			mode, first, second string
			strict, lost        bool
		}{
			{"VALIDATED", fits, fits, true, false},
			{"VALIDATED", fits, lax, true, true},
			{"VALIDATED", lax, lax, false, true},
			{"AUTO", fits, fits, false, false},
		} {
			g := harness.New(t, harness.Config{})
			g.Upstream(p).Answer(answers.Text("fine").Answer(p, false))
			a := g.Post(harness.GenerateContent, string(p)+"/m", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":`+tc.first+
				`},{"name":"g","parametersJsonSchema":`+tc.second+`}]}],"toolConfig":{"functionCallingConfig":{"mode":"`+tc.mode+`"}}}`)
			if a.Status != 200 {
				t.Fatalf("%+v over %s: %d %s", tc, p, a.Status, a.Body)
			}
			sent := parse(t, g.Upstream(p).Last(t).Body)
			sent.At("tool_choice").Is(t, choice)
			function := map[harness.Protocol]string{harness.Chat: "function."}[p]
			for i, strict := range []bool{tc.strict, tc.strict && tc.second == fits} {
				if got := string(sent.At("tools[" + strconv.Itoa(i) + "]." + function + "strict").Raw); (got == "true") != strict {
					t.Errorf("%+v over %s: tool %d: strict %q", tc, p, i, got)
				}
			}
			if lost := a.Header.Get("X-Genway-Lost"); strings.Contains(lost, "toolConfig.functionCallingConfig.mode") != tc.lost {
				t.Errorf("%+v over %s: lost %q", tc, p, lost)
			}
		}
	}
}
