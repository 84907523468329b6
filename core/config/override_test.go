package config_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
	"github.com/goccy/go-yaml"
)

const overridden = `
upstreams:
  local: {kind: chat, base_url: "http://x"}
  claude: {kind: messages, base_url: "http://x"}
  pictures: {kind: images, base_url: "http://x"}
routes:
  - model: "*"
    targets:
      - upstream: local
        drop: [top_p, metadata]
        set: {temperature: 0, stop_sequences: ["END", "${KEY}"], store: false, effort: low}
        default: {seed: 7}
        bound: {max_output_tokens: 4096, candidate_count: {min: 1, max: 2}}
    fallback: [{upstream: pictures, default: {size: 512x512}}, {upstream: claude}]
`

func TestOverrides(t *testing.T) {
	c, err := config.Parse("f", []byte(overridden), getenv)
	if err != nil {
		t.Fatal(err)
	}
	o := c.Routes[0].Targets[0].Overrides
	if !reflect.DeepEqual(o.Drop, []string{"top_p", "metadata"}) || !reflect.DeepEqual(o.Default.Values(), map[string]any{"seed": int64(7)}) {
		t.Errorf("%+v", o)
	}
	if want := map[string]any{"temperature": 0.0, "stop_sequences": []string{"END", "secret"}, "store": false, "effort": "low"}; !reflect.DeepEqual(o.Set.Values(), want) {
		t.Errorf("%v, want %v", o.Set.Values(), want)
	}
	b := o.Bound.Values()
	if m := b["max_output_tokens"]; *m.Max != 4096 || m.Min != nil {
		t.Errorf("%+v", m)
	}
	if m := b["candidate_count"]; *m.Max != 2 || *m.Min != 1 {
		t.Errorf("%+v", m)
	}
	if got := c.Routes[0].Fallback[0].Default.Values(); !reflect.DeepEqual(got, map[string]any{"size": "512x512"}) {
		t.Errorf("%v", got)
	}
	var none config.Overrides
	if len(none.Set.Values())+len(none.Bound.Values()) != 0 {
		t.Error("none is not none")
	}
}

// What an override gets wrong is reported, with the line and what was meant.
func TestWrongOverrides(t *testing.T) {
	const upstreams = "upstreams:\n  local: {kind: chat, base_url: http://x}\n  claude: {kind: messages, base_url: http://x}\n  pictures: {kind: images, base_url: http://x}\nroutes:\n  - model: m\n    targets:\n      - upstream: "
	for text, says := range map[string]string{
		"local\n        cache: auto":                                               `f.yaml:9:16: routes[0].targets[0].cache: requests to an upstream of kind chat have no prompt-cache breakpoints to add; leave it out`,
		"sandbox\n        cache: auto":                                             `routes[0].targets[0].cache: requests to an upstream of kind sandbox have no`,
		"claude\n        cache: on":                                                `routes[0].targets[0].cache: "on" is no policy; auto is the only one`,
		"local\n        drop: [temprature]":                                        `f.yaml:9:16: routes[0].targets[0].drop[0]: there is no parameter "temprature"; did you mean "temperature"?`,
		"local\n        set: {temprature: 1}":                                      `f.yaml:9:15: unknown key "temprature" in routes[0].targets[0].set; did you mean "temperature"?`,
		"local\n        sett: {temperature: 1}":                                    `f.yaml:9:9: unknown key "sett" in routes[0].targets[0]; did you mean "set"?`,
		"local\n        set: {temperature: hot}":                                   `f.yaml:9:28: routes[0].targets[0].set.temperature: expected a number, as in 0.5, got text`,
		"local\n        set: {temperature: 3}":                                     `f.yaml:9:28: routes[0].targets[0].set.temperature: expected at most 2, got 3`,
		"local\n        set: {temperature: .nan}":                                  `expected at least 0, got NaN`,
		"local\n        set: {seed: 1.5}":                                          `f.yaml:9:21: routes[0].targets[0].set.seed: expected a whole number, got 1.5`,
		"local\n        weight: 1.5":                                               `f.yaml:9:17: routes[0].targets[0].weight: expected a whole number, got 1.5`,
		"local\n        set: {user: \"\"}":                                         `set.user: is empty; drop leaves a parameter out`,
		"local\n        set: {stop_sequences: []}":                                 `set.stop_sequences: is empty`,
		"local\n        set: {top_k: 4}":                                           `f.yaml:9:22: routes[0].targets[0].set.top_k: an upstream of kind chat has no parameter top_k`,
		"claude\n        default: {seed: 4}":                                       `an upstream of kind messages has no parameter seed`,
		"pictures\n        set: {temperature: 1}":                                  `an upstream of kind images has no parameter temperature`,
		"local\n        set: {size: 1x1}":                                          `an upstream of kind chat has no parameter size`,
		"claude\n        bound: {candidate_count: 1}":                              `an upstream of kind messages has no parameter candidate_count`,
		"local\n        set: {seed: 1}\n        default: {seed: 2}":                `f.yaml:10:25: routes[0].targets[0].default.seed: seed is in set already; one of them would do nothing`,
		"local\n        drop: [seed]\n        default: {seed: 2}":                  `seed is in drop already`,
		"local\n        drop: [seed, seed]":                                        `drop[1]: seed is in drop already`,
		"local\n        bound: {temperature: hot}":                                 `f.yaml:9:30: routes[0].targets[0].bound.temperature: expected a number, the most, or {min: N, max: N}`,
		"local\n        bound: {temperature: {}}":                                  `bound.temperature: expected a number, the most, or {min: N, max: N}`,
		"local\n        bound: {temperature: {mn: 1}}":                             `f.yaml:9:31: unknown key "mn" in routes[0].targets[0].bound.temperature; did you mean "min"?`,
		"local\n        bound: {temperature: 3}":                                   `expected at most 2, got 3`,
		"local\n        bound: {max_output_tokens: 0}":                             `expected at least 1, got 0`,
		"local\n        bound: {max_output_tokens: 1.5}":                           `expected a whole number, got 1.5`,
		"local\n        bound: {temperature: {min: 1, max: 0.5}}":                  `min 1 is above max 0.5`,
		"local\n        bound: {user: 5}":                                          `f.yaml:9:17: unknown key "user"`,
		"sandbox\n        set: {temperature: -1}":                                  `set.temperature: expected at least 0, got -1`,
		"local\n    fallback: [{upstream: claude, set: {frequency_penalty: 0.5}}]": `f.yaml:9:60: routes[0].fallback[0].set.frequency_penalty: an upstream of kind messages has no`,
	} {
		_, err := config.Parse("f.yaml", []byte(upstreams+text+"\n"), getenv)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\n%v\nwant %s", text, err, says)
		}
	}
}

// The schema for editors says the same.
func TestOverrideSchema(t *testing.T) {
	schema := compiled(t)
	for target, good := range map[string]bool{
		`{"upstream":"a","drop":["top_p"],"set":{"temperature":0},"default":{"stop_sequences":["x"]},"bound":{"top_p":1,"max_output_tokens":{"min":1,"max":5}}}`: true,
		`{"upstream":"a","set":{"temprature":0}}`:           false,
		`{"upstream":"a","set":{"temperature":3}}`:          false,
		`{"upstream":"a","bound":{"top_p":{"least":1}}}`:    false,
		`{"upstream":"a","bound":{"user":1}}`:               false,
		`{"upstream":"a","bound":{"top_p":"a little bit"}}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(`{"routes":[{"model":"*","targets":[`+target+`]}]}`), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != good {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// What is written out is read again.
func TestOverridesWritten(t *testing.T) {
	c, err := config.Parse("f", []byte(overridden), getenv)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.Parse("f", text, getenv)
	if err != nil || !reflect.DeepEqual(c, again) {
		t.Errorf("%v\n%s", err, text)
	}
}
