package cases_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/explain"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"golang.org/x/tools/txtar"
)

func xrayCases() []Case {
	return []Case{
		{"X112", "the X-ray of a request names as lost what X-Genway-Lost names, shows the body that the upstream gets, and says of nothing else that it is lost or changed", xrayed},
	}
}

func xrayed(t *testing.T) {
	bodies, err := txtar.ParseFile(filepath.Join("testdata", "agents.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	g := harness.New(t, harness.Config{})
	for _, body := range bodies.Files {
		caller, _, _ := strings.Cut(body.Name, " ")
		for _, upstream := range harness.Texts() {
			for name, streamed := range map[string]bool{" unary": false, " streamed": true} {
				t.Run(body.Name+" over "+string(upstream)+name, func(t *testing.T) {
					compareXray(t, g, harness.Protocol(caller), upstream, string(body.Data), streamed)
				})
			}
		}
	}
}

// compareXray makes a call and holds the X-ray of its body to it.
func compareXray(t *testing.T, g *harness.Gateway, caller, upstream harness.Protocol, body string, streamed bool) {
	t.Helper()
	const model = "gpt-5.1"
	g.Upstream(upstream).Answer(answers.Text("fine").Answer(upstream, streamed))
	a := g.Call(harness.CallOf(caller, string(upstream)+"/"+model, body, streamed))
	x, err := (&explain.Explainer{}).Explain(t.Context(), &adminv1.ExplainRequest{
		Protocol: protocol.ByKind(string(caller)).Name, UpstreamProtocol: protocol.ByKind(string(upstream)).Name,
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
		return
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
			if text := strings.Trim(m.GetValueJson(), `"`); len(text) >= 12 && bytes.Contains(sent, []byte(text)) {
				t.Errorf("it arrives: %v", m)
			}
		}
	}
	if strings.Join(lost, ", ") != named {
		t.Errorf("the header names %q, the X-ray %q", named, lost)
	}
	if caller == upstream && slices.ContainsFunc(x.GetMembers(), func(m *adminv1.ExplainedMember) bool {
		return m.GetFate() != adminv1.Fate_FATE_KEPT && m.GetFate() != adminv1.Fate_FATE_ADDED
	}) {
		t.Errorf("its own protocol: %v", x.GetMembers())
	}
}
