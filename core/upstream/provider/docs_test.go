package provider_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/core/upstream/provider"
)

var update = flag.Bool("update", false, "rewrite docs/reference/providers.md")

const intro = `# Providers

*Generated from core/upstream/provider by ` + "`go test ./core/upstream/provider -update`" + `.*

The [guide](../models.md#providers) says what a provider is. ` + "`auth`" + ` is described in [configuration.md](../configuration.md#credentials);
any provider takes ` + "`auth: {command: …}`" + `, too.

Each row names the page that it was read from, and when. Tests call a fake of each place by
its example (` + "`test/cases`" + ` ` + "`TestCases/V1`" + `); the places themselves could not be reached
from where they were written. What a place changes of requests and answers, and that it changes
nothing else, is in [replay.md](replay.md).
`

// docs/reference/providers.md says what the data says.
func TestDocs(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(intro)
	least(&out)
	for _, p := range provider.All {
		fmt.Fprintf(&out, "\n## %s\n\n", p.Title)
		out.WriteString("| kind | endpoint | `base_url`, and paths of its own | key in | source |\n|---|---|---|---|---|\n")
		for _, e := range p.Endpoints {
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s, read %s |\n", code(e.Kinds...), code(e.Name), base(e), code(key(e)), e.Source, e.Read)
		}
		out.WriteString("\n")
		if len(p.Auth) > 0 {
			fmt.Fprintf(&out, "- `auth`: %s.\n", code(p.Auth...))
		}
		var dialects []*dialect.Chat
		for _, e := range p.Endpoints {
			if e.Chat != nil && !slices.Contains(dialects, e.Chat) {
				dialects = append(dialects, e.Chat)
			}
		}
		for _, e := range p.Endpoints {
			if len(dialects) == 1 && e.Chat != nil { // once for all endpoints
				chat(&out, "kind chat", e)
				dialects = nil
			} else if len(dialects) > 1 && e.Chat != nil {
				chat(&out, "kind chat, endpoint "+e.Name, e)
			}
			facts(&out, e)
		}
		betas(&out, p.Endpoints)
		for _, note := range p.Notes {
			fmt.Fprintf(&out, "- %s\n", note)
		}
		if _, err := os.Stat(filepath.Join("..", "..", "..", "docs", "examples", "providers", p.Name+".yaml")); err != nil {
			t.Fatalf("each provider has an example of its configuration, from which its test is made: %v", err)
		}
		fmt.Fprintf(&out, "\nExample: [%[1]s.yaml](../examples/providers/%[1]s.yaml).\n", p.Name)
	}
	file := filepath.Join("..", "..", "..", "docs", "reference", "providers.md")
	got := bytes.ReplaceAll(out.Bytes(), []byte("\n\n\n"), []byte("\n\n"))
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/reference/providers.md is stale: go test ./core/upstream/provider -update")
	}
}

// chat describes the dialect of chat completions that an endpoint has.
func chat(out *bytes.Buffer, of string, e provider.Endpoint) {
	fmt.Fprintf(out, "- %s: translated requests go without %s.\n", of, code(e.Chat.Lacks()...))
	spoken(out, of, e.Chat)
	if e.Documents != "" {
		fmt.Fprintf(out, "- %s: what it takes is from %s.\n", of, e.Documents)
	}
}

// facts are what of an endpoint is no column.
func facts(out *bytes.Buffer, e provider.Endpoint) {
	of := "kind " + strings.Join(e.Kinds, ", ")
	if e.Name != "" {
		of += ", endpoint " + e.Name
	}
	if e.Version != "" {
		fmt.Fprintf(out, "- %s: the body has `anthropic_version: %s` and no model.\n", of, e.Version)
	}
	if e.NoCount {
		fmt.Fprintf(out, "- %s: tokens cannot be counted.\n", of)
	}
	if e.NoList {
		fmt.Fprintf(out, "- %s: no `models: discover`.\n", of)
	}
}

// betas says what endpoints make of the betas of messages, which is the same for all that know of any.
func betas(out *bytes.Buffer, endpoints []provider.Endpoint) {
	with := slices.IndexFunc(endpoints, func(e provider.Endpoint) bool { return len(e.Betas) > 0 })
	if with < 0 {
		return
	}
	var members, refused []string
	for _, b := range endpoints[with].Betas {
		switch {
		case b.As == "":
			refused = append(refused, b.Name)
			for _, path := range b.Members {
				if path = strings.TrimPrefix(path, "*."); b.Type != "" {
					path += ": {type: " + b.Type + "}"
				}
				members = append(members, path)
			}
		case b.As != b.Name:
			fmt.Fprintf(out, "- kind messages: the beta %s is announced as %s.\n", code(b.Name), code(b.As))
		case len(b.Members) > 0:
			fmt.Fprintf(out, "- kind messages: a body with %s announces the beta %s.\n", code(b.Members...), code(b.Name))
		}
	}
	fmt.Fprintf(out, "- kind messages: bodies go without %s, and without the betas %s. What is left out is named.\n", code(members...), code(refused...))
}

// spoken says in which form a dialect has what there are several forms for.
func spoken(out *bytes.Buffer, of string, d *dialect.Chat) {
	for _, form := range []struct {
		holds bool
		text  string
	}{
		{!d.Takes("max_completion_tokens"), "the limit is `max_tokens`"},
		{d.Takes("random_seed"), "`seed` is `random_seed`"},
		{d.Takes("reasoning"), "`reasoning_effort` is `reasoning.effort`"},
		{d.Takes("messages.reasoning_content"), "reasoning in the history is `reasoning_content`"},
		{d.Takes("messages.reasoning") && !d.Takes("messages.reasoning_content"), "reasoning in the history is `reasoning`"},
		{!d.Takes("messages.reasoning") && !d.Takes("messages.reasoning_content"), "there is no reasoning in the history"},
		{d.Takes("response_format.value"), "a schema is `{\"type\":\"json\",\"value\":SCHEMA}`"},
		{!d.Takes("response_format.value") && !d.Takes("response_format.json_schema"), "a schema is `{\"type\":\"json_object\"}`"},
		{!d.Takes("messages.content.array"), "texts of a message are joined to one string"},
		{!d.Takes("tool_choice.function"), "one tool that has to be called is the only one offered"},
		{d.CallIDs > 0, fmt.Sprintf("identifiers of tool calls are %d letters and digits", d.CallIDs)},
	} {
		if form.holds {
			fmt.Fprintf(out, "- %s: %s.\n", of, form.text)
		}
	}
}

// least describes what is assumed without a provider.
func least(out *bytes.Buffer) {
	out.WriteString(`
## Chat completions without a provider

Vendors and engines differ in what they take of chat completions, and some answer 422 to a
member that they do not know. A translated request for an upstream of ` + "`kind: chat`" + ` without a
provider has only what each engine below takes, and what bears on the answer: tools, the choice
among them, a structured output and contents are sent, and the upstream refuses what it does not
have. ` + "`provider: openai`" + ` with a ` + "`base_url`" + ` says that the upstream takes what OpenAI does,
` + "`takes: everything`" + ` that it takes what others add to that as well, as another gateway.

`)
	fmt.Fprintf(out, "- kind chat: translated requests go without %s.\n", code(dialect.Least.Lacks()...))
	spoken(out, "kind chat", dialect.Least)
	out.WriteString("- A stream is asked for its usage (`stream_options`), unless `stream_usage` is `leave`.\n")
}

func base(e provider.Endpoint) string {
	text := "the operator's"
	if e.Base != "" {
		text = "`" + strings.ReplaceAll(e.Base, "{host}", e.Hosts[""]) + "`"
	}
	if e.Generate != "" {
		text += ", `" + e.Generate + "`, `" + e.Stream + "`"
	}
	return text
}

func key(e provider.Endpoint) string {
	switch {
	case e.KeyHeader != "":
		return e.KeyHeader
	case e.Kinds[0] == "messages":
		return "X-Api-Key"
	case e.Kinds[0] == "generatecontent":
		return "X-Goog-Api-Key"
	}
	return "Authorization"
}

func code(words ...string) string {
	var list []string
	for _, w := range words {
		if w != "" {
			list = append(list, "`"+w+"`")
		}
	}
	return strings.Join(list, ", ")
}
