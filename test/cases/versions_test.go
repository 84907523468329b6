package cases_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"google.golang.org/grpc/metadata"
)

func versionCases() []Case {
	return []Case{
		{"V11", "callers of both versions of messages, of other protocols and of the contract meet upstreams of either version: what the upstream's version refuses is left out and named, or refused by name; what the caller's version refuses is refused natively; every other byte passes", messagesVersions},
	}
}

const (
	oldVersion = "2023-06-01"
	newVersion = "2026-10-21"
)

// versioned answers as a vendor of a version does: with an error for another version in the
// header, and for what 2026-10-21 refuses. Without a version it goes by the header.
func versioned(version string, streamed bool) fake.Answer {
	return answers.Text("fine").Answer(harness.Messages, streamed).If(func(r fake.Request) (fake.Answer, bool) {
		sent := r.Header.Get("Anthropic-Version")
		wrong := ""
		switch {
		case version != "" && sent != version:
			wrong = "version " + sent
		case sent == newVersion:
			wrong = refusedBy2026(r.Body)
		}
		if wrong == "" {
			return fake.Answer{}, false
		}
		return fake.Refusal(http.StatusBadRequest, fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, "theirs: "+wrong)), true
	})
}

// refusedBy2026 reads a body as the vendor's notes on the version say.
func refusedBy2026(body []byte) string {
	var r map[string]any
	if err := json.Unmarshal(body, &r); err != nil {
		return err.Error()
	}
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if _, there := r[name]; there {
			return name
		}
	}
	turns, _ := r["messages"].([]any)
	for _, turn := range turns {
		role, content := turn.(map[string]any)["role"], turn.(map[string]any)["content"]
		if role == "user" && cited(content, true) {
			return "citations"
		}
		blocks, _ := content.([]any)
		for _, block := range blocks {
			if role == "assistant" && block.(map[string]any)["type"] == "document" {
				return "document"
			}
		}
	}
	return ""
}

func cited(content any, texts bool) bool {
	blocks, _ := content.([]any)
	for _, b := range blocks {
		block := b.(map[string]any)
		list, _ := block["citations"].([]any)
		switch kind := block["type"]; {
		case kind == "text" && texts && len(list) > 0,
			kind == "search_result" && cited(block["content"], true),
			kind == "tool_result" && cited(block["content"], false):
			return true
		}
	}
	return false
}

const (
	citation     = `{"type":"char_location","cited_text":"c","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}`
	citedText    = `{"type": "text", "text": "as it says", "citations": [` + citation + `]}`
	uncitedText  = `{"type": "text", "text": "as it says"}`
	searchResult = `{"type":"search_result","source":"https://a.example","title":"A","content":[{"type":"text","text":"c"%s}],"citations":{"enabled":true}}`
	aDocument    = `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"citations":{"enabled":true}}`
)

// messagesBodies are bodies of the old version: what the new one refuses in them, under the
// name that losses and errors have for it, and the body without.
var messagesBodies = []struct{ name, body, refuses, without string }{
	{"plain", `{ "max_tokens": 9, "future": 1e2, "messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + citedText + `]},{"role":"user","content":[` + aDocument + `]}]}`, "", ""},
	{
		"sampling", `{"max_tokens":9, "temperature" : 1.0, "messages":[{"role":"user","content":"hi"}], "top_p":1, "top_k":0, "future":[1]}`,
		"temperature,top_p,top_k", `{"max_tokens":9, "messages":[{"role":"user","content":"hi"}], "future":[1]}`,
	},
	{
		"cited by the user", `{"max_tokens":9,"messages":[ {"role":"user","content":[` + citedText + `, {"type":"text","text":"b", "citations":[]}]} , {"role":"assistant","content":[` + citedText + `]},{"role":"user","content":"x"}]}`,
		"messages[0].content[0].citations", `{"max_tokens":9,"messages":[ {"role":"user","content":[` + uncitedText + `, {"type":"text","text":"b", "citations":[]}]} , {"role":"assistant","content":[` + citedText + `]},{"role":"user","content":"x"}]}`,
	},
	{
		"cited in a search result", `{"max_tokens":9,"system":"s","messages":[{"role":"user","content":[` + fmt.Sprintf(searchResult, `,"citations":[`+citation+`]`) + `,{"type":"text","text":"b"}]}]}`,
		"messages[0].content[0]", `{"max_tokens":9,"system":"s","messages":[{"role":"user","content":[` + fmt.Sprintf(searchResult, "") + `,{"type":"text","text":"b"}]}]}`,
	},
	{
		"cited in a tool's search result", `{"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[` + fmt.Sprintf(searchResult, `,"citations":[`+citation+`]`) + `]}]}]}`,
		"messages[2].content[0].content[0]", `{"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[` + fmt.Sprintf(searchResult, "") + `]}]}]}`,
	},
	{"a document said by the assistant", `{"max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"a"},` + aDocument + `]},{"role":"user","content":"x"}]}`, "messages[1].content[1]", ""},
	{"a document of content blocks", `{"max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"document","source":{"type":"content","content":"d"}}]},{"role":"user","content":"x"}]}`, "messages[1].content[0]", ""},
}

func versionedGateway(t *testing.T, version string) *harness.Gateway {
	return harness.New(t, harness.Config{
		Remote: func(c *remote.Config) {
			if c.Protocol == harness.Messages.ID() {
				c.Version = version
			}
		},
		Wrap: func(all upstream.Upstream) upstream.Upstream {
			to := func(name string, p harness.Protocol, version string, strict bool) route.Route {
				return route.Route{Model: name, Strict: strict, Targets: []route.Target{{Name: name, Upstream: all, Protocol: p.ID(), Version: version, Model: string(p) + "/m"}}}
			}
			return route.New([]route.Route{to("m", harness.Messages, version, false), to("strict", harness.Messages, version, true), to("chat", harness.Chat, "", false)})
		},
	})
}

// sentAs is a call of a version of messages.
func sentAs(version, model, body string, stream bool) harness.Call {
	c := harness.CallOf(harness.Messages, model, body, stream)
	c.Header.Set("Anthropic-Version", version)
	if version == newVersion { // as its SDKs have the key
		c.Header.Del("X-Api-Key")
		c.Header.Set("Authorization", "Bearer messages")
	}
	return c
}

func messagesVersions(t *testing.T) {
	for _, speaks := range []string{"", oldVersion, newVersion} {
		g := versionedGateway(t, speaks)
		for _, says := range []string{oldVersion, newVersion} {
			for _, b := range messagesBodies {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s to %s, %s, streamed %t", says, speaks, b.name, stream), func(t *testing.T) {
						betweenVersions(t, g, says, speaks, b.body, b.refuses, b.without, stream)
					})
				}
			}
		}
		t.Run("other protocols to "+speaks, func(t *testing.T) { othersToVersion(t, g, speaks) })
	}
	t.Run("to another protocol", versionsToChat)
}

func betweenVersions(t *testing.T, g *harness.Gateway, says, speaks, body, refuses, without string, stream bool) {
	kept := refuses == "" || says == oldVersion && speaks != newVersion
	vendors := says == newVersion && speaks != oldVersion // the vendor's to judge
	refused := !kept && !vendors && (says == newVersion || without == "")
	if !refused { // the fake fails the test for calls that are not scripted
		g.Messages.Answer(versioned(speaks, stream))
	}
	call := sentAs(says, "m", body, stream)
	a := g.Call(call)
	switch {
	case kept:
		if a.Status != http.StatusOK || a.Header.Get("X-Genway-Lost") != "" {
			t.Fatalf("%d %s, lost %q", a.Status, a.Body, a.Header.Get("X-Genway-Lost"))
		}
		if got, want := string(g.Messages.Last(t).Body), at(call.Body, "m"); got != want {
			t.Errorf("sent %s\nwant %s", got, want)
		}
	case vendors:
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "theirs: ") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	case refused:
		message := a.JSON().At("error.message").Text()
		first, _, _ := strings.Cut(refuses, ",")
		if a.Status != http.StatusBadRequest || a.JSON().At("error.type").Text() != "invalid_request_error" || !strings.HasPrefix(message, first) || !strings.Contains(message, newVersion) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	default:
		// A stream that passes through begins with the vendor's own event: what was lost is in the trailer.
		losses := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost")
		if a.Status != http.StatusOK || strings.ReplaceAll(losses, " ", "") != refuses {
			t.Fatalf("%d %s, lost %q, want %q", a.Status, a.Body, losses, refuses)
		}
		want := sentAs(says, "m", without, stream)
		if got := string(g.Messages.Last(t).Body); got != at(want.Body, "m") {
			t.Errorf("sent %s\nwant %s", got, at(want.Body, "m"))
		}
		if a := g.Call(sentAs(says, "strict", body, stream)); a.Status != http.StatusBadRequest {
			t.Errorf("a strict route: %d %s", a.Status, a.Body)
		}
	}
}

// at is a caller's body with the model's name of the upstream, which is m here.
func at(body, model string) string {
	return strings.Replace(body, `"model":"strict"`, `"model":"`+model+`"`, 1)
}

// othersToVersion has callers of other protocols, and of the contract, ask for sampling and for
// what an assistant's turn cannot have in the new version.
func othersToVersion(t *testing.T, g *harness.Gateway, speaks string) {
	lost := map[bool]string{true: "temperature, top_p"}
	for p, body := range map[harness.Protocol]string{
		harness.Chat:      `{"max_completion_tokens":9,"temperature":0.5,"top_p":0.9,"messages":[{"role":"user","content":"hi"}]}`,
		harness.Responses: `{"max_output_tokens":9,"temperature":0.5,"top_p":0.9,"store":false,"input":"hi"}`,
	} {
		for _, stream := range []bool{false, true} {
			g.Messages.Answer(versioned(speaks, stream))
			a := g.Call(harness.CallOf(p, "m", body, stream))
			if got := a.Header.Get("X-Genway-Lost"); a.Status != http.StatusOK || got != lost[speaks == newVersion] {
				t.Errorf("%s: %d %s, lost %q", p, a.Status, a.Body, got)
			}
			if got := strings.Contains(string(g.Messages.Last(t).Body), `"temperature"`); got != (speaks != newVersion) {
				t.Errorf("%s: sent %s", p, g.Messages.Last(t).Body)
			}
		}
	}
	if speaks != newVersion {
		g.Messages.Answer(versioned(speaks, false))
	}
	body := `{"generationConfig":{"topK":3},"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}}]},{"role":"user","parts":[{"text":"b"}]}]}`
	if a := g.Call(harness.CallOf(harness.GenerateContent, "m", body, false)); (a.Status == http.StatusBadRequest && strings.Contains(string(a.Body), "contents[1].parts[0]")) != (speaks == newVersion) {
		t.Errorf("a document of the model: %d %s", a.Status, a.Body)
	}
	g.Messages.Answer(versioned(speaks, false))
	resp, err := g.Core.GenerateText(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer internal"), &genwayv1.GenerateTextRequest{
		Model: "m", Sampling: &genwayv1.Sampling{TopK: new(int32(3)), TopP: new(0.5)},
		Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}}}},
	})
	if err != nil || len(resp.GetLosses()) != map[bool]int{true: 2}[speaks == newVersion] {
		t.Errorf("the contract: %v, lost %v", err, resp.GetLosses())
	}
}

// versionsToChat: an upstream of another protocol gets what the caller's version has, so that a
// caller of the new version is refused as its vendor does, streamed or counted.
func versionsToChat(t *testing.T) {
	g := versionedGateway(t, "")
	for _, b := range messagesBodies {
		if b.refuses == "" || strings.Contains(b.name, "search result") || strings.Contains(b.name, "document") {
			continue // no upstream of chat completions takes them, whatever the version
		}
		g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
		if a := g.Call(sentAs(oldVersion, "chat", b.body, false)); a.Status != http.StatusOK {
			t.Errorf("%s, %s: %d %s", oldVersion, b.name, a.Status, a.Body)
		}
		a := g.Call(sentAs(newVersion, "chat", b.body, false))
		first, _, _ := strings.Cut(b.refuses, ",")
		if a.Status != http.StatusBadRequest || !strings.HasPrefix(a.JSON().At("error.message").Text(), first) {
			t.Errorf("%s, %s: %d %s", newVersion, b.name, a.Status, a.Body)
		}
	}
	// Both spellings of the header name the version, and the first of two counts.
	sampled := messagesBodies[1].body
	for _, header := range []http.Header{
		{"Vendorb-Version": {newVersion}}, {"Anthropic-Version": {newVersion, oldVersion}}, {"Anthropic-Version": {"2027-01-01"}},
	} {
		call := sentAs(oldVersion, "chat", sampled, false)
		call.Header.Del("Anthropic-Version")
		maps.Copy(call.Header, header)
		if a := g.Call(call); a.Status != http.StatusBadRequest || !strings.HasPrefix(a.JSON().At("error.message").Text(), "temperature") {
			t.Errorf("%v: %d %s", header, a.Status, a.Body)
		}
	}
	count := sentAs(newVersion, "chat", sampled, false)
	count.Path += "/count_tokens"
	if a := g.Call(count); a.Status != http.StatusBadRequest || !strings.HasPrefix(a.JSON().At("error.message").Text(), "temperature") {
		t.Errorf("a count: %d %s", a.Status, a.Body)
	}
}
