package catalog

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

// Import is what was read of another catalogue.
type Import struct {
	Rows []Row
	// Skipped are the models that were not taken, by the reason.
	Skipped map[string][]string
}

func (i *Import) skip(name, reason string) {
	if i.Skipped == nil {
		i.Skipped = map[string][]string{}
	}
	i.Skipped[reason] = append(i.Skipped[reason], name)
}

// take adds a row, unless it cannot be one or is there already.
func (i *Import) take(name string, row Row) {
	row.Model = strings.ToLower(row.Model)
	switch {
	case strings.Contains(row.Model, "*"):
		i.skip(name, "a pattern")
	case row.validate("row") != nil:
		i.skip(name, "figures or words that cannot be")
	case slices.ContainsFunc(i.Rows, func(r Row) bool { return r.Model == row.Model }):
		i.skip(name, "the name is taken already")
	default:
		i.Rows = append(i.Rows, row)
	}
}

// ModelsDev reads models.dev's api.json: an object of providers, each with models. Only those
// of the providers are taken, all of them if there are none; of two models of one name the
// first.
func ModelsDev(text []byte, providers []string) (*Import, error) {
	var vendors map[string]struct {
		Models map[string]struct {
			Limit struct {
				Context, Output float64
			} `json:"limit"`
			Modalities struct {
				Input, Output []string
			} `json:"modalities"`
			ToolCall         *bool `json:"tool_call"`
			StructuredOutput *bool `json:"structured_output"`
			Temperature      *bool `json:"temperature"`
			Reasoning        *bool `json:"reasoning"`
		} `json:"models"`
	}
	if err := json.Unmarshal(text, &vendors, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, fmt.Errorf("it is no api.json of models.dev: %w", err)
	}
	out := &Import{}
	for _, vendor := range chosen(maps.Keys(vendors), providers) {
		for _, id := range slices.Sorted(maps.Keys(vendors[vendor].Models)) {
			m := vendors[vendor].Models[id]
			row := Row{Model: id, Source: "models.dev, " + vendor, Tools: m.ToolCall, StructuredOutput: m.StructuredOutput}
			row.Context, row.MaxOutput = tokens(m.Limit.Context), tokens(m.Limit.Output)
			row.Input, row.Output = modalitiesOf(m.Modalities.Input), modalitiesOf(m.Modalities.Output)
			if m.Temperature != nil && !*m.Temperature {
				row.Refuses = &[]string{"temperature"}
			}
			if m.Reasoning != nil && !*m.Reasoning {
				row.Thinking = &[]string{}
			}
			out.take(vendor+"/"+id, row)
		}
	}
	return out, nil
}

// LiteLLM reads model_prices_and_context_window.json: an object of models. What it does not
// say of a model is not known: it has most of its members only where they are true. A model's
// name loses its provider's prefix. Only those of the providers are taken, all of them if
// there are none.
func LiteLLM(text []byte, providers []string) (*Import, error) {
	var models map[string]map[string]any
	if err := json.Unmarshal(text, &models); err != nil {
		return nil, fmt.Errorf("it is no model_prices_and_context_window.json: %w", err)
	}
	out := &Import{}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		m := models[name]
		provider, _ := m["litellm_provider"].(string)
		mode, _ := m["mode"].(string)
		switch {
		case name == "sample_spec", len(providers) > 0 && !slices.Contains(providers, provider):
			continue
		case !slices.Contains([]string{"", "chat", "completion", "responses"}, mode):
			out.skip(name, "mode "+mode)
			continue
		}
		row := Row{Model: strings.TrimPrefix(name, provider+"/"), Source: "LiteLLM, " + provider}
		row.Context, row.MaxOutput = number(m["max_input_tokens"]), number(m["max_output_tokens"])
		row.Tools, row.StructuredOutput = flag(m["supports_function_calling"]), flag(m["supports_response_schema"])
		row.Input, row.Output = modalitiesOf(words(m["supported_modalities"])), modalitiesOf(words(m["supported_output_modalities"]))
		if thinks := flag(m["supports_reasoning"]); thinks != nil && !*thinks {
			row.Thinking = &[]string{}
		}
		out.take(name, row)
	}
	return out, nil
}

// chosen returns the names that are wanted: in the order in which they were asked for, so that
// the first of two models of one name is the one that is meant.
func chosen(names func(func(string) bool), wanted []string) []string {
	if len(wanted) == 0 {
		return slices.Sorted(names)
	}
	return wanted
}

// maxTokens is more than any model takes: a larger number is no number of tokens.
const maxTokens = 1 << 40

func tokens(n float64) *int64 {
	if !(n >= 1 && n <= maxTokens) {
		return nil // 0 is unknown
	}
	return new(int64(n))
}

func number(v any) *int64 {
	n, _ := v.(float64)
	return tokens(n)
}

func flag(v any) *bool {
	if b, ok := v.(bool); ok {
		return &b
	}
	return nil
}

func words(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if word, ok := item.(string); ok {
			out = append(out, word)
		}
	}
	return out
}

// modalitiesOf returns the words that are ours; both catalogues have pdf for documents.
func modalitiesOf(words []string) []string {
	var out []string
	for _, word := range words {
		if word == "pdf" {
			word = "document"
		}
		if slices.Contains(Modalities(), word) && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// Write writes a file, a line for each row.
func Write(w io.Writer, rows []Row) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString("models:\n"); err != nil {
		return err
	}
	for _, row := range rows {
		line, err := yaml.MarshalWithOptions(row, yaml.Flow(true))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "  - %s\n", strings.TrimSpace(string(line))); err != nil {
			return err
		}
	}
	return out.Flush()
}
