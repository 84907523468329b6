package cases_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	forms "github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/explain"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/recorded"
	"golang.org/x/tools/txtar"
)

func xrayCases() []Case {
	return []Case{
		{"X112", "the X-ray of a request names as lost what X-Genway-Lost names, shows the body that the upstream gets, and says of nothing else that it is lost or changed", xrayed},
	}
}

// xrayed takes the bodies in testdata, and those that GENWAY_CORPUS (a file) and GENWAY_CAPTURES (a folder) name, as
// make crossing does.
func xrayed(t *testing.T) {
	bodies, err := txtar.ParseFile(filepath.Join("testdata", "agents.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	g := harness.New(t, harness.Config{})
	keeps, _ := accounted(t, opened(t), nil)
	for _, body := range bodies.Files {
		caller, _, _ := strings.Cut(body.Name, " ")
		for _, upstream := range harness.Texts() {
			for name, streamed := range map[string]bool{" unary": false, " streamed": true} {
				g := g
				if forms.InBackground(body.Data) {
					g, streamed = keeps, false
				}
				t.Run(body.Name+" over "+string(upstream)+name, func(t *testing.T) {
					compareXray(t, g, harness.Protocol(caller), upstream, "gpt-5.1", string(body.Data), streamed)
				})
			}
		}
	}
	counted := map[string]int{}
	for _, x := range recordedRequests(t) {
		caller, model, body := harness.Protocol(x.Protocol), strings.ReplaceAll(cmp.Or(x.Model(), "m"), "/", "-"), withoutModel(t, x.Request)
		g, streamed := g, x.Stream
		if forms.InBackground(x.Request) {
			g, streamed = keeps, false
		}
		for _, upstream := range harness.Texts() {
			ok := t.Run(x.ID+" over "+string(upstream), func(t *testing.T) {
				lost, refused := compareXray(t, g, caller, upstream, model, body, streamed)
				counted["translated"]++
				counted["names lost"] += lost
				if refused {
					counted["refused"]++
				}
			})
			if !ok {
				counted["WRONG"]++
			}
		}
	}
	t.Log("recorded bodies: ", counted)
}

// recordedRequests are those of callers of text.
func recordedRequests(t *testing.T) []recorded.Exchange {
	t.Helper()
	var all []recorded.Exchange
	for name, read := range map[string]func(string) ([]recorded.Exchange, error){"GENWAY_CORPUS": recorded.Load, "GENWAY_CAPTURES": recorded.LoadCaptures} {
		if path := os.Getenv(name); path != "" {
			some, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, some...)
		}
	}
	return slices.DeleteFunc(all, func(x recorded.Exchange) bool { return !slices.Contains(harness.Texts(), harness.Protocol(x.Protocol)) })
}

// withoutModel returns a body without the members that a call of the harness adds.
func withoutModel(t *testing.T, body []byte) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "model")
	delete(members, "stream")
	left, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(left)
}

// compareXray makes a call and holds the X-ray of its body to it. It returns how many names are lost, and whether the call
// is refused.
func compareXray(t *testing.T, g *harness.Gateway, caller, upstream harness.Protocol, model, body string, streamed bool) (names int, refused bool) {
	t.Helper()
	g.Upstream(upstream).Answer(answers.Text("fine").Answer(upstream, streamed))
	a := g.Call(harness.CallOf(caller, string(upstream)+"/"+model, body, streamed))
	x, err := (&explain.Explainer{}).Explain(t.Context(), &adminv1.ExplainRequest{
		Protocol: protocol.ByKind(string(caller)).ID, UpstreamProtocol: protocol.ByKind(string(upstream)).ID,
		Model: model, Stream: streamed, Body: []byte(harness.CallOf(caller, model, body, streamed).Body),
	})
	if err != nil || x.GetTruncated() {
		t.Fatal(err, x.GetTruncated())
	}
	if a.Status != http.StatusOK {
		var failure struct{ Error struct{ Message string } }
		if err := json.Unmarshal(a.Body, &failure); err != nil || failure.Error.Message != x.GetRefusal().GetMessage() {
			t.Errorf("%d %s: the X-ray's refusal is %v, %v", a.Status, a.Body, x.GetRefusal(), err)
		}
		return 0, true
	}
	background := forms.InBackground([]byte(body))
	if background {
		a = until(t, g, a.JSON().At("id").Text(), "completed")
	}
	sent := g.Upstream(upstream).Last(t).Body
	if !bytes.Equal(sent, x.GetUpstreamBody()) {
		t.Errorf("the upstream got\n%s\nand the X-ray shows\n%s", sent, x.GetUpstreamBody())
	}
	named := strings.Join(append(a.Header.Values("X-Genway-Lost"), a.Trailer.Values("X-Genway-Lost")...), ", ")
	var lost []string
	for i, m := range x.GetMembers() {
		switch m.GetFate() { //nolint:exhaustive // the others arrive, or are said
		case adminv1.Fate_FATE_LOST:
			if lost = append(lost, m.GetPath()); len(lost) != i+1 {
				t.Errorf("%s is not at the head of the members", m.GetPath())
			}
		case adminv1.Fate_FATE_CHANGED, adminv1.Fate_FATE_REFUSED:
			t.Errorf("%v", m)
		case adminv1.Fate_FATE_IMPLIED:
			// A text of which the upstream gets fewer than the caller wrote is another's: a prompt names a tool that is not offered.
			text := []byte(strings.Trim(m.GetValueJson(), `"`))
			if n := bytes.Count(sent, text); len(text) >= 12 && n > 0 && n >= strings.Count(body, string(text)) {
				t.Errorf("it arrives: %v", m)
			}
		}
	}
	list := strings.Join(lost, ", ")
	if shown, _, cut := strings.Cut(named, ", and "); cut { // and N more
		named, list = shown, list[:min(len(shown), len(list))]
	}
	if list != named || !slices.Equal(x.GetLost(), lost) {
		t.Errorf("the header names %q, the X-ray %q and %q", named, lost, x.GetLost())
	}
	if passes := caller == upstream && !background; passes != x.GetPassedThrough() || passes && slices.ContainsFunc(x.GetMembers(), func(m *adminv1.ExplainedMember) bool {
		return m.GetFate() != adminv1.Fate_FATE_KEPT && m.GetFate() != adminv1.Fate_FATE_ADDED
	}) {
		t.Errorf("its own protocol: %v", x.GetMembers())
	}
	return len(lost), false
}
