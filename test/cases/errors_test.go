package cases_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

func errorCases() []Case {
	return []Case{
		{"F1", "every error of every layer has the caller's protocol's shape, type and status", errorShapes},
		{"F2", "the gateway's own errors pass untouched and are told once in the log (metrics are not part of this)", ownErrors},
		{"F3", "a wrong request, a broken upstream and a busy one are told apart", blame},
		{"F4", "members that must be there are there: null or [] where there is nothing", requiredNulls},
		{"F5", "optional members are absent, never null", onlyRequiredNulls},
		{"F6", "a response has all the vendor's required members, streamed or not", wholeResponse},
		{"F7", "a member that cannot be carried is refused, or named in a header", droppedMembers},
		{"F8", "generateContent takes the vendor's own camelCase body", nativeGenerateContent},
		{"F9", "names of members are case-sensitive, duplicates are refused", exactNames},
		{"F10", "cache_control rides on parts, for string and array content", cacheControl},
		{"F11", "several text blocks stay in order and whole", textBlocks},
		{"F12", "empty content is dropped, never made up", emptyContent},
		{"F13", "system and developer text moves to the target's place, in order, with its annotations", systemText},
		{"F14", "what a route cannot represent is refused before any upstream call", impossibleOutput},
		{"F15", "members of one vendor go only to upstreams of its protocol", foreignMembers},
		{"F16", "a round trip in one protocol loses and invents nothing, even without the original bytes", losslessRoundTrip},
		{"F17", "no hidden limit of tokens; truncation is told", tokenLimits},
		{"F18", "unknown words for tool_choice go on to who may know them, and are refused by name elsewhere", openChoices},
		{"F19", "JSON Schema goes to generateContent as JSON Schema, and comes from its dialect as such", schemaDialects},
		{"F20", "members that are empty, or have their vendor's documented default, are not sent to another protocol, not named as lost and not refused, under strict neither; another value of the same member is", neutralMembers},
		{"F21", "text that is not Unicode is refused by its member before any call, natively in each protocol; what goes to its own vendor is left to that vendor", notUnicode},
	}
}

// panicking is an upstream with a fault of ours in it.
type panicking struct{ upstream.Upstream }

func (panicking) GenerateText(context.Context, *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	panic("secret text")
}

func (panicking) StreamGenerateText(context.Context, *deferred.Request, upstream.Send) error {
	panic("secret text")
}

func (panicking) GenerateImage(context.Context, *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	panic("secret text")
}

func (panicking) StreamGenerateImage(context.Context, *genwayv1.GenerateImageRequest, upstream.SendImage) error {
	panic("secret text")
}

// keyHeaders are where callers' keys stand.
var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"}

func errorShapes(t *testing.T) {
	broken := harness.New(t, harness.Config{Wrap: func(u upstream.Upstream) upstream.Upstream { return panicking{u} }})
	g := harness.New(t, harness.Config{MaxBodyBytes: 1 << 10})
	for _, p := range append(harness.Texts(), harness.Images) {
		withKey := func(key string) func(*harness.Call) {
			return func(c *harness.Call) {
				for _, name := range keyHeaders {
					if old := c.Header.Get(name); old != "" && key == "" {
						c.Header.Del(name)
					} else if old != "" {
						c.Header.Set(name, strings.Replace(old, strings.TrimPrefix(old, "Bearer "), key, 1))
					}
				}
			}
		}
		missing, wrong, other := 401, 401, "messages"
		switch p {
		case harness.GenerateContent, harness.Interactions:
			missing, wrong = 403, 400
		case harness.Messages:
			other = "chat"
		case harness.Chat, harness.Responses, harness.Images:
		}
		for name, c := range map[string]struct {
			gateway *harness.Gateway
			change  func(*harness.Call)
			status  int
		}{
			"no key":         {g, withKey(""), missing},
			"wrong key":      {g, withKey("nope"), wrong},
			"other group":    {g, withKey(other), 403},
			"unknown path":   {g, func(c *harness.Call) { c.Path = strings.Replace(c.Path, "/v1", "/v1/v1", 1) }, 404},
			"method":         {g, func(c *harness.Call) { c.Method = http.MethodPut }, 405},
			"no JSON":        {g, func(c *harness.Call) { c.Body = `{"x":` }, 400},
			"no object":      {g, func(c *harness.Call) { c.Body = `[]` }, 400},
			"nothing":        {g, func(c *harness.Call) { c.Body = `{}` }, 400},
			"too large":      {g, func(c *harness.Call) { c.Body = `{"x":"` + strings.Repeat("x", 2<<10) + `"}` }, 413},
			"unknown model":  {g, func(c *harness.Call) { *c = harness.CallOf(p, "nobody/m", p.Hello(), false) }, 404},
			"streamed, same": {g, func(c *harness.Call) { *c = harness.CallOf(p, "nobody/m", p.Hello(), p != harness.Images) }, 404},
			"panic":          {broken, func(*harness.Call) {}, 500},
			"panic streamed": {broken, func(c *harness.Call) { *c = harness.CallOf(p, "chat/m", p.Hello(), p != harness.Images) }, 500},
		} {
			t.Run(string(p)+" "+name, func(t *testing.T) {
				call := harness.CallOf(p, "chat/m", p.Hello(), false)
				c.change(&call)
				if message := native(t, p, c.gateway.Call(call), c.status); strings.Contains(message, "secret") {
					t.Errorf("message %q", message)
				}
			})
		}
	}
}

func ownErrors(t *testing.T) {
	for _, p := range harness.Texts() {
		for _, streamed := range []bool{false, true} {
			w := way{Gateway: harness.New(t, harness.Config{}), caller: p, upstream: "nobody", streamed: streamed}
			if got, want := native(t, p, w.ask(p.Hello()), 404), "The model `nobody/m` does not exist or you do not have access to it."; got != want {
				t.Errorf("%s: %q", p, got)
			}
			log := w.Log()
			if strings.Count(log, "msg=call ") != 1 || strings.Count(log, "msg=request ") != 1 || strings.Count(log, "reason=MODEL_NOT_FOUND") != 2 {
				t.Errorf("the core's is logged as\n%s", log)
			}
			w.Gateway = harness.New(t, harness.Config{})
			native(t, p, w.ask(`{"x":1,"x":2}`), 400)
			// The edge may ask the core whether the key is good, which is no failed call.
			if log := w.Log(); strings.Count(log, "reason=") != 1 || strings.Count(log, "msg=request ") != 1 {
				t.Errorf("the edge's is logged as\n%s", log)
			}
		}
	}
}

func blame(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		u := w.Upstream(w.upstream)
		for upstreamSays, callerGets := range map[int]int{400: 400, 413: 413, 422: 422, 404: 404, 302: 502, 401: 502, 403: 502, 500: 500, 502: 502, 504: 504} {
			u.Answer(fake.Refusal(upstreamSays, strings.Replace(refusals[w.upstream], "not today", "key sk-secret", 1)))
			a := w.ask(w.caller.Hello())
			if a.Status != callerGets {
				t.Errorf("%d becomes %d: %s", upstreamSays, a.Status, a.Body)
			}
			if upstreamSays == 401 || upstreamSays == 403 {
				if message := native(t, w.caller, a, 502); strings.Contains(message, "sk-") || strings.Contains(string(a.Body), "sk-") {
					t.Errorf("the upstream's words on our key reach the caller: %s", a.Body)
				}
			}
		}
		u.Answer(fake.Refusal(429, refusals[w.upstream], "Retry-After-Ms", "1500"))
		if a := w.ask(w.caller.Hello()); a.Status != 429 || a.Header.Get("Retry-After") != "2" || a.Header.Get("Retry-After-Ms") != "1500" {
			t.Errorf("a busy upstream: %d %v", a.Status, a.Header)
		}
		u.Answer(fake.Answer{Header: map[string]string{"Content-Type": "text/html"}, Steps: []fake.Step{fake.Bytes("<html>")}})
		native(t, w.caller, w.ask(w.caller.Hello()), 502)
		w.Gateway = harness.New(t, harness.Config{Remote: func(c *remote.Config) { c.Idle = 10 * time.Millisecond }})
		slow := answers.Text("fine").Answer(w.upstream, w.streamed)
		slow.Steps = []fake.Step{fake.Wait(make(chan struct{}))}
		w.Upstream(w.upstream).Answer(slow)
		native(t, w.caller, w.ask(w.caller.Hello()), 504)
	})
}

func exactNames(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range append(harness.Texts(), harness.Images) {
		required := map[harness.Protocol]string{harness.Chat: "messages", harness.Responses: "input", harness.Messages: "messages", harness.GenerateContent: "contents", harness.Interactions: "input", harness.Images: "prompt"}[p]
		for name, body := range map[string]string{
			"another case": strings.Replace(p.Hello(), `"`+required+`"`, fmt.Sprintf("%q", strings.ToUpper(required[:1])+required[1:]), 1),
			"twice":        strings.TrimSuffix(p.Hello(), "}") + `,"user":"a","user":"b"}`,
			"twice inside": strings.TrimSuffix(p.Hello(), "}") + `,"metadata":{"a":"1","a":"2"}}`,
		} {
			model := "chat/m"
			if p == harness.Images {
				model = "images/m"
			}
			if message := native(t, p, g.Post(p, model, body), 400); name == "another case" && p != harness.Responses && p != harness.Interactions && !strings.Contains(message, required) {
				t.Errorf("%s, %s: %s", p, name, message)
			}
		}
	}
	// A member of another case is another member: this one asks for no stream. Those that
	// name a model or a limit are refused (X1): an upstream that folds cases heeds them.
	g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	a := g.Post(harness.Chat, "chat/m", `{"Stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	a.JSON().At("object").Is(t, `"chat.completion"`)
	if message := native(t, harness.Chat, g.Post(harness.Chat, "chat/m", `{"Max_Tokens":9,"messages":[{"role":"user","content":"hi"}]}`), 400); !strings.Contains(message, "Max_Tokens") {
		t.Errorf("%s", message)
	}
}
