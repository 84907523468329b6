package cases_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/keys"
	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
)

// captured is a gateway whose requests are captured as rules say.
type captured struct {
	*harness.Gateway
	t     *testing.T
	db    *store.Store
	vault *vault.Vault
	rules ruled
	calls int64
}

// ruled are keys of which each has the rule, and routes that have the other.
type ruled struct{ key, route *capture.Rule }

func (r *ruled) Authenticate(_ context.Context, raw string) (keys.Principal, error) {
	group, err := keys.ParseGroup(raw)
	if err != nil {
		return keys.Principal{}, keys.ErrWrongKey
	}
	return keys.Principal{KeyID: "key_" + raw, Group: group, Policy: &keys.Policy{Capture: r.key}}, nil
}

func newCaptured(t *testing.T, rules ruled) *captured {
	t.Helper()
	c := &captured{t: t, rules: rules}
	var err error
	if c.db, err = store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), "data"), RelaxLedger: true}); err != nil {
		t.Fatal(err)
	}
	recorder, err := books.Start(t.Context(), books.Config{Store: c.db.Ledger(), Window: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c.vault = vault.New(vault.Config{Store: c.db.Captures()})
	t.Cleanup(func() {
		c.vault.Close()
		if err := errors.Join(recorder.Close(), c.db.Close()); err != nil {
			t.Error(err)
		}
	})
	c.Gateway = harness.New(t, harness.Config{Ledger: recorder, Captures: c.vault, Keys: &c.rules, Wrap: func(all upstream.Upstream) upstream.Upstream {
		var routes []route.Route
		for _, p := range append(harness.Texts(), harness.Images) {
			routes = append(routes, route.Route{Model: string(p), Capture: rules.route, Targets: []route.Target{{Name: "up-" + string(p), Upstream: all, Protocol: p.ID(), Model: string(p) + "/m"}}})
		}
		return route.New(routes)
	}})
	return c
}

// next returns the bodies of the next request, by their kinds; nil where there are none. The last call of
// an upstream counts.
func (c *captured) next() map[capture.Kind]capture.Body {
	c.t.Helper()
	c.calls++
	settled(c.t, c.db.Ledger(), int(c.calls))
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		row, bodies, err := c.vault.Read(c.t.Context(), 1, c.calls, audit.Change{Time: time.Now()})
		if err != nil {
			c.t.Fatal(err)
		}
		if row == nil {
			continue
		}
		by := map[capture.Kind]capture.Body{}
		for _, b := range bodies {
			by[b.Kind] = b
		}
		return by
	}
	c.t.Fatal("its bodies are not in the store")
	return nil
}

// none demands that nothing of the requests so far is kept.
func (c *captured) none() {
	c.t.Helper()
	c.vault.Close() // what was taken is written
	for n := range c.calls + 1 {
		if has, err := c.vault.Has(c.t.Context(), 1, n); has || err != nil {
			c.t.Errorf("request %d is captured: %v", n, err)
		}
	}
}

func whileTested() *capture.Rule { return &capture.Rule{Until: time.Now().Add(time.Hour)} }

// Case X80: of a request that is to be captured, by its key or its route, there is what the caller sent
// and what the upstream was sent and answered, byte by byte, and what was made of it; no header and no
// credential.
func TestCaptured(t *testing.T) {
	for name, rules := range map[string]ruled{"by the key": {key: whileTested()}, "by the route": {route: whileTested()}} {
		t.Run(name, func(t *testing.T) {
			c := newCaptured(t, rules)
			for _, caller := range harness.Texts() {
				for _, to := range harness.Texts() {
					for _, streamed := range []bool{false, true} {
						c.exchange(caller, to, streamed)
					}
				}
			}
		})
	}
}

func (c *captured) exchange(caller, to harness.Protocol, streamed bool) {
	t := c.t
	t.Helper()
	reply := answers.Text("fine")
	c.Upstream(to).Answer(reply.Answer(to, streamed))
	call := harness.CallOf(caller, string(to), caller.Hello(), streamed)
	if a := c.Call(call); a.Status != http.StatusOK {
		t.Fatalf("%s asks %s: %d %s", caller, to, a.Status, a.Body)
	}
	got := c.next()
	sent := c.Upstream(to).Last(t)
	want := reply.Body(to)
	if streamed {
		want = "ne"
	}
	if b := got[capture.CallerRequest]; string(b.Data) != call.Body || b.Cut || b.Redacted {
		t.Errorf("%s asks %s (%v): the caller's body is %q of %q, %s", caller, to, streamed, b.Kind, b.Upstream, b.Data)
	}
	if b := got[capture.UpstreamRequest]; !bytes.Equal(b.Data, sent.Body) || b.Upstream != "up-"+string(to) || b.Call != 1 || b.Size != int64(len(sent.Body)) {
		t.Errorf("%s asks %s (%v): the upstream's body is %q of %q, %s", caller, to, streamed, b.Kind, b.Upstream, b.Data)
	}
	if b := got[capture.UpstreamAnswer]; !strings.Contains(string(b.Data), want) || b.Protocol == "" {
		t.Errorf("%s asks %s (%v): the answer is %q of %q, %s", caller, to, streamed, b.Kind, b.Upstream, b.Data)
	}
	if b, translated := got[capture.ContractAnswer]; translated != (caller != to) || translated && !strings.Contains(string(b.Data), "ne\"") {
		t.Errorf("%s asks %s (%v): the contract's answer is %q of %q, %s", caller, to, streamed, b.Kind, b.Upstream, b.Data)
	}
	for kind, b := range got {
		for _, secret := range []string{"upstream-key-of-", "Bearer", "x-api-key"} {
			if bytes.Contains(b.Data, []byte(secret)) {
				t.Errorf("%s has %q", kind, secret)
			}
		}
	}
}

// Case X82: nothing is captured of requests for which nobody asks, for which the time is over, or which
// are refused before they are admitted.
func TestNotCaptured(t *testing.T) {
	over := &capture.Rule{Until: time.Now().Add(-time.Second)}
	far := &capture.Rule{Until: time.Now().Add(8 * 24 * time.Hour)} // the clock was put back
	for name, rules := range map[string]ruled{"no rule": {}, "over": {key: over, route: over}, "too far ahead": {key: far, route: far}} {
		t.Run(name, func(t *testing.T) {
			c := newCaptured(t, rules)
			for _, p := range harness.Texts() {
				c.Upstream(p).Answer(answers.Text("fine").Answer(p, false))
				c.Post(p, string(p), p.Hello())
				c.calls++
				settled(t, c.db.Ledger(), int(c.calls))
			}
			c.none()
		})
	}
	t.Run("refused", func(t *testing.T) {
		c := newCaptured(t, ruled{key: whileTested(), route: whileTested()})
		for _, call := range []harness.Call{
			{Path: "/v1/chat/completions", Header: http.Header{"Authorization": {"Bearer nobody"}}, Body: `{"model":"chat","messages":[]}`},
			{Path: "/v1/chat/completions", Header: http.Header{"Authorization": {"Bearer chat"}}, Body: `{"model":"chat","messages":`},
			{Path: "/v1/chat/completions", Header: http.Header{"Authorization": {"Bearer chat"}}, Body: `{"messages":[{"role":"user","content":"hi"}]}`},
		} {
			if a := c.Call(call); a.Status/100 != 4 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		c.none()
	})
}

// Case X83: what strangers and upstreams send is captured as it is, within its bounds, and what is
// redacted is nowhere.
func TestCapturedFromStrangers(t *testing.T) {
	rule := whileTested()
	rule.MaxBytes, rule.Redact = 2000, []string{"content", "text", "delta"}
	redacting := newCaptured(t, ruled{route: rule})
	for _, caller := range harness.Texts() {
		for _, streamed := range []bool{false, true} {
			redacting.Upstream(harness.Chat).Answer(answers.Text("canary-answer").Answer(harness.Chat, streamed))
			redacting.Call(harness.CallOf(caller, "chat", strings.Replace(caller.Hello(), `"hi"`, `"canary-prompt"`, 1), streamed))
			for kind, b := range redacting.next() {
				// Responses and interactions have their prompt in a member "input", which is not redacted here.
				if bytes.Contains(b.Data, []byte("canary")) && (caller != harness.Responses && caller != harness.Interactions || kind != capture.CallerRequest) {
					t.Errorf("%s (%v): %s is %s", caller, streamed, kind, b.Data)
				}
			}
		}
	}

	most := whileTested()
	most.MaxBytes = 2000
	c := newCaptured(t, ruled{key: most})
	huge := strings.Repeat("x", 1<<20)
	c.Chat.Answer(fake.JSON(answers.Text(huge).Body(harness.Chat)))
	c.Post(harness.Chat, "chat", `{"messages":[{"role":"user","content":"`+huge+`"}]}`)
	for kind, b := range c.next() {
		if len(b.Data) != 2000 || !b.Cut || b.Size < 1<<20 {
			t.Errorf("huge: %s has %d of %d bytes", kind, len(b.Data), b.Size)
		}
	}

	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(answers.Text("unzipped").Body(harness.Chat)))
	_ = w.Close()
	c.Chat.Answer(fake.Answer{Header: map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}, Steps: []fake.Step{fake.Bytes(zipped.String())}})
	c.Post(harness.Chat, "chat", harness.Chat.Hello())
	if b := c.next()[capture.UpstreamAnswer]; !strings.Contains(string(b.Data), "unzipped") {
		t.Errorf("compressed: %s", b.Data)
	}

	for name, body := range map[string]string{
		"binary": "\x00\x01\xff\xfe", "a page": "<html><script>alert(1)</script>", "nothing": "", "no UTF-8": "{\"error\":\"\xff\"}",
		"our key": `{"error":{"message":"wrong key: upstream-key-of-chat"}}`,
	} {
		c.Chat.Answer(fake.Refusal(http.StatusBadRequest, body))
		c.Post(harness.Chat, "chat", harness.Chat.Hello())
		want := strings.ReplaceAll(body, "upstream-key-of-chat", "[REDACTED]")
		if b, there := c.next()[capture.UpstreamAnswer]; !there || string(b.Data) != want {
			t.Errorf("%s: %q", name, b.Data)
		}
	}

	c.Chat.Answer(fake.Stream(append(fake.Events(answers.Text("cut").Events(harness.Chat)[:2]...), fake.Cut())...))
	c.Call(harness.CallOf(harness.Messages, "chat", harness.Messages.Hello(), true))
	if b := c.next()[capture.UpstreamAnswer]; !bytes.HasPrefix(b.Data, []byte("data: {")) {
		t.Errorf("a stream that is cut: %q", b.Data)
	}

	ctx, leave := context.WithCancel(t.Context())
	until, done := make(chan struct{}), make(chan error, 1)
	before := len(c.Chat.Requests())
	c.Chat.Answer(fake.Stream(fake.Wait(until)))
	go func() {
		done <- await(ctx, c.Gateway, harness.CallOf(harness.Chat, "chat", harness.Chat.Hello(), true))
	}()
	for len(c.Chat.Requests()) == before {
		runtime.Gosched()
	}
	leave()
	<-done
	close(until)
	if got := c.next(); len(got[capture.CallerRequest].Data) == 0 || len(got[capture.UpstreamRequest].Data) == 0 {
		t.Errorf("a caller who left: %+v", got)
	}

	c.Images.Answer(fake.JSON(`{"created":1,"data":[{"b64_json":"aGk="}]}`))
	c.Post(harness.Images, "images", `{"prompt":"a canary","n":1}`)
	if got := c.next(); !strings.Contains(string(got[capture.CallerRequest].Data), "a canary") || !strings.Contains(string(got[capture.UpstreamAnswer].Data), "aGk=") {
		t.Errorf("images: %+v", got)
	}
}

// A direct caller's message is captured as ProtoJSON, and so is what an upstream that takes the contract
// is asked.
func TestCapturedDirect(t *testing.T) {
	c := newCaptured(t, ruled{key: whileTested()})
	c.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer internal")
	req := &genwayv1.GenerateTextRequest{Model: "chat", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "a prompt"}}}}}}}
	if _, err := c.Core.GenerateText(ctx, req); err != nil {
		t.Fatal(err)
	}
	got := c.next()
	var back genwayv1.GenerateTextRequest
	if b := got[capture.ContractRequest]; protojson.Unmarshal(b.Data, &back) != nil || back.GetModel() != "chat" || !strings.Contains(string(b.Data), "a prompt") {
		t.Errorf("%s", b.Data)
	}
	if b := got[capture.ContractAnswer]; !json.Valid(b.Data) || !strings.Contains(string(b.Data), "fine") {
		t.Errorf("%s", b.Data)
	}
	if b, there := got[capture.CallerRequest]; there {
		t.Errorf("%+v", b)
	}
}
