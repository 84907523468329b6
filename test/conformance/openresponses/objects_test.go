package openresponses

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/wire"
)

var ways *server.Ways

func TestMain(m *testing.M) { server.MainWays(m, &ways) }

type object = map[string]any

// responseTable is the specification's ResponseResource.
const responseTable = `
	id                                            string
	object                                        string   response
	created_at                                    integer
	completed_at                                  integer|null
	status                                        string
	incomplete_details                            object|null
	model                                         string
	previous_response_id                          string|null
	instructions                                  string|null
	output                                        array
	error                                         object|null
	tools                                         array
	tool_choice                                   string|object
	truncation                                    string
	parallel_tool_calls                           boolean
	text.format.type                              string
	top_p                                         integer|number
	presence_penalty                              integer|number
	frequency_penalty                             integer|number
	top_logprobs                                  integer
	temperature                                   integer|number
	reasoning                                     object|null
	usage                                         object|null
	max_output_tokens                             integer|null
	max_tool_calls                                integer|null
	store                                         boolean
	background                                    boolean
	service_tier                                  string
	metadata                                      object
	safety_identifier                             string|null
	prompt_cache_key                              string|null
	`

const usageTable = `
	usage.input_tokens                            integer
	usage.output_tokens                           integer
	usage.total_tokens                            integer
	usage.input_tokens_details.cached_tokens      integer
	usage.output_tokens_details.reasoning_tokens  integer
	`

// itemTables are the members of items by their type.
var itemTables = map[string]string{
	"message": `
		id       string
		status   string
		role     string  assistant
		content  array`,
	"function_call": `
		id         string
		call_id    string
		name       string
		arguments  string
		status     string`,
	"reasoning": `
		id       string
		summary  array`,
	"compaction": `
		id                 string
		encrypted_content  string`,
}

// faults lists what is missing or wrong in a response object, its items and its tools.
func faults(response any) []string {
	all := wire.Faults(response, responseTable)
	if usage, _ := wire.Lookup(response, "usage"); usage != nil {
		all = append(all, wire.Faults(response, usageTable)...)
	}
	all = append(all, itemFaults(response, "output")...)
	tools, _ := wire.Lookup(response, "tools")
	list, _ := tools.([]any)
	for i, tool := range list {
		if wire.Text(tool, "type") != "function" {
			continue
		}
		for _, f := range wire.Faults(tool, `
			name         string
			description  string|null
			parameters   object|null
			strict       boolean|null`) {
			all = append(all, fmt.Sprintf("tools[%d].%s", i, f))
		}
	}
	return all
}

// itemFaults does so for a list of items.
func itemFaults(document any, member string) (all []string) {
	output, _ := wire.Lookup(document, member)
	items, _ := output.([]any)
	for i, item := range items {
		kind := wire.Text(item, "type")
		table, known := itemTables[kind]
		if !known {
			all = append(all, fmt.Sprintf("%s[%d] is of the type %q", member, i, kind))
		}
		for _, f := range wire.Faults(item, table) {
			all = append(all, fmt.Sprintf("%s[%d].%s", member, i, f))
		}
		content, _ := wire.Lookup(item, "content")
		parts, _ := content.([]any)
		for j, part := range parts {
			if wire.Text(part, "type") != "output_text" {
				continue
			}
			for _, f := range wire.Faults(part, `
				text         string
				annotations  array
				logprobs     array`) {
				all = append(all, fmt.Sprintf("%s[%d].content[%d].%s", member, i, j, f))
			}
		}
	}
	return all
}

// ask posts a body to the gateway of a kind and returns the answer, read whole.
func ask(t *testing.T, kind, path string, body object) (int, string) {
	t.Helper()
	g := ways.ByKind[kind]
	return post(t, g.URL(), g.Keys["chat"], path, body)
}

// post does so at the gateway of an address.
func post(t *testing.T, base, key, path string, body object) (int, string) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// each runs a test for the sandbox and for each kind of upstream.
func each(t *testing.T, test func(*testing.T, string)) {
	t.Helper()
	for _, kind := range append(server.Kinds(), "sandbox") {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// whole asks for a response object, which must be complete and say nothing wrong.
func whole(t *testing.T, kind string, body object) any {
	t.Helper()
	status, raw := ask(t, kind, "/v1/responses", body)
	check.Equal(t, "status", status, http.StatusOK)
	doc, err := wire.Decode(raw)
	if err != nil {
		t.Fatalf("%v: %s", err, wire.Clip(raw))
	}
	for _, f := range faults(doc) {
		t.Errorf("%s: %s", f, wire.Clip(raw))
	}
	check.Equal(t, "status", wire.Text(doc, "status"), "completed")
	if output, _ := wire.Lookup(doc, "output"); len(output.([]any)) == 0 {
		t.Errorf("no output: %s", wire.Clip(raw))
	}
	return doc
}
