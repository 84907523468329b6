package config

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Overrides change the parameters of requests on their way to a target. They apply in
// the order of the fields; what a caller asked for and does not get is reported as lost.
type Overrides struct {
	// Drop leaves parameters out: names as in Parameters, and those of Droppable.
	Drop []string `yaml:"drop,omitempty" jsonschema_description:"Parameters to leave out of requests, by name; the X-Genway-Lost header names them."`
	// Set gives them a value, whatever the caller says.
	Set *Parameters `yaml:"set,omitempty" jsonschema_description:"Parameters that have this value, whatever the caller says."`
	// Default gives one to those the caller says nothing of.
	Default *Parameters `yaml:"default,omitempty" jsonschema_description:"Parameters that have this value where the caller says nothing."`
	// Bound keeps those that are given within a range.
	Bound *Bounds `yaml:"bound,omitempty" jsonschema_description:"Most, or least and most, of parameters that are given."`
}

// Parameters are those of text and image requests, by the names of the contract's
// fields. An absent one says nothing.
type Parameters struct {
	Temperature       *float64 `yaml:"temperature,omitempty" jsonschema:"minimum=0,maximum=2"`
	TopP              *float64 `yaml:"top_p,omitempty" jsonschema:"minimum=0,maximum=1"`
	TopK              *int64   `yaml:"top_k,omitempty" jsonschema:"minimum=0"`
	Seed              *int64   `yaml:"seed,omitempty"`
	FrequencyPenalty  *float64 `yaml:"frequency_penalty,omitempty" jsonschema:"minimum=-2,maximum=2"`
	PresencePenalty   *float64 `yaml:"presence_penalty,omitempty" jsonschema:"minimum=-2,maximum=2"`
	CandidateCount    *int64   `yaml:"candidate_count,omitempty" jsonschema:"minimum=1"`
	MaxOutputTokens   *int64   `yaml:"max_output_tokens,omitempty" jsonschema:"minimum=1"`
	StopSequences     []string `yaml:"stop_sequences,omitempty"`
	Effort            *string  `yaml:"effort,omitempty" jsonschema_description:"How much to think: none, minimal, low, medium, high, ..."`
	BudgetTokens      *int64   `yaml:"budget_tokens,omitempty" jsonschema:"minimum=-1" jsonschema_description:"Tokens to think with; 0 is none, -1 lets the model decide."`
	Verbosity         *string  `yaml:"verbosity,omitempty"`
	ServiceTier       *string  `yaml:"service_tier,omitempty"`
	Store             *bool    `yaml:"store,omitempty" jsonschema_description:"Whether the upstream keeps the answer."`
	PromptCacheKey    *string  `yaml:"prompt_cache_key,omitempty"`
	SafetyIdentifier  *string  `yaml:"safety_identifier,omitempty"`
	User              *string  `yaml:"user,omitempty"`
	Size              *string  `yaml:"size,omitempty" jsonschema_description:"Of images: 1024x1024."`
	Count             *int64   `yaml:"count,omitempty" jsonschema:"minimum=1" jsonschema_description:"Of images."`
	Quality           *string  `yaml:"quality,omitempty"`
	OutputFormat      *string  `yaml:"output_format,omitempty" jsonschema_description:"Of images: png, jpeg, webp."`
	Background        *string  `yaml:"background,omitempty"`
	OutputCompression *int64   `yaml:"output_compression,omitempty" jsonschema:"minimum=0,maximum=100"`
	Moderation        *string  `yaml:"moderation,omitempty"`
	Style             *string  `yaml:"style,omitempty"`
	ResponseFormat    *string  `yaml:"response_format,omitempty" jsonschema_description:"Of images: b64_json or url."`
}

// Bounds are ranges for those of Parameters that are numbers.
type Bounds struct {
	Temperature       *Bound `yaml:"temperature,omitempty"`
	TopP              *Bound `yaml:"top_p,omitempty"`
	TopK              *Bound `yaml:"top_k,omitempty"`
	FrequencyPenalty  *Bound `yaml:"frequency_penalty,omitempty"`
	PresencePenalty   *Bound `yaml:"presence_penalty,omitempty"`
	CandidateCount    *Bound `yaml:"candidate_count,omitempty"`
	MaxOutputTokens   *Bound `yaml:"max_output_tokens,omitempty"`
	BudgetTokens      *Bound `yaml:"budget_tokens,omitempty"`
	Count             *Bound `yaml:"count,omitempty"`
	OutputCompression *Bound `yaml:"output_compression,omitempty"`
}

// Droppable are the parameters that can be left out and not be set.
var Droppable = []string{"thinking", "metadata", "cache_control", "logprobs", "top_logprobs", "modalities", "include_thoughts"}

// Bound is a range; a plain number is a maximum. Nil is no bound on that side.
type Bound struct {
	Min *float64 `yaml:"min,omitempty"`
	Max *float64 `yaml:"max,omitempty"`
}

// UnmarshalYAML reads a number or {min: N, max: N}.
func (b *Bound) UnmarshalYAML(node ast.Node) error {
	switch n := node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		b.Max = new(float64)
		return yaml.NodeToValue(n, b.Max)
	case *ast.MappingNode, *ast.MappingValueNode:
		type plain Bound
		return yaml.NodeToValue(n, (*plain)(b), yaml.Strict())
	}
	return &yaml.SyntaxError{Token: node.GetToken(), Message: "expected a number, the most, or {min: N, max: N}"}
}

// Values gives the parameters that are given, by name: float64, int64, bool, string or
// []string.
func (p *Parameters) Values() map[string]any {
	values := map[string]any{}
	eachGiven(p, func(name string, v reflect.Value, _ reflect.StructField) {
		values[name] = reflect.Indirect(v).Interface()
	})
	return values
}

// Values gives the ranges that are given, by name.
func (b *Bounds) Values() map[string]Bound {
	values := map[string]Bound{}
	eachGiven(b, func(name string, v reflect.Value, _ reflect.StructField) {
		values[name] = *v.Interface().(*Bound) //nolint:forcetypeassert // all fields are
	})
	return values
}

// eachGiven calls do for each field of a struct that is given; s may be nil.
func eachGiven(s any, do func(name string, v reflect.Value, field reflect.StructField)) {
	v := reflect.ValueOf(s)
	if v.IsNil() {
		return
	}
	for field, value := range v.Elem().Fields() {
		if !value.IsNil() {
			do(yamlName(field), value, field)
		}
	}
}

func yamlName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return name
}
