package cases_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/upstream/credential"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/clouds"
)

func providerCases() []Case {
	return []Case{
		{"V1", "for each provider there is an example, and what it describes is called at the documented path with the documented credential: unary, streamed, with tools, with an image, with an error and with a cut", providerExamples},
		{"V2", "what a provider of chat completions refuses is left out of translated requests and named, or refused when the key is strict; bodies of chat completions pass as they are", dialects},
		{"V3", "streams in AWS's event stream are the vendor's own events, whatever they break off with: a damaged frame, an exception or nothing is never a success", eventStreams},
		{"V4", "errors of a place in its own shape are native to each protocol and keep their text, status and time to wait", placeErrors},
		{"V5", "a body for Bedrock's InvokeModel and for Vertex has the version and no model; betas go into Bedrock's body; the rest of the caller's body passes byte for byte", placedBodies},
		{"V6", "without a valid credential no call is made: each protocol's callers get a native 503 that names the credential and nothing of what its issuer said, and are served once the issuer gives one", noCredential},
	}
}

// kindsOf are the protocols of kinds of upstreams.
var kindsOf = map[string]harness.Protocol{"chat": harness.Chat, "responses": harness.Responses, "messages": harness.Messages, "generatecontent": harness.GenerateContent, "images": harness.Images}

const (
	placeKey   = "the-key-of-the-place"
	placeToken = "the-token-of-the-place"
)

// awsKeys are those that requests are signed with.
var awsKeys = clouds.AWSKeys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

// place has the adapter of a protocol be the one that an upstream of a configuration
// describes, at the fake in place of its host.
func place(t *testing.T, u config.Upstream) func(*remote.Config) {
	t.Helper()
	var token credential.Credential
	switch way := u.Auth.Way(); way {
	case "":
	case "aws":
		token = credential.NewAWS("n", credential.AWS{Source: credential.AWSKeys, AccessKeyID: awsKeys.ID, SecretAccessKey: awsKeys.Secret, Region: u.SigningRegion(), Service: u.Place().Service})
	default:
		token = credential.NewCommand("n", credential.Command{Args: []string{"echo", placeToken}, Lifetime: time.Hour})
	}
	if token != nil {
		t.Cleanup(func() { _ = token.Close() })
	}
	base, err := url.Parse(u.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *remote.Config) {
		if c.Protocol != protocol.ByKind(u.Kind).ID {
			return
		}
		c.BaseURL += base.Path
		c.Place, c.Dialect, c.APIKey, c.LeaveUsage = u.Place(), u.Dialect(), u.APIKey, u.StreamUsage == config.Leave
		c.Version = u.Version()
		if token != nil {
			c.Credential = token
		}
	}
}

// proved reports what is wrong with how a request proves who sends it.
func proved(u config.Upstream, r fake.Request) error {
	var want string
	header := "Authorization"
	switch {
	case u.Auth.Way() == "aws":
		req := &http.Request{Method: r.Method, Header: r.Header, Host: r.Header.Get("X-Test-Host"), ContentLength: int64(len(r.Body))}
		var err error
		if req.URL, err = url.Parse(r.Path); err != nil {
			return err
		}
		return clouds.Verifier{Region: u.SigningRegion(), Service: u.Place().Service, Keys: []clouds.AWSKeys{awsKeys}}.Verify(req, r.Body)
	case u.Auth != nil:
		want = "Bearer " + placeToken
	case u.APIKey == "":
		return nil
	default:
		want = placeKey
		p := map[string]string{"messages": "X-Api-Key", "generatecontent": "X-Goog-Api-Key"}[u.Kind]
		if p != "" {
			header = p
		}
		if e := u.Place(); e.KeyHeader != "" {
			header = e.KeyHeader
		}
		if header == "Authorization" {
			want = "Bearer " + placeKey
		}
	}
	if got := r.Header.Get(header); got != want {
		return fmt.Errorf("%s is %q, not %q", header, got, want)
	}
	return nil
}

func providerExamples(t *testing.T) {
	var called strings.Builder
	for _, p := range provider.All {
		t.Run(p.Name, func(t *testing.T) {
			file := filepath.Join("..", "..", "docs", "examples", "providers", p.Name+".yaml")
			c, err := config.Load(file, func(string) (string, bool) { return placeKey, true })
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Warnings()) > 0 {
				t.Errorf("warnings: %v", c.Warnings())
			}
			seen := map[*provider.Endpoint]bool{}
			for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
				u := c.Upstreams[name]
				seen[u.Place()] = true
				t.Run(name, func(t *testing.T) { exercise(t, name, u, &called) })
			}
			for i := range p.Endpoints {
				if !seen[&p.Endpoints[i]] {
					t.Errorf("the example has no upstream of %+v", p.Endpoints[i])
				}
			}
		})
	}
	golden(t, filepath.Join("testdata", "providers.txt"), called.String())
}

// exercise calls an upstream in all ways.
func exercise(t *testing.T, name string, u config.Upstream, called *strings.Builder) {
	t.Helper()
	p := kindsOf[u.Kind]
	g := harness.New(t, harness.Config{Remote: place(t, u)})
	at := g.Upstream(p)
	check := func() fake.Request {
		t.Helper()
		r := at.Last(t)
		r.Header.Set("X-Test-Host", strings.TrimPrefix(at.URL, "http://"))
		if err := proved(u, r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return r
	}
	if p == harness.Images {
		at.Answer(fake.JSON(`{"created":7,"data":[{"b64_json":"iVBORw0KGgo="}]}`))
		if a := g.Post(p, "images/m-1", p.Hello()); a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		fmt.Fprintf(called, "%s: POST %s%s\n", name, hostOf(u), check().Path)
		at.Answer(fake.Refusal(http.StatusTooManyRequests, `{"error":{"message":"slow down"}}`, "Retry-After", "7"))
		if a := g.Post(p, "images/m-1", p.Hello()); a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "7" {
			t.Errorf("error: %d %v %s", a.Status, a.Header, a.Body)
		}
		at.Answer(fake.Answer{Header: map[string]string{"Content-Type": "application/json"}, Steps: []fake.Step{fake.Bytes(`{"created":7,"data":[{"b64_`), fake.Cut()}})
		if a := g.Post(p, "images/m-1", p.Hello()); a.Status != http.StatusBadGateway {
			t.Errorf("cut: %d %s", a.Status, a.Body)
		}
		return
	}
	model := string(p) + "/anthropic.claude-x@1:0"
	say1 := answers.Text("fine, thanks")
	at.Answer(say1.Answer(p, false))
	if a := g.Post(p, model, p.Hello()); a.Status != http.StatusOK || !bytes.Contains(a.Body, []byte("fine")) {
		t.Errorf("unary: %d %s", a.Status, a.Body)
	}
	fmt.Fprintf(called, "%s: POST %s%s\n", name, hostOf(u), check().Path)

	at.Answer(streamed(t, u, say1.Events(p)...))
	if a := g.Stream(p, model, p.Hello()); a.Status != http.StatusOK || !bytes.Contains(a.Body, []byte("fine")) {
		t.Errorf("stream: %d %s", a.Status, a.Body)
	}
	if path := check().Path; !strings.Contains(called.String(), " "+hostOf(u)+path+"\n") {
		fmt.Fprintf(called, "%s, streamed: POST %s%s\n", name, hostOf(u), path)
	}

	tools := requests.Body(p, []string{requests.Tools(p, false, requests.Tool{Name: "look", Description: "d", Schema: `{"type":"object"}`})}, requests.User(p, "look"))
	at.Answer(answers.Tool("call_1", "look", `{"at":"it"}`).Answer(p, false))
	if a := g.Post(p, model, tools); a.Status != http.StatusOK || !bytes.Contains(a.Body, []byte("look")) {
		t.Errorf("tools: %d %s", a.Status, a.Body)
	}
	if r := check(); !bytes.Contains(r.Body, []byte("look")) {
		t.Errorf("the tool was not offered: %s", r.Body)
	}

	call := answers.Tool("call_1", "look", `{"at":"it"}`)
	at.Answer(streamed(t, u, call.Events(p)...))
	if a := g.Stream(p, model, tools); a.Status != http.StatusOK || !bytes.Contains(a.Body, []byte("look")) {
		t.Errorf("tools, streamed: %d %s", a.Status, a.Body)
	}
	check()

	// A caller of another protocol shows an image, or gets an error that says that the place takes none.
	other := harness.Chat
	if p == harness.Chat {
		other = harness.Messages
	}
	if !u.Dialect().Takes("messages.content.image_url") {
		if a := g.Post(other, model, requests.Body(other, nil, picture(other))); a.Status != http.StatusBadRequest || !bytes.Contains(a.Body, []byte("image_url")) {
			t.Errorf("image: %d %s", a.Status, a.Body)
		}
	} else {
		at.Answer(say1.Answer(p, false))
		if a := g.Post(other, model, requests.Body(other, nil, picture(other))); a.Status != http.StatusOK || !bytes.Contains(a.Body, []byte("fine")) {
			t.Errorf("image: %d %s", a.Status, a.Body)
		}
		if r := check(); !bytes.Contains(r.Body, []byte("iVBORw0KGgo")) {
			t.Errorf("the image was not shown: %s", r.Body)
		}
	}

	at.Answer(fake.Refusal(http.StatusTooManyRequests, `{"message":"slow down"}`, "Retry-After", "7"))
	if a := g.Post(p, model, p.Hello()); a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "7" {
		t.Errorf("error: %d %v %s", a.Status, a.Header, a.Body)
	}
	events := say1.Events(p)
	at.Answer(streamed(t, u, events[:len(events)/2]...))
	if a := g.Stream(p, model, p.Hello()); a.Status == http.StatusOK && !bytes.Contains(a.Body, []byte("rror")) {
		t.Errorf("cut: %d %s", a.Status, a.Body)
	}
}

func hostOf(u config.Upstream) string {
	base, _ := url.Parse(u.BaseURL)
	return base.Scheme + "://" + base.Host
}

// picture is a turn with a PNG.
func picture(p harness.Protocol) string {
	if p == harness.Messages {
		return `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"what is it?"}]}`
	}
	return `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":"what is it?"}]}`
}

// streamed is a stream as the place frames it.
func streamed(t *testing.T, u config.Upstream, events ...string) fake.Answer {
	t.Helper()
	if e := u.Place(); e == nil || !e.EventStream {
		return fake.Stream(fake.Events(events...)...)
	}
	var steps []fake.Step
	for _, e := range events {
		steps = append(steps, fake.Bytes(chunk(t, e)))
	}
	return inFrames(steps...)
}

func inFrames(steps ...fake.Step) fake.Answer {
	return fake.Answer{Header: map[string]string{"Content-Type": "application/vnd.amazon.eventstream"}, Steps: steps}
}

// chunk is an event in a frame of AWS's event stream.
func chunk(t *testing.T, event string) string {
	t.Helper()
	return frame(t, `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abcdef"}`, ":message-type", "event", ":event-type", "chunk", ":content-type", "application/json")
}

func frame(t *testing.T, payload string, headers ...string) string {
	t.Helper()
	m := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var update = flag.Bool("update", false, "write testdata anew")

// golden compares a text with a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is stale (-update): got\n%s", file, got)
	}
}

// upstreamOf is an upstream of a configuration in YAML's flow style.
func upstreamOf(t *testing.T, text string) config.Upstream {
	t.Helper()
	c, err := config.Parse("f", []byte("upstreams: {u: {"+text+"}}\nroutes: [{model: \"*\", targets: [{upstream: u}]}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Upstreams["u"]
}

func dialects(t *testing.T) {
	u := upstreamOf(t, "kind: chat, provider: mistral")
	g := harness.New(t, harness.Config{Remote: place(t, u)})
	known := []string{"model", "messages", "max_tokens", "temperature", "top_p", "stream", "stop", "tools", "tool_choice", "presence_penalty", "frequency_penalty", "n", "response_format", "parallel_tool_calls", "random_seed", "reasoning_effort", "prompt_cache_key", "metadata"}
	for _, stream := range []bool{false, true} {
		g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, stream))
		body := `{"input":"hi","max_output_tokens":77,"temperature":0.5,"store":true,"user":"u","service_tier":"auto","safety_identifier":"s","prompt_cache_key":"k"}`
		a := g.Call(harness.CallOf(harness.Responses, "chat/m", body, stream))
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		sent := probe.Parse(t, g.Chat.Last(t).Body)
		for name := range sent.Members() {
			if !slices.Contains(known, name) {
				t.Errorf("streamed %t: %s was sent, for which Mistral answers 422: %s", stream, name, g.Chat.Last(t).Body)
			}
		}
		if !bytes.Contains(g.Chat.Last(t).Body, []byte(`"max_tokens":77`)) {
			t.Errorf("the limit was not sent: %s", g.Chat.Last(t).Body)
		}
		lost := a.Header.Get("X-Genway-Lost")
		for _, name := range []string{"user", "store"} {
			if !stream && !strings.Contains(lost, name) {
				t.Errorf("x-genway-lost is %q without %s", lost, name)
			}
		}
	}
	own := `{"model":"m","messages":[{"role":"user","content":"hi"}],"user":"u","max_completion_tokens":5,"store":false}`
	g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	if a := g.Call(harness.Call{Path: "/v1/chat/completions", Header: http.Header{"Authorization": {"Bearer chat"}, "Content-Type": {"application/json"}}, Body: strings.Replace(own, `"m"`, `"chat/m"`, 1)}); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if got := g.Chat.Last(t).Body; string(got) != own {
		t.Errorf("a body of its own protocol was changed: %s", got)
	}
}

func eventStreams(t *testing.T) {
	u := upstreamOf(t, "kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, api_key: k")
	g := harness.New(t, harness.Config{Remote: place(t, u)})
	events := answers.Text("fine, thanks").Events(harness.Messages)
	whole := strings.Builder{}
	for _, e := range events {
		whole.WriteString(chunk(t, e))
	}
	text := whole.String()
	// half ends before the event that says why the model stopped: behind that one, the answer
	// is whole.
	half := strings.Builder{}
	for _, e := range events[:len(events)-2] {
		half.WriteString(chunk(t, e))
	}
	flipped := func(at int) string {
		b := []byte(text)
		b[at] ^= 1
		return string(b)
	}
	exception := func(name string) string {
		return half.String() + frame(t, `{"message":"too many"}`, ":message-type", "exception", ":exception-type", name, ":content-type", "application/json")
	}
	for name, test := range map[string]struct {
		sent  string
		sizes []int
		// whole says that the answer is whole, says what an error of the stream contains.
		whole bool
		says  string
	}{
		"whole":                  {sent: text, whole: true},
		"a byte at a time":       {sent: text, sizes: []int{1}, whole: true},
		"two frames a write":     {sent: text, sizes: []int{len(chunk(t, events[0])) + 7}, whole: true},
		"another event":          {sent: frame(t, "{}", ":message-type", "event", ":event-type", "metrics") + text, whole: true},
		"bad CRC":                {sent: flipped(half.Len() - 1), says: "error"},
		"bad payload":            {sent: flipped(half.Len() - 30), says: "error"},
		"bad prelude":            {sent: flipped(1), says: "error"},
		"cut in a frame":         {sent: text[:half.Len()-9], says: "error"},
		"cut between frames":     {sent: half.String(), says: "error"},
		"nothing":                {sent: "", says: "error"},
		"a frame of no type":     {sent: half.String() + frame(t, "{}"), says: "error"},
		"no base64":              {sent: half.String() + frame(t, `{"bytes":"!"}`, ":message-type", "event", ":event-type", "chunk"), says: "error"},
		"text":                   {sent: "this is no event stream at all", says: "error"},
		"throttled":              {sent: exception("throttlingException"), says: `"rate_limit_error"`},
		"model timeout":          {sent: exception("modelTimeoutException"), says: `"timeout_error"`},
		"model failed":           {sent: exception("modelStreamErrorException"), says: `"api_error"`},
		"unknown exception":      {sent: exception("newException"), says: `"api_error"`},
		"exception without text": {sent: half.String() + frame(t, "", ":message-type", "exception", ":exception-type", "internalServerException"), says: `"api_error"`},
		"error":                  {sent: half.String() + frame(t, "", ":message-type", "error", ":error-code", "X", ":error-message", "too many"), says: `too many`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, caller := range []harness.Protocol{harness.Messages, harness.Chat} {
				answer := inFrames(fake.Bytes(test.sent))
				answer.Sizes = test.sizes
				g.Messages.Answer(answer)
				a := g.Stream(caller, "messages/anthropic.claude-v1:0", caller.Hello())
				complete := bytes.Contains(a.Body, []byte(map[harness.Protocol]string{harness.Messages: `"message_stop"`, harness.Chat: `[DONE]`}[caller]))
				switch {
				case test.whole && (!complete || a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(`"error"`))):
					t.Errorf("%s: %d %s", caller, a.Status, a.Body)
				case !test.whole && (complete && caller == harness.Messages || !bytes.Contains(a.Body, []byte("error"))):
					t.Errorf("%s: %d %s", caller, a.Status, a.Body)
				case caller == harness.Messages && !bytes.Contains(a.Body, []byte(test.says)):
					t.Errorf("%s says no %s: %s", caller, test.says, a.Body)
				case test.whole && caller == harness.Messages:
					got := a.Frames()
					if len(got) != len(events) || got[len(got)-1].Data != events[len(events)-1] {
						t.Errorf("%d events of %d came: %s", len(got), len(events), a.Body)
					}
				}
			}
		})
	}
	// A cut at every byte of the frame that has the answer's text, and of the first one.
	before := 0
	for i, e := range events {
		size := len(chunk(t, e))
		if i == 0 || strings.Contains(e, "fine") {
			for at := before; at < before+size; at++ {
				g.Messages.Answer(inFrames(fake.Bytes(text[:at])))
				a := g.Stream(harness.Messages, "messages/anthropic.claude-v1:0", harness.Messages.Hello())
				if bytes.Contains(a.Body, []byte("fine,")) || bytes.Contains(a.Body, []byte(`"message_stop"`)) || !bytes.Contains(a.Body, []byte(`"error"`)) {
					t.Errorf("cut at %d: %d %s", at, a.Status, a.Body)
				}
			}
		}
		before += size
	}
	path := g.Messages.Last(t).Path
	if path != "/model/anthropic.claude-v1%3A0/invoke-with-response-stream" {
		t.Errorf("called %s", path)
	}
}

func placeErrors(t *testing.T) {
	for _, place1 := range []struct{ upstream, body, header, says string }{
		{"kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, api_key: k", `{"message":"Too many tokens"}`, "ThrottlingException:http://internal.amazon.com/", "ThrottlingException: Too many tokens"},
		{"kind: chat, provider: bedrock, region: us-east-1, api_key: k", `{"Message":"Too many tokens"}`, "", "Too many tokens"},
		{"kind: messages, provider: vertex, project: p, region: global", `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}`, "", "Quota exceeded"},
		{"kind: chat, provider: vertex, project: p, region: global", `[{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}]`, "", "Quota exceeded"},
		{"kind: messages, provider: vertex, project: p, region: global", `{"type":"error","error":{"type":"rate_limit_error","message":"its own"}}`, "", "its own"},
	} {
		u := upstreamOf(t, place1.upstream)
		p := kindsOf[u.Kind]
		g := harness.New(t, harness.Config{Remote: place(t, u)})
		for _, caller := range harness.Texts() {
			for _, stream := range []bool{false, true} {
				g.Upstream(p).Answer(fake.Refusal(http.StatusTooManyRequests, place1.body, "X-Amzn-Errortype", place1.header, "Retry-After", "3"))
				a := g.Call(harness.CallOf(caller, string(p)+"/m", caller.Hello(), stream))
				said := a.JSON()
				if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "3" || said.At("error.message").Text() != place1.says {
					t.Errorf("%s, %s: %d %v %s", place1.upstream, caller, a.Status, a.Header, a.Body)
				}
				if caller == harness.Messages && said.At("error.type").Text() != "rate_limit_error" {
					t.Errorf("%s: %s", place1.upstream, a.Body)
				}
			}
		}
	}
}

func placedBodies(t *testing.T) {
	const asked = `"max_tokens":9, "messages":[{"role":"user","content":"a\u0062"}],"x":1e2`
	for _, test := range []struct{ upstream, want, stream, beta, version string }{
		{
			"kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, api_key: k",
			`{` + asked + `,"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["b-1","b-2"]}`,
			`{` + asked + `,"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["b-1","b-2"]}`, "", "2023-06-01",
		},
		{
			"kind: messages, provider: vertex, project: p, region: global",
			`{` + asked + `,"anthropic_version":"vertex-2023-10-16"}`,
			`{"stream":true,` + asked + `,"anthropic_version":"vertex-2023-10-16"}`, "b-1, b-2", "2023-06-01",
		},
		// As version 2 of the vendor's SDK for Go calls them: the header's version is in the body alone.
		{
			"kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, api_key: k, api_version: 2026-10-21",
			`{` + asked + `,"anthropic_version":"2026-10-21","anthropic_beta":["b-1","b-2"]}`,
			`{` + asked + `,"anthropic_version":"2026-10-21","anthropic_beta":["b-1","b-2"]}`, "", "",
		},
		{
			"kind: messages, provider: vertex, project: p, region: global, api_version: 2026-10-21",
			`{` + asked + `,"anthropic_version":"2026-10-21"}`,
			`{"stream":true,` + asked + `,"anthropic_version":"2026-10-21"}`, "b-1, b-2", "",
		},
	} {
		u := upstreamOf(t, test.upstream)
		g := harness.New(t, harness.Config{Remote: place(t, u)})
		for _, stream := range []bool{false, true} {
			want := test.want
			if stream {
				want = test.stream
				g.Messages.Answer(streamed(t, u, answers.Text("fine").Events(harness.Messages)...))
			} else {
				g.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
			}
			call := harness.CallOf(harness.Messages, "messages/m", "{"+asked+"}", stream)
			call.Header.Set("Anthropic-Beta", "b-1, b-2")
			call.Header.Set("Anthropic-Version", "2026-10-21") // the caller's, which the place would not read
			if a := g.Call(call); a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			r := g.Messages.Last(t)
			if string(r.Body) != want {
				t.Errorf("streamed %t: sent\n%s, want\n%s", stream, r.Body, want)
			}
			if got := r.Header.Get("Anthropic-Beta"); got != test.beta {
				t.Errorf("anthropic-beta is %q", got)
			}
			if got := r.Header.Get("Anthropic-Version"); got != test.version {
				t.Errorf("%s: anthropic-version is %q", test.upstream, got)
			}
		}
	}
}

func noCredential(t *testing.T) {
	u := upstreamOf(t, "kind: chat, base_url: http://x")
	file := filepath.Join(t.TempDir(), "the-token")
	token := credential.NewCommand("upstreams.u.auth.command", credential.Command{Args: []string{"cat", file}, Lifetime: time.Hour})
	t.Cleanup(func() { _ = token.Close() })
	at := place(t, u)
	settings := harness.Config{Remote: func(c *remote.Config) {
		if at(c); c.Protocol == protocol.ByKind(u.Kind).ID {
			c.Credential = token
		}
	}}
	g := harness.New(t, settings)
	for _, caller := range harness.Texts() {
		for _, stream := range []bool{false, true} {
			a := g.Call(harness.CallOf(caller, "chat/m", caller.Hello(), stream))
			said := a.JSON().At("error.message").Text()
			if a.Status != http.StatusServiceUnavailable || !strings.Contains(said, "upstreams.u.auth.command") || bytes.Contains(a.Body, []byte("the-token")) {
				t.Errorf("%s, streamed %t: %d %s", caller, stream, a.Status, a.Body)
			}
		}
	}
	if calls := len(g.Chat.Requests()); calls != 0 {
		t.Errorf("%d calls without a credential", calls)
	}
	if err := os.WriteFile(file, []byte(placeToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The issuer is asked again after a pause. The upstream's breaker has opened meanwhile:
	// failures for want of a credential count.
	bare, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); time.Now().Before(until); runtime.Gosched() {
		if _, err = token.Authorize(bare, nil); err == nil {
			break
		}
	}
	g = harness.New(t, settings)
	g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	a := g.Call(harness.CallOf(harness.Chat, "chat/m", harness.Chat.Hello(), false))
	if got := g.Chat.Last(t).Header.Get("Authorization"); a.Status != http.StatusOK || got != "Bearer "+placeToken {
		t.Errorf("%d %s, Authorization is %q", a.Status, a.Body, got)
	}
}
