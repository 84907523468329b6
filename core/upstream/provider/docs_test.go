package provider_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/upstream/provider"
)

var update = flag.Bool("update", false, "write docs/providers.md anew")

const intro = `# Providers

*Generated from core/upstream/provider by ` + "`go test ./core/upstream/provider -update`" + `.*

A kind of upstream is a protocol; its ` + "`provider`" + ` is where the model lives. With a provider the
address, the paths, the place of the key and the scope of tokens are known, and what the
place refuses of translated requests is left out and named in ` + "`x-genway-lost`" + `. Without one, or with
` + "`provider: custom`" + `, the upstream is what ` + "`base_url`" + ` says and speaks its kind as the protocol's vendor
does.

` + "`base_url`" + ` may still be given: a host alone (` + "`https://my-private-link.example`" + `) takes the place of the
provider's host, an address with a path that of the whole. ` + "`auth`" + ` is described in
[configuration.md](configuration.md#credentials); any provider takes ` + "`auth: {command: …}`" + `, too.

Each row names the page that it was read from, and when. Tests call a fake of each place by
these examples (` + "`test/cases`" + ` ` + "`TestCases/V1`" + `); the places themselves could not be reached
from where they were written. What a place changes of requests and answers, and that it changes
nothing else, is in [replay.md](replay.md).
`

// docs/providers.md says what the data says.
func TestDocs(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(intro)
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
		for _, e := range p.Endpoints {
			facts(&out, e)
		}
		for _, note := range p.Notes {
			fmt.Fprintf(&out, "- %s\n", note)
		}
		example, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "providers", p.Name+".yaml"))
		if err != nil {
			t.Fatalf("each provider has an example of its configuration, from which its test is made: %v", err)
		}
		_, yaml, _ := strings.Cut(string(example), "upstreams:\n")
		yaml, _, _ = strings.Cut(yaml, "routes:\n")
		fmt.Fprintf(&out, "\n[examples/providers/%[1]s.yaml](../examples/providers/%[1]s.yaml):\n\n```text\nupstreams:\n%[2]s```\n", p.Name, yaml)
	}
	file := filepath.Join("..", "..", "..", "docs", "providers.md")
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
		t.Error("docs/providers.md is stale: go test ./core/upstream/provider -update")
	}
}

// facts are what of an endpoint is no column.
func facts(out *bytes.Buffer, e provider.Endpoint) {
	of := "kind " + strings.Join(e.Kinds, ", ")
	if e.Name != "" {
		of += ", endpoint " + e.Name
	}
	if len(e.Refuses) > 0 {
		fmt.Fprintf(out, "- %s: translated requests go without %s.\n", of, code(e.Refuses...))
	}
	if e.MaxTokens {
		fmt.Fprintf(out, "- %s: the limit of translated requests is `max_tokens`.\n", of)
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
