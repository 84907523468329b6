//go:build recorded

package openapi_test

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/genway/genway/test/recorded"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tmaxmax/go-sse"
)

var schemas = map[string]*jsonschema.Schema{}

// compiled is schemaOf, once for each part of the document.
func compiled(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	if schemas[pointer] == nil {
		schemas[pointer] = schemaOf(t, pointer)
	}
	return schemas[pointer]
}

// counting is the path of recordings that count tokens.
const counting = "/v1/messages/count_tokens"

// What vendors were asked and what they answered, bodies, events and errors, the document allows:
// the recordings of the file GENWAY_CORPUS.
func TestRecorded(t *testing.T) {
	all, err := recorded.Load(os.Getenv("GENWAY_CORPUS"))
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]int{}
	for _, x := range all {
		for _, what := range check(t, x) {
			checked[what]++
		}
	}
	t.Log(checked)
	for _, what := range []string{"chat", "responses", "messages", "generatecontent"} {
		for _, part := range []string{" request", " answer", " events"} {
			if checked[what+part] == 0 {
				t.Errorf("no %s was recorded", what+part)
			}
		}
	}
}

// check validates an exchange and says which parts of it there were.
func check(t *testing.T, x recorded.Exchange) []string {
	t.Helper()
	path := generating[x.Protocol].path
	if x.Protocol == "count_tokens" {
		path = counting
	}
	if path == "" {
		t.Errorf("%s: the protocol %s has no path", x.ID, x.Protocol)
		return nil
	}
	name := x.ID + ", " + x.Protocol
	if x.Status >= 400 {
		schema := map[string]string{"messages": "MessagesError", "generatecontent": "GenerateContentError"}[x.Protocol]
		validate(t, compiled(t, "/components/schemas/"+cmp.Or(schema, "OpenAIError")), name+", an error", x.Response)
		return []string{x.Protocol + " error"}
	}
	validate(t, compiled(t, pathPointer(path, "/post/requestBody/content/application~1json/schema")), name+", a request", x.Request)
	if x.ResponseSSE == "" {
		validate(t, compiled(t, pathPointer(path, "/post/responses/200/content/application~1json/schema")), name+", an answer", x.Response)
		return []string{x.Protocol + " request", x.Protocol + " answer"}
	}
	schema := compiled(t, pathPointer(path, "/post/responses/200/content/text~1event-stream/schema"))
	for event, err := range sse.Read(strings.NewReader(x.ResponseSSE), &sse.ReadConfig{MaxEventSize: 256 << 20}) {
		if err != nil || event.Data == "" || event.Data == "[DONE]" {
			break // a recording that was cut ends within an event
		}
		validate(t, schema, name+", an event", []byte(event.Data))
	}
	return []string{x.Protocol + " request", x.Protocol + " events"}
}
