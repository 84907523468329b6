package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// members are the top-level members of a body.
type members map[string]any

// change is one thing that a place changes. Whatever differs from a recording and is not
// the work of a place's changes is a loss.
type change struct {
	// says is the change in words, for docs/reference/replay.md.
	says string
	// request changes what the place is expected to receive.
	request func(x exchange, body members)
	// answer changes a unary answer as the place sends it; its caller is expected to receive it.
	answer func(x exchange, body members)
	// event changes one event of a stream likewise.
	event func(x exchange, body members)
	// failure changes the error that the caller is expected to receive.
	failure func(x exchange, body members)
	// own is a member of errors that the gateway writes itself; its value is not compared.
	own string
}

// place is an upstream of a provider and the recordings that are played through it.
type place struct {
	// name is the upstream in the report, title in docs/reference/replay.md.
	name, title string
	// protocols are those whose recordings are played.
	protocols []string
	// upstream is its entry in the configuration; {host} is the player's address, {dir} a folder.
	upstream string
	// paths give the path that each protocol's requests are expected at.
	paths func(x exchange) string
	// framed says that streams are framed by AWS's event stream, and errors are AWS's.
	framed bool
	// proof is how the place checks who is calling.
	proof proof
	// refused are protocols whose requests the gateway refuses by name, as the place lacks them.
	refused []string
	changes []change
}

var (
	modelLeaves = change{says: "`model` leaves the body: the path names it", request: func(x exchange, body members) {
		if x.Protocol != "count_tokens" {
			delete(body, "model")
		}
	}}
	streamLeaves = change{says: "`stream` leaves the body: the path says it", request: func(_ exchange, body members) { delete(body, "stream") }}
	betaEnters   = change{says: "`anthropic_beta` enters the body: the names of the header `anthropic-beta`, and those that members of the body need", request: func(_ exchange, body members) {
		names := []any{"beta-1", "beta-2"}
		if body["context_management"] != nil {
			names = append(names, "context-management-2025-06-27")
		}
		if output, ok := body["output_config"].(map[string]any); ok && output["effort"] != nil {
			names = append(names, "effort-2025-11-24")
		}
		body["anthropic_beta"] = names
	}}
	betasLeave = change{says: "members of [betas that the place refuses](providers.md) leave the body", request: func(_ exchange, body members) {
		for _, name := range []string{"tags", "speed", "diagnostics", "context_hint", "fallbacks", "thread"} {
			delete(body, name)
		}
		if output, ok := body["output_config"].(map[string]any); ok && output["task_budget"] != nil {
			if delete(output, "task_budget"); len(output) == 0 {
				delete(body, "output_config")
			}
		}
	}}
	invokeMetrics = change{says: "`amazon-bedrock-invocationMetrics` enters the last event of a stream", event: func(_ exchange, body members) {
		if body["type"] == "message_stop" {
			body["amazon-bedrock-invocationMetrics"] = map[string]any{"inputTokenCount": json.Number("3"), "outputTokenCount": json.Number("2"), "invocationLatency": json.Number("900"), "firstByteLatency": json.Number("90")}
		}
	}}
	awsErrors = change{says: "errors are AWS's: `type` follows the status, `message` begins with the exception's name, `request_id` is the gateway's own", own: "request_id", failure: func(x exchange, body members) {
		message := errorText(body)
		clear(body)
		body["type"], body["error"] = "error", map[string]any{"type": map[int]string{400: "invalid_request_error", 404: "not_found_error"}[x.Status], "message": exceptions[x.Status] + ": " + message}
	}}
	usageIsAsked = change{says: "`stream_options.include_usage` enters a streamed request, as for any upstream of chat completions; `stream_usage: leave` leaves it out", request: func(x exchange, body members) {
		if x.Protocol != "chat" || !x.Stream {
			return
		}
		options, _ := body["stream_options"].(map[string]any)
		options = maps.Clone(options)
		if options == nil {
			options = map[string]any{}
		}
		options["include_usage"] = true
		body["stream_options"] = options
	}}
	filters = change{says: "`prompt_filter_results` and each choice's `content_filter_results` enter answers", answer: filtered, event: filtered}
)

// version has the body say the version of messages.
func version(name string) change {
	return change{says: fmt.Sprintf("`anthropic_version: %s` enters the body", name), request: func(_ exchange, body members) { body["anthropic_version"] = name }}
}

// exceptions are AWS's names for the statuses of refused requests.
var exceptions = map[int]string{http.StatusBadRequest: "ValidationException", http.StatusNotFound: "ResourceNotFoundException"}

func errorText(body members) string {
	answer, _ := body["error"].(map[string]any)
	text, _ := answer["message"].(string)
	return text
}

// filtered adds what Azure's content filter says to an answer of chat completions.
func filtered(x exchange, body members) {
	if x.Protocol != "chat" {
		return
	}
	safe := map[string]any{"hate": map[string]any{"filtered": false, "severity": "safe"}}
	body["prompt_filter_results"] = []any{map[string]any{"prompt_index": json.Number("0"), "content_filter_results": safe}}
	choices, _ := body["choices"].([]any)
	for _, c := range choices {
		if choice, ok := c.(map[string]any); ok {
			choice["content_filter_results"] = safe
		}
	}
}

// located is the beginning of the paths of Vertex.
const located = "/v1/projects/my-project/locations/us-east5/publishers/"

// places are the upstreams that recordings are played through.
var places = []place{
	{
		name: "bedrock-messages", title: "`provider: bedrock`, kind messages", protocols: []string{"messages", "count_tokens"}, proof: signed,
		upstream: `kind: messages, provider: bedrock, region: us-east-1, base_url: "http://{host}", auth: {aws: {access_key_id: AKIDEXAMPLE, secret_access_key: wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY}}`,
		paths:    func(x exchange) string { return "/anthropic/v1/messages" + counting(x, "/count_tokens") },
		changes:  []change{betasLeave},
	},
	{
		name: "bedrock-invoke", title: "`provider: bedrock`, `endpoint: invoke`", protocols: []string{"messages", "count_tokens"}, proof: signed, framed: true, refused: []string{"count_tokens"},
		upstream: `kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, base_url: "http://{host}", auth: {aws: {access_key_id: AKIDEXAMPLE, secret_access_key: wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY}}`,
		paths: func(x exchange) string {
			path := "/model/" + url.QueryEscape(x.Model()) + "/invoke"
			if x.Stream {
				path += "-with-response-stream"
			}
			return path
		},
		changes: []change{modelLeaves, streamLeaves, version("bedrock-2023-05-31"), betasLeave, betaEnters, invokeMetrics, awsErrors},
	},
	{
		name: "vertex-messages", title: "`provider: vertex`, kind messages", protocols: []string{"messages", "count_tokens"}, proof: issued,
		upstream: `kind: messages, provider: vertex, project: my-project, region: us-east5, base_url: "http://{host}", auth: {google: {credentials_file: "{dir}/account.json"}}`,
		paths: func(x exchange) string {
			switch {
			case x.Protocol == "count_tokens":
				return located + "anthropic/models/count-tokens:rawPredict"
			case x.Stream:
				return located + "anthropic/models/" + url.PathEscape(x.Model()) + ":streamRawPredict"
			}
			return located + "anthropic/models/" + url.PathEscape(x.Model()) + ":rawPredict"
		},
		changes: []change{modelLeaves, version("vertex-2023-10-16"), betasLeave},
	},
	{
		name: "vertex-generatecontent", title: "`provider: vertex`, kind generatecontent", protocols: []string{"generatecontent"}, proof: issued,
		upstream: `kind: generatecontent, provider: vertex, project: my-project, region: us-east5, base_url: "http://{host}", auth: {google: {credentials_file: "{dir}/account.json"}}`,
		paths: func(x exchange) string {
			return located + "google/models/" + url.PathEscape(x.Model()) + ":" + method(x)
		},
	},
	{
		name: "azure-chat", title: "`provider: azure`, kind chat", protocols: []string{"chat"}, proof: keyed,
		upstream: `kind: chat, provider: azure, resource: my-resource, base_url: "http://{host}", api_key: the-key-of-the-place`,
		paths:    func(exchange) string { return "/openai/v1/chat/completions" },
		changes:  []change{usageIsAsked, filters},
	},
	{
		name: "azure-responses", title: "`provider: azure`, kind responses", protocols: []string{"responses"}, proof: keyed,
		upstream: `kind: responses, provider: azure, resource: my-resource, base_url: "http://{host}", api_key: the-key-of-the-place`,
		paths:    func(exchange) string { return "/openai/v1/responses" },
	},
}

func counting(x exchange, path string) string {
	if x.Protocol == "count_tokens" {
		return path
	}
	return ""
}

// table is the section of docs/reference/replay.md about what places change.
func table() string {
	var out strings.Builder
	out.WriteString("| upstream | recordings | changes |\n|---|---|---|\n")
	for _, p := range places {
		var says []string
		for _, c := range p.changes {
			says = append(says, c.says)
		}
		if p.framed {
			says = slices.Insert(says, 0, "streams are framed by AWS's event stream; callers get the protocol's events")
		}
		for _, protocol := range p.refused {
			says = append(says, "`"+protocol+"` is refused by name")
		}
		if len(says) == 0 {
			says = []string{"nothing"}
		}
		fmt.Fprintf(&out, "| %s | `%s` | %s |\n", p.title, strings.Join(p.protocols, "`, `"), strings.Join(says, ";<br>"))
	}
	return out.String()
}
