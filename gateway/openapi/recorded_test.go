//go:build recorded

package openapi_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

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

// recorded is one recorded exchange of a vendor.
type recorded struct {
	ID       string          `json:"id"`
	Protocol string          `json:"protocol"`
	Status   int             `json:"status"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
	Events   string          `json:"response_sse"`
}

// What vendors were asked and what they answered, bodies, events and errors, the document allows:
// the recordings of the file GENWAY_CORPUS.
func TestRecorded(t *testing.T) {
	file, err := os.Open(os.Getenv("GENWAY_CORPUS"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 256<<20)
	checked := map[string]int{}
	for lines.Scan() {
		var x recorded
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		for _, what := range x.check(t) {
			checked[what]++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
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
func (x recorded) check(t *testing.T) []string {
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
	if x.Events == "" {
		validate(t, compiled(t, pathPointer(path, "/post/responses/200/content/application~1json/schema")), name+", an answer", x.Response)
		return []string{x.Protocol + " request", x.Protocol + " answer"}
	}
	schema := compiled(t, pathPointer(path, "/post/responses/200/content/text~1event-stream/schema"))
	for event, err := range sse.Read(strings.NewReader(x.Events), &sse.ReadConfig{MaxEventSize: 256 << 20}) {
		if err != nil || event.Data == "" || event.Data == "[DONE]" {
			break // a recording that was cut ends within an event
		}
		validate(t, schema, name+", an event", []byte(event.Data))
	}
	return []string{x.Protocol + " request", x.Protocol + " events"}
}
