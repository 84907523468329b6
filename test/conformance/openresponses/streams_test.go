package openresponses

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/wire"
)

// eventTables are the members of events by their type.
var eventTables = map[string]string{
	"response.created":     "response object",
	"response.in_progress": "response object",
	"response.completed":   "response object",
	"response.incomplete":  "response object",
	"response.failed":      "response object",
	"response.output_item.added": `
		output_index  integer
		item.type     string`,
	"response.output_item.done": `
		output_index  integer
		item.type     string`,
	"response.content_part.added": `
		item_id        string
		output_index   integer
		content_index  integer
		part.type      string`,
	"response.content_part.done": `
		item_id        string
		output_index   integer
		content_index  integer
		part.type      string`,
	"response.output_text.delta": `
		item_id        string
		output_index   integer
		content_index  integer
		delta          string
		logprobs       array`,
	"response.output_text.done": `
		item_id        string
		output_index   integer
		content_index  integer
		text           string
		logprobs       array`,
	"response.function_call_arguments.delta": `
		item_id       string
		output_index  integer
		delta         string`,
	"response.function_call_arguments.done": `
		item_id       string
		output_index  integer
		arguments     string`,
	"response.reasoning_summary_part.added": `
		item_id        string
		output_index   integer
		summary_index  integer
		part.type      string`,
	"response.reasoning_summary_part.done": `
		item_id        string
		output_index   integer
		summary_index  integer
		part.type      string`,
	"response.reasoning_summary_text.delta": `
		item_id        string
		output_index   integer
		summary_index  integer
		delta          string`,
	"response.reasoning_summary_text.done": `
		item_id        string
		output_index   integer
		summary_index  integer
		text           string`,
}

// events asks for a stream and demands that each event has its members and its number.
func events(t *testing.T, kind string, body object) []wire.Frame {
	t.Helper()
	body["stream"] = true
	status, raw := ask(t, kind, "/v1/responses", body)
	check.Equal(t, "status", status, http.StatusOK)
	list, _, err := wire.Frames(raw)
	if err != nil || len(list) == 0 {
		t.Fatalf("no stream (%v): %s", err, wire.Clip(raw))
	}
	for i, f := range list {
		name := wire.Text(f.Data, "type")
		check.Equal(t, "name of the event", f.Event, name)
		table, known := eventTables[name]
		check.Truef(t, known, "an event %q: %s", name, f.Raw)
		for _, fault := range wire.Faults(f.Data, table) {
			t.Errorf("%s: %s: %s", name, fault, f.Raw)
		}
		number, _ := wire.Lookup(f.Data, "sequence_number")
		check.Equal(t, "sequence_number", fmt.Sprint(number), strconv.Itoa(i))
		if response, ok := wire.Lookup(f.Data, "response"); ok {
			for _, fault := range faults(response) {
				t.Errorf("%s: response.%s: %s", name, fault, wire.Clip(f.Raw))
			}
		}
	}
	return list
}

// TestStreams: each event has its members, each response object in one all of its own.
func TestStreams(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		for name, body := range conversations() {
			t.Run(name, func(t *testing.T) {
				list := events(t, kind, body)
				check.Equal(t, "first event", list[0].Event, "response.created")
				last := list[len(list)-1]
				check.Equal(t, "last event", last.Event, "response.completed")
				check.Equal(t, "status", wire.Text(last.Data, "response.status"), "completed")
				var text strings.Builder
				for _, f := range list {
					if f.Event == "response.output_text.delta" {
						text.WriteString(wire.Text(f.Data, "delta"))
					}
				}
				check.Equal(t, "text", wire.Text(last.Data, "response.output[0].content[0].text"), text.String())
			})
		}
	})
}

// TestStreamedToolCalls do so for calls.
func TestStreamedToolCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		list := events(t, kind, object{"model": model, "tools": tools(), "input": `Call the tool weather with {"city":"Paris"}.`})
		last := list[len(list)-1]
		check.Equal(t, "arguments", wire.Text(call(t, last.Data, "response.output"), "arguments"), `{"city":"Paris"}`)
	})
}
