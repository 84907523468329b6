package foreign_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/config/foreign"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the goldens")

var sources = map[string]func(file string, text []byte) (*foreign.Result, error){"litellm": foreign.LiteLLM, "bifrost": foreign.Bifrost}

// Each golden is a configuration of another gateway, what becomes of it, and what is said of each path. The name of a
// file begins with the gateway's. What is made has no mistake and no warning but for credentials.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			gateway, _, _ := strings.Cut(filepath.Base(file), "_")
			source := archive.Files[0]
			made, err := sources[gateway](source.Name, source.Data)
			if err != nil {
				t.Fatal(err)
			}
			got := []txtar.File{source, {Name: "genway.yaml", Data: made.Config}, {Name: "findings", Data: []byte(said(made.Findings))}}
			if made.Config != nil {
				if _, err := config.Parse("genway.yaml", made.Config, func(string) (string, bool) { return "x", true }); err != nil {
					t.Error(err)
				}
			}
			if *update {
				archive.Files = got
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: got}))); diff != "" {
				t.Errorf("-golden +got:\n%s", diff)
			}
		})
	}
}

func said(findings []foreign.Finding) string {
	var text strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&text, "%d:%d: %s: %s: %s\n", f.Line, f.Column, f.Class, f.Path, f.Text)
	}
	return text.String()
}

// What is no configuration of the gateway's is refused, with its place where there is one; and no value, however odd,
// ends in anything but a result or an error.
func TestStrangers(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "it is empty",
		"a: [":                                   "f:1:",
		"a: 1\na: 2":                             "f:2:",
		"upstreams: {}":                          "no model_list",
		"[]":                                     "no model_list",
		"model_list: *x":                         "no anchor",
		"model_list: &x [*x]":                    "no anchor",
		"a: &a {b: &b [*a, *b]}\nmodel_list: *a": "no anchor",
		"model_list: \xff1":                      "UTF-8",
	} {
		if _, err := foreign.LiteLLM("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	const one = "model_list: [{model_name: m, litellm_params: {model: openai/m, "
	for _, text := range []string{
		"model_list:", "model_list: 7", "model_list: {a: b}", "model_list: [1, [2], {}, null]", "model_list: [{model_name: [m], litellm_params: {model: {}}}]",
		"model_list: [{model_name: m, litellm_params: {model: /}}]", "model_list: [{model_name: m, litellm_params: {model: m}}]",
		"model_list: [{model_name: '*', litellm_params: {model: '*'}}]", "model_list: [{model_name: openai/*, litellm_params: {model: openai/*}}]",
		"model_list: [{model_name: m, litellm_params: {model: bedrock/meta.llama}}]", "model_list: [{model_name: m, litellm_params: {model: nobody/m}}]",
		"model_list: [{model_name: m, model_info: {mode: embedding}, litellm_params: {model: openai/m}}]",
	} {
		made, err := foreign.LiteLLM("f", []byte(text))
		if err != nil || made.Config != nil || len(made.Findings) == 0 {
			t.Errorf("%q: %v, %+v", text, err, made)
		}
	}
	for _, text := range []string{
		one + "weight: -1}}]", one + "weight: NaN}}]", one + "weight: 9007199254740993}}]", one + "timeout: 0}}]", one + "timeout: 1e300}}]", one + "timeout: x}}]",
		one + "max_retries: -1}}]", one + "max_retries: 9223372036854775807}}]", one + "order: .inf}}]", one + "max_parallel_requests: 0}}]",
		one + "}}]\nrouter_settings: {fallbacks: [{m: [m, x]}, {x: [m]}, 7], model_group_alias: {m: m, a: x, b: {model: m, hidden: true}}, num_retries: [], allowed_fails: -1}",
		one + "}}]\nrouter_settings: 7\nlitellm_settings: []\ngeneral_settings:",
	} {
		made, err := foreign.LiteLLM("f", []byte(text))
		if err != nil || made.Config == nil {
			t.Errorf("%q: %v, %+v", text, err, made)
		}
	}
}

// An alias stands for the last anchor of its name before it, so a value that has its name from within is finite.
func TestAnchorsOfOneName(t *testing.T) {
	for _, text := range []string{
		"a: &x 1\nb: &x [*x]\nmodel_list: *x", "a: &x {k: 1}\nb: &x {<<: *x}\nmodel_list: [*x]",
		"a: &x 1\nb: &y [*x]\nc: &x [*y]\nd: &y [*x, *y]\nmodel_list: [*x, *y]",
	} {
		made, err := foreign.LiteLLM("f", []byte(text))
		if err != nil || made.Config != nil || len(made.Findings) == 0 {
			t.Errorf("%q: %v, %+v", text, err, made)
		}
	}
	for _, text := range []string{
		"a: &m openai/first\nb: &p {model: *m}\nc: &m openai/second\nmodel_list: [{model_name: m, litellm_params: *p}]",
		"a: &x [&m openai/second]\nb: &m openai/first\nc: *x\nmodel_list: [{model_name: m, litellm_params: {model: *m}}]",
	} {
		made, err := foreign.LiteLLM("f", []byte(text))
		if err != nil || !strings.Contains(string(made.Config), "first") || strings.Contains(string(made.Config), "second") {
			t.Errorf("%q: %v, %s", text, err, made.Config)
		}
	}
}

func TestStrangersOfBifrost(t *testing.T) {
	for text, want := range map[string]string{"": "it is empty", "{": "f:1:", "{}": "no providers", "[]": "no providers", `{"providers": null}`: "no providers"} {
		if _, err := foreign.Bifrost("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, served := range map[string]bool{
		`{"providers": {}}`: false, `{"providers": {"openai": null, "x": 7, "groq": [], "azure": {"keys": [null, 1, {}]}}}`: false,
		`{"providers": {"openai": {"keys": [{"models": [null, {}, "", "m"], "weight": -1}]}}}`:                                         true,
		`{"providers": {"openai": {"keys": [{"models": ["m"], "weight": 9007199254740993}], "network_config": {"max_retries": "x"}}}}`: true,
		`{"providers": {"openai": {"keys": [{"models": ["m", "m"]}, {"models": ["m"]}]}}}`:                                             true,
		`{"providers": {"bedrock": {"keys": [{"models": ["llama"], "bedrock_key_config": {"region": "us-east-1"}}]}}}`:                 false,
		`{"providers": {"vertex": {"keys": [{"models": ["claude-x"], "vertex_key_config": {"region": "r", "project_id": "p"}}]}}}`:     false,
	} {
		made, err := foreign.Bifrost("f", []byte(text))
		if err != nil || (made.Config != nil) != served || text != `{"providers": {}}` && len(made.Findings) == 0 {
			t.Errorf("%s: %v, %+v", text, err, made)
		}
	}
}

// No secret of a source is in what is made of it, nor in a finding.
func TestNoSecretIsCopied(t *testing.T) {
	const text = `model_list:
  - {model_name: a, litellm_params: {model: openai/a, api_key: sk-canary}}
  - {model_name: b, litellm_params: {model: azure/b, api_base: https://x.openai.azure.com, api_version: "2024-10-21", api_key: "canary$1"}}
  - {model_name: c, litellm_params: {model: bedrock/anthropic.c, aws_region_name: us-east-1, aws_access_key_id: canary, aws_secret_access_key: canary}}
  - {model_name: d, litellm_params: {model: vertex_ai/d, vertex_project: p, vertex_location: global, vertex_credentials: '{"private_key": "canary"}'}}
  - {model_name: e, litellm_params: {model: openai/e, api_base: https://host/v1, api_key: canary}}
general_settings: {master_key: canary, database_url: "postgresql://u:canary@h/d"}
environment_variables: {OPENAI_API_KEY: canary}
`
	made, err := foreign.LiteLLM("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if all := string(made.Config) + said(made.Findings); strings.Contains(all, "canary") || strings.Count(all, "${") < 5 {
		t.Errorf("got %s", all)
	}
}

// A source that is cut at any byte ends in an error, or in a configuration without a mistake.
func TestCutSources(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		gateway, _, _ := strings.Cut(filepath.Base(file), "_")
		text := archive.Files[0].Data
		for n := range text {
			made, err := sources[gateway]("f", text[:n])
			if err != nil || made.Config == nil {
				continue
			}
			if _, err := config.ParseAlone("made", made.Config); err != nil {
				t.Errorf("%s, cut at %d: %v\n%s", file, n, err, made.Config)
			}
		}
	}
}

// What is made of any text has no mistake.
func Fuzz(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for gateway, by := range sources {
			made, err := by("f", text)
			if err != nil || made.Config == nil {
				continue
			}
			if _, err := config.ParseAlone("made", made.Config); err != nil {
				t.Errorf("%s: %v\n%s", gateway, err, made.Config)
			}
		}
	})
}
