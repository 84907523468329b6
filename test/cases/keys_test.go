package cases_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/keys"
	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func keyCases() []Case {
	return []Case{
		{"K2", "no raw key is in an answer, a log, a row or the audit: only its id leaves the authenticator", onStores(rawKeys)},
		{"K9", "bodies above gRPC's 4 MiB pass between edge and core, both ways; a larger one than allowed is a 413", largeBodies},
		{"K10", "a key has two secrets after its rotation, the older one for the grace; a revocation ends both", onStores(rotations)},
		{"K11", "a fresh install is open to nobody, and no default key administrates", onStores(freshInstall)},
		{"K13", "a key with a list of models names no other model anywhere in a body: each member that names one is checked as `model` is, one that nobody knows is refused by its name, and no upstream is called", secondModels},
	}
}

// onStores runs a test on each kind of database.
func onStores(test func(*testing.T, *keyed)) func(*testing.T) {
	return func(t *testing.T) {
		for kind, fresh := range stores {
			t.Run(kind, func(t *testing.T) { test(t, newKeyed(t, fresh(t))) })
		}
	}
}

func newFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), store.FileName)
}

// keyed is a gateway whose keys are in a database, and the operator's way to them:
// another process as far as either can know.
type keyed struct {
	*harness.Gateway
	location string
	store    *store.Store
	slow     *slowStore // of the server's keys
	operator *keys.Service
	recorder *books.Recorder

	mu  sync.Mutex
	now time.Time
}

func newKeyed(t *testing.T, location string) *keyed {
	t.Helper()
	k := &keyed{location: location, now: time.Now()}
	var err error
	if k.store, err = store.Open(t.Context(), store.Config{Location: location}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(k.recorder.Close(), k.store.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if k.recorder, err = books.Start(t.Context(), books.Config{Store: k.store.Ledger(), Wait: true}); err != nil {
		t.Fatal(err)
	}
	if k.operator, err = keys.New(keys.Config{Store: k.store.Keys(), Clock: k.clock}); err != nil {
		t.Fatal(err)
	}
	k.slow = &slowStore{Store: k.store.Keys()}
	server, err := keys.New(keys.Config{Store: k.slow, Clock: k.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	k.Gateway = harness.New(t, harness.Config{Keys: server, Ledger: k.recorder})
	k.Chat.Answer(slices.Repeat([]fake.Answer{fake.JSON(answers.Text("fine").Body(harness.Chat))}, 100)...)
	return k
}

func (k *keyed) clock() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// pass lets time pass.
func (k *keyed) pass(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = k.now.Add(d)
}

func (k *keyed) key(t *testing.T, group keys.Group, name string) (string, keys.Key) {
	t.Helper()
	raw, key, err := k.operator.Create(t.Context(), keys.CreateParams{Group: group, Settings: keys.Settings{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return raw, key
}

// post sends a body of the chat protocol and returns the status and the answer, with
// its headers.
func post(t *testing.T, url, body string, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	header.Set("Content-Type", "application/json")
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, fmt.Sprint(resp.Header) + string(answer)
}

const chatBody = `{"model":"chat/m","messages":[{"role":"user","content":"hi"}]}`

func (k *keyed) ask(t *testing.T, raw string) (int, string) {
	t.Helper()
	header := http.Header{}
	if raw != "" {
		header.Set("Authorization", "Bearer "+raw)
	}
	return post(t, k.URL+"/v1/chat/completions", chatBody, header)
}

func rawKeys(t *testing.T, k *keyed) {
	good, key := k.key(t, keys.GroupChat, "good")
	foreign, _ := k.key(t, keys.GroupMessages, "foreign")
	revoked, gone := k.key(t, keys.GroupChat, "gone")
	if _, err := k.operator.Revoke(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	rotated, err := k.operator.Rotate(t.Context(), "good", keys.Rotation{Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, raw := range []string{good, rotated.Raw, foreign, revoked, good[:39] + "!"} {
		for _, header := range []http.Header{
			{"Authorization": {"Bearer " + raw}}, {"X-Api-Key": {raw}}, {"X-Goog-Api-Key": {raw}},
		} {
			for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1beta/models/m:generateContent", "/v1/nowhere", "/v1/chat/completions?key=" + raw, "/v1beta/models/m:generateContent?key=" + raw} {
				_, answer := post(t, k.URL+path, chatBody, header.Clone())
				told = append(told, answer)
			}
		}
		for _, misplaced := range []error{
			func() error { _, err := k.operator.Get(t.Context(), raw); return err }(),
			func() error { _, err := k.operator.Revoke(t.Context(), raw); return err }(),
			func() error {
				_, err := k.operator.Update(t.Context(), key.ID, func(s *keys.Settings) error {
					s.Name, s.Owner, s.Labels, s.Policy.Models = raw, raw, map[string]string{raw: raw}, []string{raw}
					return nil
				})
				return err
			}(),
		} {
			if misplaced == nil {
				t.Error("a raw key is taken for a name")
			} else {
				told = append(told, misplaced.Error())
			}
		}
	}
	told = append(told, k.Log())
	for e, err := range k.store.Audit().Entries(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, fmt.Sprintf("%+v", e.Change))
	}
	rows := 0
	for e, err := range k.store.Ledger().Entries(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		told = append(told, fmt.Sprintf("%+v", e))
	}
	if files, err := filepath.Glob(k.location + "*"); err == nil && !store.IsPostgres(k.location) {
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, string(content))
		}
	}
	if rows == 0 || !strings.Contains(k.Log(), key.ID) {
		t.Errorf("%d rows, and a log that may lack %s: this proves nothing", rows, key.ID)
	}
	for _, text := range told {
		for _, raw := range []string{good, rotated.Raw, foreign, revoked} {
			if at := strings.Index(text, raw[len(keys.Prefix):len(keys.Prefix)+10]); at >= 0 {
				t.Errorf("a key is in: %.200q", text[max(0, at-80):])
			}
		}
		if strings.Contains(text, "upstream-key-of-") {
			t.Errorf("an upstream's key is in: %.200q", text)
		}
	}
}

func rotations(t *testing.T, k *keyed) {
	first, key := k.key(t, keys.GroupChat, "ci")
	good := func(when string, secrets map[string]int) {
		t.Helper()
		for raw, want := range secrets {
			if got, answer := k.ask(t, raw); got != want {
				t.Errorf("%s: got %d, want %d: %s", when, got, want, answer)
			}
		}
	}
	rotate := func(grace time.Duration) string {
		t.Helper()
		made, err := k.operator.Rotate(t.Context(), key.ID, keys.Rotation{Grace: grace})
		if err != nil {
			t.Fatal(err)
		}
		return made.Raw
	}
	good("made", map[string]int{first: 200})
	second := rotate(time.Hour)
	good("rotated", map[string]int{first: 200, second: 200})
	k.pass(time.Hour)
	good("behind the grace", map[string]int{first: 401, second: 200})
	third, fourth := rotate(time.Hour), rotate(time.Hour)
	k.pass(2 * time.Second)
	good("rotated twice within the grace", map[string]int{second: 401, third: 200, fourth: 200})
	fifth := rotate(0)
	k.pass(2 * time.Second)
	good("without a grace", map[string]int{fourth: 401, fifth: 200})
	sixth := rotate(time.Hour)
	if _, err := k.operator.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	k.pass(2 * time.Second)
	good("revoked", map[string]int{fifth: 401, sixth: 401})
	if head, err := audit.Verify(k.store.Audit().Entries(t.Context(), audit.Query{}), [sha256.Size]byte{}); err != nil || head.Number != 7 {
		t.Errorf("the audit has %d entries, want 7: %v", head.Number, err)
	}
}

func freshInstall(t *testing.T, k *keyed) {
	for _, raw := range []string{"", "chat", "default", "admin", "root", "123456", "gwk_000000000000000000000000000000000000"} {
		if got, answer := k.ask(t, raw); got != http.StatusUnauthorized {
			t.Errorf("%q opens a fresh install: %d %s", raw, got, answer)
		}
	}
	minted, first, err := k.operator.MintDefaults(t.Context(), nil)
	if err != nil || !first {
		t.Fatal(first, err)
	}
	if _, ok := minted[keys.GroupAdmin]; ok {
		t.Error("the first start makes an admin key")
	}
	for group, raw := range minted {
		want := http.StatusForbidden
		if group == keys.GroupChat {
			want = http.StatusOK
		}
		if got, answer := k.ask(t, raw); got != want {
			t.Errorf("%s: got %d, want %d: %s", group, got, want, answer)
		}
	}
	list, err := k.operator.List(t.Context(), keys.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range list {
		if key.Group == keys.GroupAdmin {
			t.Errorf("%s of the group admin is there", key.ID)
		}
	}
	admin, _ := k.key(t, keys.GroupAdmin, "ops")
	if got, answer := k.ask(t, admin); got != http.StatusForbidden || !strings.Contains(answer, "group admin") {
		t.Errorf("an admin key generates: %d %s", got, answer)
	}
}

// largeBodies has edge and core as two processes, as far as gRPC can know.
func largeBodies(t *testing.T) {
	service, err := core.New(core.Config{Upstream: echo{}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	server := core.NewServer(service, core.Interceptors{Authenticator: auth.Authenticator{Keys: oneKey{}, Trust: auth.TrustUnixSocket}, Logger: log}, core.ServerConfig{Grace: time.Second})
	dir, err := os.MkdirTemp("", "k9") // short: a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	conn, err := gateway.Dial(gateway.CoreConfig{Targets: []string{"unix:" + socket}})
	if err != nil {
		t.Fatal(err)
	}
	const most = 8 << 20
	edge, err := gateway.New(gateway.Config{Core: conn, MaxBodyBytes: most, Heartbeat: -1, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(edge)
	defer func() {
		front.Close()
		stop()
		if err := errors.Join(conn.Close(), <-done); err != nil {
			t.Error(err)
		}
	}()
	body := func(size int) string {
		return `{"model":"text","messages":[{"role":"user","content":"` + string(bytes.Repeat([]byte("lorem "), size/6)) + `"}]}`
	}
	header := func() http.Header { return http.Header{"Authorization": {"Bearer any"}} }
	status, answer := post(t, front.URL+"/v1/chat/completions", body(5<<20), header())
	if status != http.StatusOK || len(answer) < 5<<20 {
		t.Errorf("5 MiB: %d, and %d bytes: %.300s", status, len(answer), answer)
	}
	status, answer = post(t, front.URL+"/v1/chat/completions", body(9<<20), header())
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, `"error"`) {
		t.Errorf("9 MiB: %d: %.300s", status, answer)
	}
}

// echo answers with what it was asked.
type echo struct{ upstream.Upstream }

func (echo) GenerateText(_ context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: req.GetMessages()[0].GetParts()}}}, nil
}

// oneKey takes every key for one of the group chat.
type oneKey struct{}

func (oneKey) Authenticate(context.Context, string) (keys.Principal, error) {
	return keys.Principal{KeyID: "key_1", Group: keys.GroupChat}, nil
}

// listed are keys that may use the models named here, one a group, each named like its group.
type listed []string

func (l listed) Authenticate(_ context.Context, raw string) (keys.Principal, error) {
	group, err := keys.ParseGroup(raw)
	if err != nil {
		return keys.Principal{}, keys.ErrWrongKey
	}
	return keys.Principal{KeyID: "key_" + raw, Group: group, Policy: &keys.Policy{Models: l}}, nil
}

func secondModels(t *testing.T) {
	g := harness.New(t, harness.Config{Keys: listed{"*/m", "good*", "models/good*"}})
	for p, members := range map[harness.Protocol]map[string]string{
		harness.Chat: {
			`"models":["good","dear"]`:              "models[1]",
			`"models":"dear"`:                       "models",
			`"moderation":{"model":"dear"}`:         "moderation.model",
			`"preset":"@preset/dear"`:               "preset",
			`"fallbacks":["good",{"model":"dear"}]`: "fallbacks[1].model",
			`"fallbacks":["dear"]`:                  "fallbacks[0]",
			`"tools":[{"type":"openrouter:advisor","parameters":{"model":"dear"}}]`:             "tools[0].parameters.model",
			`"tools":[{"type":"openrouter:advisor","parameters":{"advisors":[{"model":"x"}]}}]`: "tools[0].parameters.advisors[0].model",
			`"plugins":[{"id":"fusion","judge_model":"good"}]`:                                  "plugins[0].judge_model",
			`"subagent":{"modelName":"good"}`:                                                   "subagent.modelName",
			`"compound_custom":{"models":{"answering_model":"x"}}`:                              "compound_custom.models",
			`"router":{"Model":"good"}`:                                                         "router.Model",
			`"router":{"mod\u0065l":"good"}`:                                                    "router.model",
			`"vendor.model":"good"`:                                                             "vendor.model",
			`"next":[[{"models":{}}]]`:                                                          "next[0][0].models",
		},
		harness.Responses: {
			`"tools":[{"type":"image_generation","model":"dear"}]`:                                                                                                       "tools[0].model",
			`"tools":[{"type":"image_generation","model":"good","svg":{"model":"dear"}}]`:                                                                                "tools[0].svg.model",
			`"tools":[{"type":"namespace","name":"n","tools":[{"type":"image_generation","model":"dear"}]}]`:                                                             "tools[0].tools[0].model",
			`"input":[{"type":"message","role":"user","content":"hi"},{"type":"tool_search_output","call_id":"c","tools":[{"type":"image_generation","model":"dear"}]}]`: "input[1].tools[0].model",
			`"models":["dear"]`:             "models[0]",
			`"moderation":{"model":"dear"}`: "moderation.model",
		},
		harness.Messages: {
			`"fallbacks":[{"model":"good"},{"model":"dear"}]`:                       "fallbacks[1].model",
			`"fallbacks":"default"`:                                                 "fallbacks",
			`"tools":[{"type":"advisor_20260301","name":"advisor","model":"dear"}]`: "tools[0].model",
			`"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"advisor_20260301","name":"advisor","model":"dear"}}}]}]`: "messages[0].content[1].tool.definition.model",
		},
		harness.GenerateContent: {
			`"model":"models/dear"`: "model",
			`"modelSelectionConfig":{"featureSelectionPreference":"BALANCED"}`:                                                                                                      "modelSelectionConfig",
			`"generationConfig":{"modelSelectionConfig":{"featureSelectionPreference":"BALANCED"}}`:                                                                                 "generationConfig.modelSelectionConfig",
			`"generation_config":{"model_selection_config":{}}`:                                                                                                                     "generation_config.model_selection_config",
			`"generationConfig":{"routingConfig":{"manualMode":{"modelName":"publishers/google/models/dear"}}}`:                                                                     "generationConfig.routingConfig.manualMode.modelName",
			`"generationConfig":{"routingConfig":{"autoMode":{"modelRoutingPreference":"BALANCED"}}}`:                                                                               "generationConfig.routingConfig.autoMode.modelRoutingPreference",
			`"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]},{"retrieval":{"vertexRagStore":{"ragRetrievalConfig":{"ranking":{"llmRanker":{"modelName":"dear"}}}}}}]`: "tools[1].retrieval.vertexRagStore.ragRetrievalConfig.ranking.llmRanker.modelName",
		},
		harness.Images: {
			`"svg":{"model":"dear"}`: "svg.model",
			`"author_model":"good"`:  "author_model",
		},
	} {
		for member, path := range members {
			body := p.Hello()
			if name, _, _ := strings.Cut(member, ":"); strings.Contains(body, name) || strings.Contains(member, `"messages":`) {
				body = `{` + member + `}`
				if p == harness.Messages {
					body = `{"max_tokens":99,` + member + `}`
				}
			} else {
				body = body[:len(body)-1] + "," + member + "}"
			}
			for _, target := range []string{string(p) + "/m", "chat/m"} {
				a := g.Post(p, target, body)
				if a.Status != http.StatusForbidden || !strings.Contains(string(a.Body), strings.ReplaceAll(path, `"`, `\"`)+": this key ") {
					t.Errorf("%s %s: %d %s", p, body, a.Status, a.Body)
				}
				if p != harness.Images {
					if a := g.Stream(p, target, body); a.Status != http.StatusForbidden {
						t.Errorf("%s %s, streamed: %d %s", p, body, a.Status, a.Body)
					}
				}
			}
		}
		if n := len(g.Upstream(p).Requests()); n > 0 {
			t.Errorf("%s was asked %d times", p, n)
		}
	}
	for path, body := range map[string]string{
		"/v1/messages/count_tokens":                    `{"model":"messages/m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"advisor_20260301","name":"advisor","model":"dear"}]}`,
		"/v1/responses/input_tokens":                   `{"model":"responses/m","input":"hi","tools":[{"type":"image_generation","model":"dear"}]}`,
		"/v1/responses/compact":                        `{"model":"responses/m","input":"hi","models":["dear"]}`,
		"/v1beta/models/generatecontent/m:countTokens": `{"generateContentRequest":{"model":"models/dear","contents":[{"parts":[{"text":"hi"}]}]}}`,
	} {
		protocol := map[string]harness.Protocol{"mes": harness.Messages, "res": harness.Responses, "eta": harness.GenerateContent}[path[4:7]]
		call := harness.CallOf(protocol, "", "{}", false)
		call.Path, call.Body = path, body
		if a := g.Call(call); a.Status != http.StatusForbidden || !strings.Contains(string(a.Body), ": this key may not use the model") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for name, field := range map[string]string{"a field": formField("svg[model]", "dear"), "a text of JSON": formField("svg", ` {"model":"dear"}`)} {
		call := harness.CallOf(harness.Images, "", "{}", false)
		call.Path, call.Body = "/v1/images/edits", formField("model", "images/m")+formField("prompt", "hi")+formFile("image", "image/png", "\x89PNG\r\n\x1a\n")+field+"--b--"
		call.Header.Set("Content-Type", editForm)
		if a := g.Call(call); a.Status != http.StatusForbidden || a.JSON().At("error.param").Text() != "svg.model" {
			t.Errorf("%s of a form: %d %s", name, a.Status, a.Body)
		}
	}
	secondModelsOfDirectCallers(t, g)

	// What the list has passes as it is, and names of the caller's are no models.
	good := `{"max_tokens":9,"fallbacks":[{"model":"good"}],"metadata":{"user_id":"model"},` +
		`"tools":[{"type":"advisor_20260301","name":"advisor","model":"good-two"},{"name":"f","input_schema":{"type":"object","properties":{"model":{"type":"string"}}}}],` +
		`"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"model":"dear"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"model"}]}]}`
	g.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
	if a := g.Post(harness.Messages, "messages/m", good); a.Status != http.StatusOK || !strings.HasSuffix(string(g.Messages.Last(t).Body), good[1:]) {
		t.Errorf("%d %s\n%s", a.Status, a.Body, g.Messages.Last(t).Body)
	}
	// A key without a list names what it likes.
	g = harness.New(t, harness.Config{})
	dear := `{"max_tokens":9,"fallbacks":"default","x_model":"dear","messages":[{"role":"user","content":"hi"}]}`
	g.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
	if a := g.Post(harness.Messages, "messages/m", dear); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// secondModelsOfDirectCallers has requests in the contract name other models where their JSON passes
// to upstreams as it is.
func secondModelsOfDirectCallers(t *testing.T, g *harness.Gateway) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer internal")
	request := func() *genwayv1.GenerateTextRequest {
		return &genwayv1.GenerateTextRequest{Model: "messages/m", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart("hi")}}}}
	}
	extra, native, part, tool := request(), request(), request(), request()
	extra.ExtraJson = `{"fallbacks":[{"model":"dear"}]}`
	native.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Name: "fallbacks", Json: []byte(`[{"model":"dear"}]`)}}
	part.Messages[0].Parts = append(part.Messages[0].Parts, &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: []byte(`{"type":"tool_addition","tool":{"definition":{"type":"advisor_20260301","model":"dear"}}}`),
	}}})
	tool.Tools = []*genwayv1.Tool{{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: []byte(`{"type":"advisor_20260301","model":"dear"}`)}}}}
	for member, req := range map[string]*genwayv1.GenerateTextRequest{
		"extra_json.fallbacks[0].model": extra, "fallbacks[0].model": native,
		"messages[0].parts[1].opaque.json.tool.definition.model": part, "tools[0].hosted.json.model": tool,
	} {
		_, unary := g.Core.GenerateText(ctx, req)
		_, counted := g.Core.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: req})
		stream, streamed := g.Core.StreamGenerateText(ctx, req)
		if streamed == nil {
			_, streamed = stream.Recv()
		}
		for path, err := range map[string]error{member: unary, "request." + member: counted, "": streamed} {
			if st := status.Convert(err); st.Code() != codes.PermissionDenied || !strings.HasPrefix(st.Message(), path) || !strings.Contains(st.Message(), member+`: this key may not use the model "dear"`) {
				t.Errorf("%s: %v", member, err)
			}
		}
	}
	drawn := &genwayv1.GenerateImageRequest{Model: "images/m", Prompt: "p", ExtraJson: `{"svg":{"model":"dear"}}`}
	if _, err := g.Core.GenerateImage(ctx, drawn); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "extra_json.svg.model: ") {
		t.Error(err)
	}
	if n := len(g.Messages.Requests()) + len(g.Images.Requests()); n > 0 {
		t.Errorf("upstreams were asked %d times", n)
	}
}
