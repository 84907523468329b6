package spec_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/wire"
)

// tableOf are the specification's tables of answers.
func tableOf(operation string) string {
	return map[string]string{
		"chat completion": `
			id                                               string
			object                                           string       chat.completion
			created                                          integer
			model                                            string       sandbox-text
			choices                                          array
			choices[0].index                                 integer      0
			choices[0].message.role                          string       assistant
			choices[0].message.content                       string
			choices[0].finish_reason                         string       stop
			usage.prompt_tokens                              integer
			usage.completion_tokens                          integer
			usage.total_tokens                               integer
			service_tier                                     string       default
			`,
		"response creation": `
			id                                               string
			object                                           string       response
			created_at                                       integer
			model                                            string       sandbox-text
			status                                           string       completed
			output                                           array
			output[0].type                                   string       message
			output[0].id                                     string
			output[0].role                                   string       assistant
			output[0].status                                 string       completed
			output[0].content[0].type                        string       output_text
			output[0].content[0].text                        string
			output[0].content[0].annotations                 array
			usage.input_tokens                               integer
			usage.output_tokens                              integer
			usage.total_tokens                               integer
			service_tier                                     string       default
			`,
		"image generation": `
			created                                          integer
			background                                       string       opaque
			data                                             array
			data[0].b64_json                                 string
			data[0].generation_id                            string
			data[0].model                                    string       sandbox-image
			data[0].size                                     string
			output_format                                    string       png
			quality                                          string       low
			size                                             string
			usage.input_tokens                               integer
			usage.output_tokens                              integer
			usage.total_tokens                               integer
			usage.input_tokens_details.image_tokens          integer
			usage.input_tokens_details.text_tokens           integer
			usage.output_tokens_details.image_tokens         integer
			usage.output_tokens_details.text_tokens          integer
			`,
		"message creation": `
			id                                               string
			type                                             string       message
			role                                             string       assistant
			model                                            string       sandbox-text
			content                                          array
			content[0].type                                  string       text
			content[0].text                                  string
			content[0].citations                             array
			stop_reason                                      string       end_turn
			stop_sequence                                    null
			stop_details                                     null
			context_management.applied_edits                 array
			usage.input_tokens                               integer
			usage.cache_creation_input_tokens                integer
			usage.cache_read_input_tokens                    integer
			usage.output_tokens                              integer
			usage.cache_creation.ephemeral_5m_input_tokens   integer
			usage.cache_creation.ephemeral_1h_input_tokens   integer
			usage.output_tokens_details.thinking_tokens      integer
			usage.service_tier                               string       standard
			usage.inference_geo                              string
			`,
		"content generation": `
			candidates                                       array
			candidates[0].content.role                       string       model
			candidates[0].content.parts[0].text              string
			candidates[0].content.parts[0].thoughtSignature  string
			candidates[0].finishReason                       string       STOP
			usageMetadata.promptTokenCount                   integer
			usageMetadata.candidatesTokenCount               integer
			usageMetadata.totalTokenCount                    integer
			modelVersion                                     string       sandbox-text
			responseId                                       string
			`,
	}[operation]
}

// table is that of the operation's answers. Upstreams of other protocols sign nothing, and a
// signature is never invented.
func (op operation) table() string {
	table := tableOf(op.name)
	switch op.kind {
	case "chat", "responses", "messages", server.ForeignCore:
		table = regexp.MustCompile(`(?m)^.*thoughtSignature.*$`).ReplaceAllString(table, "")
	}
	return table
}

// replyOf is where an operation's reply text stands.
func replyOf(operation string) string {
	return map[string]string{
		"chat completion":    "choices[0].message.content",
		"response creation":  "output[0].content[0].text",
		"message creation":   "content[0].text",
		"content generation": "candidates[0].content.parts[0].text",
	}[operation]
}

// TestEveryRow sends the specification's request fields and demands all its answer
// fields.
func TestEveryRow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, op operation) {
		a := send(t, "POST", op.path, op.headers(), op.body())
		check.Equal(t, "status", a.status, 200)
		check.Equal(t, "content type", mediaType(a), "application/json")
		holds(t, a, op.table())
		if path := replyOf(op.name); path != "" {
			check.Contains(t, text(t, a, path), "Say hello.")
		}
	})
}

// TestSums: totals are what their parts add up to.
func TestSums(t *testing.T) {
	t.Parallel()
	sums := map[string][3]string{
		"chat completion":    {"usage.prompt_tokens", "usage.completion_tokens", "usage.total_tokens"},
		"response creation":  {"usage.input_tokens", "usage.output_tokens", "usage.total_tokens"},
		"image generation":   {"usage.input_tokens", "usage.output_tokens", "usage.total_tokens"},
		"content generation": {"usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount", "usageMetadata.totalTokenCount"},
	}
	each(t, func(t *testing.T, op operation) {
		a := send(t, "POST", op.path, op.headers(), op.body())
		sum, ok := sums[op.name]
		if !ok {
			check.Truef(t, integer(t, a, "usage.input_tokens") > 0 && integer(t, a, "usage.output_tokens") > 0, "no usage: %s", wire.Clip(a.raw))
			return
		}
		in, out := integer(t, a, sum[0]), integer(t, a, sum[1])
		check.Truef(t, in > 0 && out > 0, "no usage: %s", wire.Clip(a.raw))
		check.Equal(t, "total", integer(t, a, sum[2]), in+out)
	})
}

// TestIDs differ from call to call.
func TestIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]string{
		"chat completion": "id", "response creation": "id", "message creation": "id",
		"image generation": "data[0].generation_id", "content generation": "responseId",
	}
	each(t, func(t *testing.T, op operation) {
		first, second := send(t, "POST", op.path, op.headers(), op.body()), send(t, "POST", op.path, op.headers(), op.body())
		check.Truef(t, text(t, first, ids[op.name]) != text(t, second, ids[op.name]), "two calls have one id")
	})
}

// TestImageSizes: the returned size is authoritative, and it is the pixels' one.
func TestImageSizes(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		op := all[2]
		for _, size := range []string{"256x256", "512x256", "300x200", "100x1000", "1x1", "333x777"} {
			body := op.body()
			body["size"], body["n"] = size, 2
			a := send(t, "POST", op.path, op.headers(), body)
			if a.status != 200 {
				t.Fatalf("%s: %s", size, wire.Clip(a.raw))
			}
			for _, item := range []string{"data[0]", "data[1]"} {
				pixels := picture.Size(picture.Decode(t, "png", text(t, a, item+".b64_json")))
				check.Equal(t, "size of the item", text(t, a, item+".size"), pixels)
				check.Equal(t, "size", text(t, a, "size"), pixels)
			}
		}
		// Only the required fields.
		a := send(t, "POST", op.path, op.headers(), object{"model": "sandbox-image", "prompt": "A red fox"})
		check.Equal(t, "size of the pixels", picture.Size(picture.Decode(t, "png", text(t, a, "data[0].b64_json"))), text(t, a, "size"))
		// Some clients name the only form there is.
		a = send(t, "POST", op.path, op.headers(), object{"model": "sandbox-image", "prompt": "A red fox", "response_format": "b64_json"})
		check.Equal(t, "status", a.status, 200)
	})
}

// TestContentsWithoutRole: a role is optional in contents.
func TestContentsWithoutRole(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		op := all[4]
		a := send(t, "POST", op.path, op.headers(), object{"contents": []object{{"parts": []object{{"text": "No role."}}}}})
		check.Contains(t, text(t, a, replyOf(op.name)), "No role.")
	})
}

// TestUnknownExtraMembers: unknown members are no failure.
func TestUnknownExtraMembers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, op operation) {
		body := op.body()
		body["x_unknown"] = object{"deep": []any{1, "two", nil}}
		if messages, ok := body["messages"].([]object); ok {
			messages[0]["x_unknown"] = true
		}
		if contents, ok := body["contents"].([]object); ok {
			contents[0]["xUnknown"] = true
		}
		a := send(t, "POST", op.path+"?x_unknown=1", op.headers().with("X-Unknown", "1"), body)
		check.Equal(t, "status", a.status, 200)
		holds(t, a, op.table())
	})
}

func mediaType(a answer) string {
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	return kind
}
