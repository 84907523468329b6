package cases_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// clientCases are about what agents of today send and read. Claude Code's rules are those of the
// vendor's gateway page (code.claude.com/docs/en/llm-gateway-protocol) and of GET /protocol of the
// gateway in its binary (2.1.332, read 2026-11-27).
func clientCases() []Case {
	return []Case{
		{"D2", "every anthropic-* header of a caller reaches the vendor, known or not, and no other vendor", openHeaders},
		{"D4", "what Claude's vendor has and Bedrock and Vertex AI refuse is left out and named, betas and their members alike, or has their name for it; a beta that they need is announced; all else of a caller's body and header passes", cloudBetas},
		{"D5", "Codex' list of models (client_version) has what it decodes for each text model of the key but those that it knows better itself; all other lists stay as they are", codexModels},
		{"D3", "a budget that is spent is 429, billing_error for messages, which is not sent again; before that each answer of messages says how full the caller's fullest budget is, as the vendor's own gateway does", budgets},
		{"D1", "tokens that the upstream cannot count are answered with 501, not_supported for messages, and are not asked for again; an upstream's own word on the request passes, and another target that can count is asked", cannotBeCounted},
	}
}

// openHeaders sends unknown headers.
func openHeaders(t *testing.T) {
	g := harness.New(t, harness.Config{})
	ask := func(model string, header map[string]string) http.Header {
		t.Helper()
		call := harness.CallOf(harness.Messages, model, harness.Messages.Hello(), false)
		for name, value := range header {
			call.Header.Set(name, value)
		}
		p := harness.Protocol(strings.TrimSuffix(model, "/m"))
		g.Upstream(p).Answer(answers.Text("fine").Answer(p, false))
		if a := g.Call(call); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return g.Upstream(p).Last(t).Header
	}
	sent := map[string]string{
		"anthropic-workspace-id": "wrkspc_1", "anthropic-beta": "a-1,b-2", "Anthropic-Of-Next-Year": "x; y=\"z\", w",
		"Anthropic-Long": strings.Repeat("a", 9000), "anthropic-odd": "\xff\xfe",
		"x-claude-code-session-id": "s", "x-app": "cli", "X-Anthropic-Other": "no", "Openai-Beta": "no", "Anthropicity": "no",
	}
	own := ask("messages/m", sent)
	for name, value := range sent {
		want := value
		switch name {
		case "x-claude-code-session-id", "x-app", "X-Anthropic-Other", "Openai-Beta", "Anthropicity", "anthropic-odd":
			want = ""
		}
		if got := own.Get(name); got != want {
			t.Errorf("%s reaches the vendor as %.50q, want %.50q", name, got, want)
		}
	}
	if version := own.Get("Anthropic-Version"); version != "2023-06-01" {
		t.Errorf("the version is %q", version)
	}
	if key := own.Get("X-Api-Key"); key != "upstream-key-of-messages" {
		t.Errorf("the key is %q", key)
	}
	for name := range ask("chat/m", sent) {
		if strings.HasPrefix(name, "Anthropic") {
			t.Errorf("%s reaches another vendor", name)
		}
	}
}

// nanoEach is a nano-dollar for each token.
type nanoEach struct{}

func (nanoEach) FindFirst(price.Query) (price.Price, bool) {
	return price.Price{ID: "p", Rates: price.Rates{Input: 1e6, Output: 1e6}}, true
}

// groupBudgets knows a key for each group, with a budget of 1,000 tokens a day.
type groupBudgets struct{ owner string }

func (g groupBudgets) Authenticate(_ context.Context, raw string) (keys.Principal, error) {
	group, err := keys.ParseGroup(raw)
	if err != nil {
		return keys.Principal{}, keys.ErrWrongKey
	}
	p := keys.Principal{KeyID: "key_" + raw, Group: group, Owner: g.owner}
	if g.owner == "" {
		p.Policy = &keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1000, Period: limit.Day}}}}
	}
	return p, nil
}

const unified = "Anthropic-Ratelimit-Unified-"

// budgets fills budgets, of a key and of an owner.
func budgets(t *testing.T) {
	for name, c := range map[string]struct {
		keys  groupBudgets
		rules limit.Rules
		scope limit.Scope
		id    string
	}{
		"of a key":    {scope: limit.Key, id: "key_messages"},
		"of an owner": {groupBudgets{"team"}, limit.Rules{Owners: []limit.Rule{{Pattern: "team", Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1000, Period: limit.Day}}}}}}, limit.Owner, "team"},
	} {
		memory := limit.NewMemory(nil)
		g := harness.New(t, harness.Config{Keys: c.keys, Limiter: limit.New(memory, c.rules), Prices: nanoEach{}})
		ask := func(p harness.Protocol, streamed bool, spent int64) harness.Answer {
			t.Helper()
			memory.Seed(c.scope, strings.Replace(c.id, "messages", string(p), 1), limit.Day, time.Now(), spent)
			if spent < 1000 {
				g.Upstream(p).Answer(answers.Text("fine").Answer(p, streamed))
			}
			return g.Call(harness.CallOf(p, string(p)+"/m", p.Hello(), streamed))
		}
		for _, step := range []struct {
			spent                          int64
			status, utilization, threshold string
		}{
			{0, "allowed", "0", ""}, {750, "allowed", "0.75", ""}, {756, "allowed_warning", "0.76", "0.75"},
			{800, "allowed_warning", "0.8", "0.75"}, {1000, "rejected", "1", "1"}, {2500, "rejected", "1", "1"},
		} {
			for _, streamed := range []bool{false, true} {
				a := ask(harness.Messages, streamed, step.spent)
				reset := strconv.FormatInt(limit.Day.End(time.Now()).Unix(), 10)
				want := map[string]string{
					"Status": step.status, "Reset": reset, "Overage-Reset": reset, "Overage-Utilization": step.utilization, "Overage-Surpassed-Threshold": step.threshold,
					"Representative-Claim": "overage", "Overage-Status": step.status, "Overage-Period": "", "Overage-Disabled-Reason": "", "Overage-Scope": "",
				}
				if step.status == "rejected" {
					maps.Copy(want, map[string]string{"Representative-Claim": "", "Overage-Status": "", "Overage-Period": "daily", "Overage-Disabled-Reason": "org_spend_cap_reached"})
					if c.scope == limit.Owner {
						want["Overage-Scope"] = "group_pool"
					}
					if a.Status != http.StatusTooManyRequests || a.Header.Get("X-Should-Retry") != "false" || a.Header.Get("Retry-After") == "" || a.JSON().At("error.type").Text() != "billing_error" {
						t.Errorf("%s, spent %d: %d %v\n%s", name, step.spent, a.Status, a.Header, a.Body)
					}
				} else if a.Status != http.StatusOK {
					t.Errorf("%s, spent %d: %d %s", name, step.spent, a.Status, a.Body)
				}
				for suffix, value := range want {
					if got := a.Header.Get(unified + suffix); got != value {
						t.Errorf("%s, spent %d, streamed %t: %s is %q, want %q", name, step.spent, streamed, suffix, got, value)
					}
				}
			}
		}
		for _, p := range []harness.Protocol{harness.Chat, harness.GenerateContent} {
			a := ask(p, false, 800)
			for header := range a.Header {
				if strings.Contains(strings.ToLower(header), "unified") || strings.Contains(strings.ToLower(header), "budget") {
					t.Errorf("%s: %s has %s", name, p, header)
				}
			}
		}
		if a := ask(harness.Chat, false, 1000); a.Status != http.StatusTooManyRequests || a.JSON().At("error.code").Text() != "insufficient_quota" || a.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %v\n%s", name, a.Status, a.Header, a.Body)
		}
	}
}

// cannotBeCounted asks upstreams for counts that they do not have.
func cannotBeCounted(t *testing.T) {
	counts := map[harness.Protocol]func(model string) harness.Call{
		harness.Messages: func(model string) harness.Call {
			c := harness.CallOf(harness.Messages, model, harness.Messages.Hello(), false)
			c.Path, c.Body = c.Path+"/count_tokens?beta=true", strings.Replace(c.Body, `"max_tokens":99,`, "", 1)
			return c
		},
		harness.Responses: func(model string) harness.Call {
			c := harness.CallOf(harness.Responses, model, harness.Responses.Hello(), false)
			c.Path += "/input_tokens"
			return c
		},
		harness.GenerateContent: func(model string) harness.Call {
			c := harness.CallOf(harness.GenerateContent, model, harness.GenerateContent.Hello(), false)
			c.Path = strings.Replace(c.Path, ":generateContent", ":countTokens", 1)
			return c
		},
	}
	native := map[harness.Protocol]string{
		harness.Messages:        `{"type":"error","error":{"type":"not_supported","message":"the upstream of this model does not count tokens"},"request_id":"`,
		harness.Responses:       `{"error":{"message":"the upstream of this model does not count tokens","type":"server_error","param":null,"code":"not_supported"}}`,
		harness.GenerateContent: `{"error":{"code":501,"message":"the upstream of this model does not count tokens","status":"UNIMPLEMENTED"`,
	}
	g := harness.New(t, harness.Config{})
	unsupported := func(t *testing.T, p harness.Protocol, a harness.Answer) {
		t.Helper()
		if a.Status != http.StatusNotImplemented || !strings.HasPrefix(string(a.Body), native[p]) || a.Header.Get("X-Should-Retry") != "false" || a.Header.Get("Retry-After") != "" {
			t.Errorf("%d %v\n%s", a.Status, a.Header, a.Body)
		}
	}
	for p, count := range counts {
		t.Run(string(p)+" by chat", func(t *testing.T) {
			unsupported(t, p, g.Call(count("chat/m"))) // no call is made: the fake has no answer
		})
		for name, refused := range map[string]fake.Answer{
			"a server without the path": fake.Refusal(http.StatusNotFound, `{"detail":"Not Found"}`),
			"a page":                    {Status: http.StatusNotFound, Header: map[string]string{"Content-Type": "text/html"}, Steps: []fake.Step{fake.Bytes("<html>no</html>")}},
			"nothing":                   {Status: http.StatusNotFound},
			"another method":            fake.Refusal(http.StatusMethodNotAllowed, `{"detail":"Method Not Allowed"}`),
			"not implemented":           fake.Refusal(http.StatusNotImplemented, `{"detail":"no"}`),
		} {
			t.Run(string(p)+" by "+name, func(t *testing.T) {
				g.Upstream(p).Answer(refused)
				a := g.Call(count(string(p) + "/m"))
				if name == "not implemented" { // its own status and text
					if a.Status != http.StatusNotImplemented || a.Header.Get("X-Should-Retry") != "false" {
						t.Errorf("%d %v\n%s", a.Status, a.Header, a.Body)
					}
					return
				}
				unsupported(t, p, a)
			})
		}
		t.Run(string(p)+" of a model that is not there", func(t *testing.T) {
			g.Upstream(p).Answer(fake.Refusal(http.StatusNotFound, unknownModels[p]))
			if a := g.Call(count(string(p) + "/m")); a.Status != http.StatusNotFound || string(a.Body) != unknownModels[p] {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	t.Run("another target counts", func(t *testing.T) {
		g := harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
			target := func(name string) route.Target { return route.Target{Name: name, Upstream: all, Model: name + "/m"} }
			return route.New([]route.Route{{Model: "*", Targets: []route.Target{target("chat")}, Fallback: []route.Target{target("messages")}}})
		}})
		g.Messages.Answer(fake.JSON(`{"input_tokens":7}`))
		if a := g.Call(counts[harness.Messages]("m")); a.Status != http.StatusOK || string(a.Body) != `{"input_tokens":7}` {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// unknownModels are the vendors' words for a model that they do not have.
var unknownModels = map[harness.Protocol]string{
	harness.Messages:        `{"type":"error","error":{"type":"not_found_error","message":"model: m"},"request_id":"req_1"}`,
	harness.Responses:       `{"error":{"message":"The model 'm' does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
	harness.GenerateContent: `{"error":{"code":404,"message":"models/m is not found","status":"NOT_FOUND"}}`,
}

// cloudBetas asks places of Claude for what only its vendor has. The first headers and members are
// Claude Code's (2.1.332, with ANTHROPIC_BASE_URL; captured on 2026-11-27).
func cloudBetas(t *testing.T) {
	const claudeCode = "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,per-turn-control-2026-07-01,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24"
	const turn = `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi \u0041"}]}]`
	for _, c := range []struct{ name, betas, body, want, sent, lost string }{
		{
			"Claude Code's", claudeCode, turn + `,"context_management":{"edits":[]},"output_config":{"effort":"medium"}`, turn + `,"context_management":{"edits":[]},"output_config":{"effort":"medium"}`,
			strings.Replace(claudeCode, "advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19", 1), "",
		},
		{"members whose beta the vendor does not need", "", turn + `,"context_management":{"edits":[]},"output_config":{"effort":"low"}`, turn + `,"context_management":{"edits":[]},"output_config":{"effort":"low"}`, "context-management-2025-06-27,effort-2025-11-24", ""},
		{
			"preferences", "a-1, fast-mode-2026-02-01,request-tags-2026-08-21,task-budgets-2026-03-13", `"tags":{"a":"b"},"speed":"fast",` + turn + `,"output_config":{"task_budget":{"type":"tokens","total":1}},"diagnostics":{"previous_message_id":null}`,
			turn, "a-1", "tags, speed, diagnostics, output_config.task_budget, anthropic-beta",
		},
		{"a part of a member", "", turn + `,"output_config":{"task_budget":1,"format":null}`, turn + `,"output_config":{"format":null}`, "", "output_config.task_budget"},
		{
			"the scope of caches", "prompt-caching-scope-2026-01-05", `"max_tokens":9,"system":[{"type":"text","text":"scope","cache_control":{"scope":"global","type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"\"cache_control\"","cache_control":{"type":"ephemeral","scope":"org"}}]}]`,
			`"max_tokens":9,"system":[{"type":"text","text":"scope","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"\"cache_control\"","cache_control":{"type":"ephemeral"}}]}]`,
			"", "cache_control, anthropic-beta",
		},
		{"a thread that begins", "message-threads-2026-08-12,b-2", turn + `,"thread":{"type":"create"}`, turn, "b-2", "thread, anthropic-beta"},
		{"arguments that are called alike", "", `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"speed":1,"tags":2,"thread":3,"cache_control":{"scope":4}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}]`,
			`"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"speed":1,"tags":2,"thread":3,"cache_control":{"scope":4}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}]`, "", ""},
		{"no thread", "", turn + `,"thread":null`, turn, "", "thread"},
		{"what nobody knows", "of-next-year", turn + `,"of_next_year":1`, turn + `,"of_next_year":1`, "of-next-year", ""},
	} {
		for upstream, version := range map[string]string{
			"kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, api_key: k": `,"anthropic_version":"bedrock-2023-05-31"`,
			"kind: messages, provider: bedrock, endpoint: mantle, region: us-east-1, api_key: k": "",
			"kind: messages, provider: vertex, project: p, region: global":                       `,"anthropic_version":"vertex-2023-10-16"`,
		} {
			for _, asStream := range []bool{false, true} {
				u := upstreamOf(t, upstream)
				g := harness.New(t, harness.Config{Remote: place(t, u)})
				answer := answers.Text("fine").Answer(harness.Messages, false)
				if asStream {
					answer = streamed(t, u, answers.Text("fine").Events(harness.Messages)...)
				}
				g.Messages.Answer(answer)
				call := harness.CallOf(harness.Messages, "messages/m", "{"+c.body+"}", asStream)
				if c.betas != "" {
					call.Header.Set("Anthropic-Beta", c.betas)
				}
				a := g.Call(call)
				lost := a.Header.Get("X-Genway-Lost")
				if asStream {
					lost = a.Trailer.Get("X-Genway-Lost")
				}
				if a.Status != http.StatusOK || lost != c.lost {
					t.Errorf("%s at %s: %d, lost %q, want %q", c.name, upstream, a.Status, lost, c.lost)
				}
				r := g.Messages.Last(t)
				body, sent := string(r.Body), r.Header.Get("Anthropic-Beta")
				if u.Place().NoStream {
					var list struct {
						Betas []string `json:"anthropic_beta"`
					}
					_ = json.Unmarshal(r.Body, &list)
					if sent != "" {
						t.Errorf("%s: the header is %q", c.name, sent)
					}
					sent = strings.Join(list.Betas, ",")
					body, _, _ = strings.Cut(body, `,"anthropic_beta":`)
					body = strings.TrimSuffix(body, "}") + "}"
				}
				want := "{" + c.want + version + "}"
				for _, head := range []string{`"model":"m",`, `"stream":true,`} {
					body = strings.Replace(body, head, "", 1)
				}
				if body != want {
					t.Errorf("%s at %s: sent\n%s, want\n%s", c.name, upstream, body, want)
				}
				if strings.ReplaceAll(sent, " ", "") != c.sent {
					t.Errorf("%s at %s: announced %q, want %q", c.name, upstream, sent, c.sent)
				}
			}
		}
	}
	g := harness.New(t, harness.Config{Remote: place(t, upstreamOf(t, "kind: messages, provider: vertex, project: p, region: global"))})
	a := g.Post(harness.Messages, "messages/m", `{`+turn+`,"thread":{"type":"continue","previous_message_id":"msg_1"}}`)
	if a.Status != http.StatusNotFound || a.JSON().At("error.details.error_code").Text() != "thread_not_found" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, thread := range []string{`{}`, `1`, `"create"`, `[{"type":"create"}]`, `{"type":null}`} {
		if a := g.Post(harness.Messages, "messages/m", `{`+turn+`,"thread":`+thread+`}`); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", thread, a.Status, a.Body)
		}
	}
	for caller, body := range map[harness.Protocol]string{
		harness.Chat: `{"reasoning_effort":"low","messages":[{"role":"user","content":"hi"}]}`, harness.Responses: `{"reasoning":{"effort":"low"},"input":"hi"}`,
	} {
		g.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
		if a := g.Post(caller, "messages/m", body); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		r := g.Messages.Last(t)
		if effort := strings.Contains(string(r.Body), `"effort"`); effort != strings.Contains(r.Header.Get("Anthropic-Beta"), "effort-2025-11-24") {
			t.Errorf("%s: %v\n%s", caller, r.Header, r.Body)
		}
	}
	own := harness.New(t, harness.Config{})
	own.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
	call := harness.CallOf(harness.Messages, "messages/m", `{`+turn+`,"speed":"fast","tags":{}}`, false)
	call.Header.Set("Anthropic-Beta", "fast-mode-2026-02-01, request-tags-2026-08-21")
	if a := own.Call(call); a.Status != http.StatusOK || a.Header.Get("X-Genway-Lost") != "" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	if r := own.Messages.Last(t); r.Header.Get("Anthropic-Beta") != "fast-mode-2026-02-01, request-tags-2026-08-21" || !strings.Contains(string(r.Body), `"speed":"fast","tags":{}`) {
		t.Errorf("the vendor itself gets %v\n%s", r.Header, r.Body)
	}
}

// codexModels asks for the list as Codex 0.171.0 does.
func codexModels(t *testing.T) {
	g := harness.New(t, harness.Config{})
	chat := harness.CallOf(harness.Chat, "chat/m", harness.Chat.Hello(), false).Header
	list := func(path string, header http.Header) harness.Answer {
		t.Helper()
		return g.Call(harness.Call{Method: http.MethodGet, Path: path, Header: header})
	}
	for _, version := range []string{"0.171.0", "", "x%00y", "9.9.9&limit=1"} {
		a := list("/v1/models?client_version="+version, chat)
		models := a.JSON().At("models").List()
		want := 5
		if strings.Contains(version, "limit") {
			want = 1
		}
		if a.Status != http.StatusOK || len(models) != want || len(a.JSON().Members()) != 1 {
			t.Fatalf("%q: %d %s", version, a.Status, a.Body)
		}
		for _, m := range models {
			for _, name := range []string{"slug", "display_name", "supported_reasoning_levels", "shell_type", "visibility", "supported_in_api", "priority", "base_instructions", "support_verbosity", "truncation_policy", "experimental_supported_tools"} {
				if v := m.At(name); !v.Exists() || string(v.Raw) == "null" {
					t.Errorf("%s is missing in %s", name, m.Raw)
				}
			}
		}
	}
	if a := list("/v1/models", chat); len(a.JSON().At("data").List()) != 6 || a.JSON().At("models").Exists() {
		t.Errorf("the vendor's own list is %s", a.Body)
	}
	messages := harness.CallOf(harness.Messages, "messages/m", harness.Messages.Hello(), false).Header
	if a := list("/v1/models?client_version=1", messages); len(a.JSON().At("data").List()) == 0 {
		t.Errorf("messages: %d %s", a.Status, a.Body)
	}
	if a := list("/v1/models?client_version=1&key=generatecontent", nil); a.Status != http.StatusOK || len(a.JSON().At("models").List()) != 6 || !a.JSON().At("models[0].name").Exists() {
		t.Errorf("generateContent: %d %s", a.Status, a.Body)
	}
	for name, header := range map[string]http.Header{"no key": nil, "a wrong key": {"Authorization": {"Bearer gwk_x"}}} {
		if a := list("/v1/models?client_version=1", header); a.Status != http.StatusUnauthorized || !a.JSON().At("error.message").Exists() {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := list("/v1/models/chat%2Fm?client_version=1", chat); a.Status != http.StatusOK || a.JSON().At("slug").Text() != "chat/m" {
		t.Errorf("one model: %d %s", a.Status, a.Body)
	}
}
