package openapi_test

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/gateway/openapi"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// schemaOf compiles a part of the document, by its JSON pointer.
func schemaOf(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Document()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("openapi.json#" + (&url.URL{Fragment: pointer}).EscapedFragment())
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// pathPointer points to a path of the document.
func pathPointer(path, below string) string {
	return "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + below
}

// validate fails the test unless the schema takes a JSON text.
func validate(t *testing.T, schema *jsonschema.Schema, what string, text []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v\n%.600s", what, err, text)
	}
}

// The document is one of OpenAPI 3.1, by the schema of its specification.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("testdata/openapi-3.1.json")
	if err != nil {
		t.Fatal(err)
	}
	specification, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("https://spec.openapis.org/oas/3.1/schema/2026-08-03", specification); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("https://spec.openapis.org/oas/3.1/schema/2026-08-03")
	if err != nil {
		t.Fatal(err)
	}
	validate(t, schema, "the document", openapi.Document())
}

// sections are the sections of a codec's golden files.
func sections(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"*.txtar", "*/*.txtar"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "codec", dir, "testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, section := range archive.Files {
				all[file+" "+section.Name] = section.Data
			}
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d sections of %s", len(all), dir)
	}
	return all
}

// The path of each protocol that generates, and the folder of its codec.
var generating = map[string]struct{ path, dir string }{
	"chat":            {"/v1/chat/completions", "chat"},
	"responses":       {"/v1/responses", "responses"},
	"messages":        {"/v1/messages", "messages"},
	"generatecontent": {"/v1beta/models/{model}:streamGenerateContent", "generatecontent"},
	"interactions":    {"/v1beta/interactions", "interactions"},
}

// What the codecs take, write as an answer and write as events, the document allows: all that
// is in their golden files.
func TestBodies(t *testing.T) {
	tried := 0
	for _, p := range protocol.All() {
		if p.Codec == nil {
			continue
		}
		tried++
		at := generating[p.Kind]
		t.Run(p.Kind, func(t *testing.T) {
			requests := schemaOf(t, pathPointer(at.path, "/post/requestBody/content/application~1json/schema"))
			answers := schemaOf(t, pathPointer(at.path, "/post/responses/200/content/application~1json/schema"))
			events := schemaOf(t, pathPointer(at.path, "/post/responses/200/content/text~1event-stream/schema"))
			took, answered := 0, 0
			for what, text := range sections(t, at.dir) {
				request, err := p.Codec.DecodeRequest(text)
				if err == nil {
					took++
					validate(t, requests, what, text)
				}
				answer, err := p.Codec.DecodeResponse(text)
				if err != nil {
					continue
				}
				answered++
				to := codec.Answer{Request: request, Now: func() time.Time { return time.Unix(1, 0) }}
				if out, err := p.Codec.EncodeResponse(answer, to); err == nil {
					validate(t, answers, what+" as an answer", out)
				}
				encoder := p.Codec.NewStreamEncoder(to)
				for _, event := range codec.Events(answer, nil) {
					frames, err := encoder.Encode(event)
					if err != nil {
						break
					}
					for _, f := range frames {
						if string(f.Data) != "[DONE]" {
							validate(t, events, what+" as events", f.Data)
						}
					}
				}
			}
			if took < 5 || answered < 3 {
				t.Errorf("%d requests and %d answers", took, answered)
			}
		})
	}
	if tried != len(generating) {
		t.Errorf("%d protocols of %d: add the path and the folder of a new protocol to generating", tried, len(generating))
	}
}

func TestImageBodies(t *testing.T) {
	requests := schemaOf(t, pathPointer("/v1/images/generations", "/post/requestBody/content/application~1json/schema"))
	for _, body := range []string{`{"model":"m","prompt":"a cat"}`, `{"model":"m","prompt":"a cat","n":2,"size":"1024x1024","stream":true,"partial_images":1,"user":null,"other":[1]}`} {
		if _, err := (images.Codec{}).DecodeRequest([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		validate(t, requests, body, []byte(body))
	}
	for _, body := range []string{`{}`, `{"prompt":"a"}`, `{"model":"m","prompt":1}`, `{"model":"m","prompt":"a","n":"2"}`, `[]`, `null`} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if requests.Validate(value) == nil {
			t.Errorf("%s is taken", body)
		}
	}
}

// Each kind of failure is in the shape that the document has for its protocol.
func TestErrors(t *testing.T) {
	for _, p := range protocol.All() {
		name := map[string]string{"messages": "MessagesError", "generatecontent": "GenerateContentError", "interactions": "InteractionsError"}[p.Kind]
		if name == "" {
			name = "OpenAIError"
		}
		schema := schemaOf(t, "/components/schemas/"+name)
		for number := range genwayv1.ErrorKind_name {
			kind := fault.Kind(number)
			_, body := p.ErrorCodec().EncodeError(fault.New(kind, "REASON", "what is wrong with %q", "\x00\u2028<"))
			validate(t, schema, p.Kind+" "+fault.Name(kind), body)
			if name == "OpenAIError" && !bytes.Contains(body, []byte(`"type":"`)) {
				t.Errorf("%s has no type", body) // errors of upstreams may have none
			}
		}
	}
}
