package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/internal/cases/gate"
	"github.com/genway/genway/internal/cases/say"
)

func validatedCases() []Case {
	return []Case{
		{"X5", "generateContent's mode VALIDATED is AUTO for every upstream of another protocol, and that schemas are kept is named as lost", validated},
	}
}

func validated(t *testing.T) {
	want := map[gate.Protocol]string{gate.Chat: `"auto"`, gate.Responses: `"auto"`, gate.Messages: `{"type":"auto"}`}
	for p, choice := range want {
		for _, mode := range []string{"VALIDATED", "AUTO"} {
			g := gate.New(t, gate.Config{})
			g.Upstream(p).Answer(say.Text("fine").Answer(p, false))
			a := g.Post(gate.GenerateContent, string(p)+"/m", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"`+mode+`"}}}`)
			if a.Status != 200 {
				t.Fatalf("%s over %s: %d %s", mode, p, a.Status, a.Body)
			}
			parse(t, g.Upstream(p).Last(t).Body).At("tool_choice").Is(t, choice)
			if lost := a.Header.Get("X-Genway-Lost"); strings.Contains(lost, "unctionCallingConfig") != (mode == "VALIDATED") {
				t.Errorf("%s over %s: lost %q", mode, p, lost)
			}
		}
	}
}
