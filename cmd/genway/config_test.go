package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream/provider"
)

// The command prints what the routes make of a model, and says so where no route has it.
func TestExplain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "genway.yaml")
	text := `
upstreams:
  pictures: {kind: images, base_url: "http://127.0.0.1/v1"}
  local: {kind: chat, base_url: "http://127.0.0.1/v1"}
  claude: {kind: messages, base_url: "http://127.0.0.1/v1"}
routes:
  - {model: "draw-*", targets: [{upstream: pictures}]}
  - model: "talk-*"
    targets: [{upstream: local, weight: 3, drop: [top_p], set: {temperature: 0.2, stop_sequences: [END]}, bound: {max_output_tokens: 4096}}, {upstream: local, model: b}]
    fallback: [{upstream: claude, model: c, cache: auto, default: {max_output_tokens: 9}, bound: {temperature: {min: 0.1, max: 1}}}, {upstream: local, on: [context, failure]}]
  - {model: "box", strict: true, deadline: 90s, drop_tools: [web_search], targets: [{upstream: sandbox}]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ protocol, model, prints, fails string }{
		{"images", "draw-1", "routes[0], model draw-*\ntargets:\n  1. pictures: speaks images, passed through, model as asked, weight 1\n     calls http://127.0.0.1/v1/images/generations\n", ""},
		{"chat", "talk-1", `routes[1], model talk-*
targets, the first drawn by weight:
  1. local: speaks chat, passed through, model as asked, weight 3
     calls http://127.0.0.1/v1/chat/completions
     drop top_p; set stop_sequences ["END"], temperature 0.2; bound max_output_tokens to at most 4096
  2. local: speaks chat, passed through, model b, weight 1
     calls http://127.0.0.1/v1/chat/completions
fallback, in this order:
  3. claude: speaks messages, translated, model c
     calls http://127.0.0.1/v1/messages
     default max_output_tokens 9; bound temperature to 0.1 to 1; cache auto
  4. local: speaks chat, passed through, model as asked, on failure and context
`, ""},
		{"grpc", "box", "routes[2], model box\nstrict: requests that would lose something are refused\ndeadline: 1m30s in all\ntargets:\n  1. sandbox: takes every protocol's requests, model as asked, weight 1\n", ""},
		{"chat", "draw-1", "", "no target for chat callers"},
		{"chat", "talk", "", "no route matches"},
	} {
		var out strings.Builder
		err := (&explainRoute{Config: file, Protocol: c.protocol, Model: c.model}).Run(t.Context(), &out)
		if !strings.HasPrefix(out.String(), c.prints) || (err == nil) != (c.fails == "") || (err != nil && !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s, %s: %v\n%s", c.protocol, c.model, err, out.String())
		}
	}
}

// config check reports all mistakes, warns, and does without the environment where it is
// asked to.
func TestConfigCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "genway.yaml")
	const routes = "routes: [{model: '*', targets: [{upstream: sandbox}]}]\n"
	const addresses = "upstreams:\n  a: {kind: chat, base_url: https://h/v1beta/openai, query: {key: secret-1234, api-version: \"7\"}}\n  g: {kind: generatecontent, base_url: https://h}\n  o: {kind: generation, target: \"dns:///core:9090\", tls: true}\nroutes: [{model: '*', targets: [{upstream: a}, {upstream: g}, {upstream: o}]}]\n"
	const placeholders = "store: \"${DB}\"\nprices: prices.yaml\nupstreams:\n  a: {kind: chat, base_url: \"${BASE}\", api_key: \"${KEY_OF_A}\", idle: \"${IDLE}\"}\n  b: {kind: chat, base_url: https://x, api_key_file: /nowhere/key}\nroutes: [{model: m, targets: [{upstream: a}, {upstream: b}]}]\n"
	for name, c := range map[string]struct {
		text   string
		flags  string
		prints string
		fails  string
	}{
		"good":            {routes, "", file + " is good\n", ""},
		"addresses":       {addresses, "", file + " is good\nupstream a: calls https://h/v1beta/openai/chat/completions?api-version=7&key=[REDACTED]\nupstream g: calls https://h/v1beta/models/MODEL:generateContent\nupstream o: calls dns:///core:9090\n", ""},
		"doubled path":    {strings.Replace(addresses, "/openai,", "/openai/chat/completions/,", 1), "", "", file + ":2:29: upstreams.a.base_url: chat/completions is called behind base_url"},
		"one mistake":     {"routers: 1\n" + routes, "", "", file + ":1:1: unknown key"},
		"three mistakes":  {"routers: 1\nstore: x://y\nroutes: [{model: m}]\n", "", "", file + " has 3 mistakes\n" + file + ":1:1: unknown key \"routers\"; did you mean \"routes\"?\n" + file + ":2:8: store: expected postgres"},
		"a warning":       {"routes: [{model: '*', targets: [{upstream: sandbox, weight: 0}]}]\n", "", "warning: " + file + ":1:61: routes[0].targets[0].weight: 0 is taken for 1; leave the target out to send it nothing\n" + file + " is good\n", ""},
		"strictly":        {"routes: [{model: '*', targets: [{upstream: sandbox, weight: 0}]}]\n", "--strict", "warning: ", "there are warnings"},
		"good, strictly":  {routes, "--strict", file + " is good\n", ""},
		"no environment":  {placeholders, "", "", "has 5 mistakes"},
		"none is needed":  {placeholders, "--no-env", file + " is good\n", ""},
		"nor hides it":    {placeholders + "x: 1\n", "--no-env", "", ":7:1: unknown key \"x\""},
		"prices":          {"prices: bad.yaml\n" + routes, "", "", filepath.Join(dir, "bad.yaml") + ":1:10: prices[0]: output is missing"},
		"prices, no env":  {"prices: bad.yaml\n" + routes, "--no-env", "", filepath.Join(dir, "bad.yaml") + ":1:10: "},
		"prices are near": {"prices: good.yaml\n" + routes, "", file + " is good\n", ""},
		"prices are not":  {"prices: none.yaml\n" + routes, "", "", filepath.Join(dir, "none.yaml")},
	} {
		write(t, file, c.text)
		write(t, filepath.Join(dir, "bad.yaml"), "prices: [{model: m, input: 1}]\n")
		write(t, filepath.Join(dir, "good.yaml"), "prices: [{model: m, input: 1, output: 1}]\n")
		command, err := program().Parse(append([]string{"config", "check", file}, strings.Fields(c.flags)...))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = command.Run(t.Context(), &out)
		if !strings.HasPrefix(out.String(), c.prints) || (c.prints == "") != (out.Len() == 0) || (c.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %q, %v; want %q, %s", name, out.String(), err, c.prints, c.fails)
		}
	}
}

// Each example of a provider is good, and has no warning.
func TestCheckExamplesOfProviders(t *testing.T) {
	for _, p := range provider.All {
		file := filepath.Join("..", "..", "docs", "examples", "providers", p.Name+".yaml")
		command, err := program().Parse([]string{"config", "check", "--no-env", "--strict", file})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := command.Run(t.Context(), &out); err != nil || !strings.HasPrefix(out.String(), file+" is good\n") {
			t.Errorf("%s: %v\n%s", p.Name, err, out.String())
		}
	}
}

// A budget is refused where the configuration has no prices, with the command that imports some, and
// warned of where there is no configuration to look at.
func TestBudgetNeedsPrices(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		return path
	}
	const routes = "routes: [{model: '*', targets: [{upstream: sandbox}]}]\n"
	budget := keys.Settings{Policy: keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1, Period: limit.Day}}}}}
	for name, c := range map[string]struct {
		config, server string
		settings       keys.Settings
		says           string
	}{
		"no configuration": {"", "", budget, "without --config it is not known"},
		"no prices":        {file("none.yaml", "store: \"${NOT_SET}\"\n"+routes), "", budget, "none.yaml has no prices"},
		"prices":           {file("some.yaml", "prices: p.yaml\n"+routes), "", budget, ""},
		"uncounted":        {file("allow.yaml", "limits: {unpriced: allow}\n"+routes), "", budget, ""},
		"another server":   {"", "core:9090", budget, ""},
		"no budget":        {"", "", keys.Settings{}, ""},
		"a bad one":        {file("bad.yaml", "x: 1\n"), "", budget, ""},
	} {
		var out strings.Builder
		if err := checkBudget(&out, coreproc.Data{Config: c.config}, c.server, c.settings); err != nil {
			if name != "no prices" || !strings.Contains(err.Error(), "genway prices import") {
				t.Errorf("%s: %v", name, err)
			}
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), c.says) || (c.says == "") != (out.Len() == 0) {
			t.Errorf("%s: %q, want %q", name, out.String(), c.says)
		}
	}
	none := filepath.Join(dir, "none.yaml")
	key := must(t, dir, "keys", "create", "--group=chat", "--name=rich")
	for _, args := range [][]string{{"create", "--group=chat", "--name=poor", "--budget-day=1"}, {"update", "rich", "--owner=ada", "--budget-month=1"}} {
		// The command line names the directory of the data as well, in which the store is.
		out, err := genway(t, dir, append([]string{"keys"}, append(args, "--config", none, "--store", filepath.Join(dir, "genway.db"))...)...)
		if err == nil || out != "" || !strings.Contains(err.Error(), "none.yaml has no prices") {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
	if list := must(t, dir, "keys", "list"); strings.Contains(list, "poor") || strings.Contains(list, "ada") || len(key) == 0 {
		t.Errorf("it changed %s", list)
	}
	must(t, dir, "keys", "update", "rich", "--budget-day=none", "--config", filepath.Join(dir, "some.yaml"), "--store", filepath.Join(dir, "genway.db"))
}

// Another gateway's configuration becomes one that is good; what becomes of each setting is apart from it.
func TestImportConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "litellm.yaml")
	write(t, file, "model_list:\n  - model_name: gpt\n    litellm_params: {model: openai/gpt-5.2, api_key: os.environ/OPENAI_API_KEY}\n")
	run := func(args ...string) (string, error) {
		command, err := program().Parse(append([]string{"import", "litellm"}, args...))
		if err != nil {
			return "", err
		}
		var out strings.Builder
		err = command.Run(t.Context(), &out)
		return out.String(), err
	}
	made, err := run(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "genway.yaml"), made)
	command, err := program().Parse([]string{"config", "check", "--no-env", "--strict", filepath.Join(dir, "genway.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Run(t.Context(), io.Discard); err != nil {
		t.Errorf("%v\n%s", err, made)
	}
	if said, err := run(file, "--dry-run"); err != nil || !strings.HasPrefix(said, file+":2:5: exact: model_list[0].model_name: ") || strings.Contains(said, "upstreams:") {
		t.Errorf("%v\n%s", err, said)
	}
	write(t, file, "model_list:\n  - model_name: e\n    litellm_params: {model: nobody/e}\n")
	if made, err := run(file); err == nil || made != "" {
		t.Errorf("%v\n%s", err, made)
	}
	write(t, file, `{"providers": {"openai": {"keys": [{"value": "env.X", "models": ["m"]}]}}}`)
	if command, err = program().Parse([]string{"import", "bifrost", file}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := command.Run(t.Context(), &out); err != nil || !strings.Contains(out.String(), "model: openai/m\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	write(t, file, "routes: []\n")
	if _, err := run(file, "--dry-run"); err == nil || !strings.Contains(err.Error(), "not a configuration of LiteLLM") {
		t.Error(err)
	}
}
