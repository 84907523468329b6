package spec_test

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/wire"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documented are operations of the OpenAPI document.
type documented struct {
	all      object
	compiler *jsonschema.Compiler
}

// document reads what the gateway serves.
func document(t *testing.T) documented {
	t.Helper()
	a := send(t, http.MethodGet, "/openapi.json", nil, nil)
	check.Equal(t, "status of the document", a.status, 200)
	all, err := jsonschema.UnmarshalJSON(strings.NewReader(a.raw))
	if err != nil {
		t.Fatal(err)
	}
	d := documented{compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource("openapi.json", all); err != nil {
		t.Fatal(err)
	}
	d.all, _ = all.(object)
	return d
}

// allows fails the test unless the document has an answer's status, the gateway's headers in it, its
// content type and its body.
func (d documented) allows(t *testing.T, what, method, path string, a answer) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	if before, after, ok := strings.Cut(path, "/models/"); ok {
		model, verb, _ := strings.Cut(after, ":")
		path = before + "/models/{model}" + strings.TrimPrefix(after, model)
		check.Truef(t, (verb != "") == (method == "POST"), "%s: %s %s", what, method, path)
	}
	at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + strings.ToLower(method) + "/responses/"
	status := "200"
	if a.status >= 400 {
		status = string('0'+rune(a.status/100)) + "XX"
	}
	response, pointer := d.response(at + status)
	if response == nil {
		t.Errorf("%s: the status %d of %s is not in the document", what, a.status, path)
		return
	}
	named, _ := response["headers"].(object)
	for name := range a.header {
		name = strings.ToLower(name)
		if !strings.HasPrefix(name, "x-genway-") && !strings.HasSuffix(name, "request-id") && name != "retry-after" {
			continue
		}
		check.Truef(t, named[name] != nil, "%s: the header %s of %s %s is not in the document", what, name, path, status)
	}
	check.Truef(t, a.header.Get("X-Request-ID") != "", "%s: no x-request-id", what)
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	content, _ := response["content"].(object)
	if err != nil || content[media] == nil {
		t.Errorf("%s: the content type %s of %s %s is not in the document", what, media, path, status)
		return
	}
	schema, err := d.compiler.Compile("openapi.json#" + (&url.URL{Fragment: pointer + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema"}).EscapedFragment())
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{a.raw}
	if media == "text/event-stream" {
		bodies = slices.DeleteFunc(data(a.raw), func(s string) bool { return s == "[DONE]" })
		check.Truef(t, len(bodies) > 1 || strings.Contains(path, "images"), "%s: %d events", what, len(bodies))
	}
	for _, body := range bodies {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err == nil {
			err = schema.Validate(value)
		}
		check.Truef(t, err == nil, "%s: %v: %s", what, err, wire.Clip(body))
	}
}

// response finds what the document has of an answer, and where; it follows one reference.
func (d documented) response(pointer string) (object, string) {
	var at any = d.all
	for _, name := range strings.Split(pointer, "/")[1:] {
		members, _ := at.(object)
		at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	found, _ := at.(object)
	if reference, ok := found["$ref"].(string); ok {
		return d.response(strings.TrimPrefix(reference, "#"))
	}
	return found, pointer
}

// data returns the data of each event of a stream.
func data(raw string) []string {
	var all []string
	for line := range strings.Lines(raw) {
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, strings.TrimSpace(text))
		}
	}
	return all
}

// TestU36DocumentIsTrue: what the gateway answers, whole, streamed and failed, by each kind of
// upstream, is in the OpenAPI document that it serves: status, headers, content type and body.
func TestU36DocumentIsTrue(t *testing.T) {
	t.Parallel()
	d := document(t)
	for _, op := range operations() {
		for _, kind := range []string{"sandbox", "chat", "messages"} {
			exchange := func(what, path string, h headers, body any) {
				t.Helper()
				d.allows(t, op.name+" by "+kind+", "+what, "POST", path, send(t, "POST", ways.ByKind[kind].URL()+path, h, body))
			}
			exchange("whole", op.path, op.headers().with("X-Client-Request-Id", "mine"), op.body())
			streamed := strings.Replace(op.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
			body := op.body()
			if streamed == op.path {
				body["stream"] = true
			}
			exchange("streamed", streamed, op.headers(), body)
			body["temperature"], body["unheard_of"] = "hot", true
			exchange("wrong", op.path, op.headers(), body)
			exchange("without a key", op.path, nil, op.body())
			exchange("no JSON", op.path, op.headers(), `{"model":`)
			body = op.body()
			body["model"] = "nothing"
			exchange("of no model", strings.Replace(op.path, "sandbox-text", "nothing", 1), op.headers(), body)
		}
	}
	counted := []object{{"role": "user", "parts": []object{{"text": "Say hello."}}}}
	for _, x := range []struct {
		method, path string
		headers      headers
		body         any
	}{
		{"POST", "/v1/messages/count_tokens", messagesHeaders(), object{"model": "sandbox-text", "messages": user("Say hello.")}},
		{"POST", "/v1/messages/count_tokens", messagesHeaders(), object{"model": "nothing", "messages": user("Say hello.")}},
		{"POST", "/v1/responses/input_tokens", chatHeaders(), object{"model": "sandbox-text", "input": "Say hello."}},
		{"POST", "/v1beta/models/sandbox-text:countTokens", geminiHeaders(), object{"contents": counted}},
		{"POST", "/v1/models/sandbox-text:countTokens", geminiHeaders(), object{"contents": counted}},
		{"GET", "/v1/models", chatHeaders(), nil},
		{"GET", "/v1/models?limit=1", messagesHeaders(), nil},
		{"GET", "/v1/models", nil, nil},
		{"GET", "/v1/models/sandbox-text", chatHeaders(), nil},
		{"GET", "/v1/models/sandbox-text", messagesHeaders(), nil},
		{"GET", "/v1/models/nothing", chatHeaders(), nil},
		{"GET", "/v1beta/models", geminiHeaders(), nil},
		{"GET", "/v1beta/models?pageSize=x", geminiHeaders(), nil},
		{"GET", "/v1beta/models/sandbox-text", geminiHeaders(), nil},
		{"GET", "/v1beta/models/nothing", geminiHeaders(), nil},
	} {
		d.allows(t, x.method+" "+x.path, x.method, x.path, send(t, x.method, x.path, x.headers, x.body))
	}
}
