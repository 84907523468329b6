package foreign

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/core/price"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// LiteLLM reads model_prices_and_context_window.json: an object of models, each with what
// a token costs, by its class. With Options.Providers a model's name loses its provider's
// prefix: azure/gpt-x is gpt-x.
//
// Models that neither generate text nor images are not taken, nor are prices of batches
// and of service tiers, which the ledger does not distinguish. Sizes and qualities of
// images are parts of names, hd/1024-x-1024/dall-e-3; they become the images of dall-e-3,
// unless its tokens have prices.
func LiteLLM(text []byte, options Options) ([]price.Row, *Report, error) {
	var models map[string]members
	if err := json.Unmarshal(text, &models); err != nil {
		return nil, nil, fmt.Errorf("it is no model_prices_and_context_window.json: %w", err)
	}
	report := &Report{}
	byModel := map[string]*source{}
	var variants []*source
	for _, name := range slices.Sorted(maps.Keys(models)) {
		entry := models[name]
		provider := word(entry["litellm_provider"])
		upstream, ok := options.chosen(provider)
		if !ok || slices.Contains([]string{"sample_spec", "fallback_generalizations"}, name) {
			continue
		}
		model := name
		if len(options.Providers) > 0 {
			model = strings.TrimPrefix(name, provider+"/")
		}
		s := &source{name: name, report: report, row: price.Row{Model: model, Upstream: upstream, From: options.From}}
		if mode := word(entry["mode"]); !slices.Contains(generating, mode) {
			report.skipf(name, "mode %s", mode)
			continue
		}
		if s.variant(entry) {
			variants = append(variants, s)
			continue
		}
		s.liteLLM(entry)
		byModel[upstream+"\x00"+model] = s
	}
	for _, v := range variants {
		v.join(byModel)
	}
	rows, err := finish(slices.Collect(maps.Values(byModel)), report)
	return rows, report, err
}

// generating are the modes whose requests the ledger can have.
var generating = []string{"", "chat", "completion", "responses", "image_generation", "image_edit"}

// classesOf are the members that are prices of a token, and the class of each.
func classesOf(to *price.Classes) map[string]**price.Dollars {
	return map[string]**price.Dollars{
		"input_cost_per_token": &to.Input, "output_cost_per_token": &to.Output,
		"cache_read_input_token_cost": &to.CacheRead, "cache_creation_input_token_cost": &to.CacheWrite,
		"cache_creation_input_token_cost_above_1hr": &to.CacheWrite1h, "output_cost_per_reasoning_token": &to.Thinking,
		"input_cost_per_image_token": &to.InputImage, "input_cost_per_audio_token": &to.InputAudio,
		"output_cost_per_image_token": &to.OutputImage, "output_cost_per_audio_token": &to.OutputAudio,
	}
}

// above is how the price of a tier is named.
var above = regexp.MustCompile(`^(.+)_above_(\d{1,6})k_tokens$`)

// perMillion is the shift of a price of one token.
const perMillion = 6

func (s *source) liteLLM(entry members) {
	for _, member := range slices.Sorted(maps.Keys(entry)) {
		value, to, base := entry[member], &s.row.Classes, member
		if m := above.FindStringSubmatch(member); len(m) > 0 && classesOf(to)[m[1]] != nil {
			thousands, _ := strconv.ParseInt(m[2], 10, 64) // of digits
			to, base = &s.tier(1000*thousands).Classes, m[1]
		}
		if class := classesOf(to)[base]; class != nil {
			*class = s.dollars(member, value, perMillion)
			continue
		}
		switch {
		case member == "tiered_pricing":
			s.ranges(value)
		case member == "output_cost_per_image" || silent(member) || zero(value):
		default:
			s.report.leavef(s.name, "%s", member)
		}
	}
	if value, ok := entry["output_cost_per_image"]; ok && !zero(value) {
		if s.tokensDraw() {
			s.report.leavef(s.name, "output_cost_per_image, since tokens are paid")
		} else {
			s.row.Image = s.dollars("output_cost_per_image", value, 0)
		}
	}
}

// tokensDraw reports whether images are paid by their tokens.
func (s *source) tokensDraw() bool {
	paid := func(d *price.Dollars) bool { return d != nil && *d > 0 }
	return paid(s.row.Output) || paid(s.row.OutputImage)
}

// ranges reads tiered_pricing: prices for each range of the input.
func (s *source) ranges(value jsontext.Value) {
	var tiers []members
	if err := json.Unmarshal(value, &tiers); err != nil {
		s.report.leavef(s.name, "tiered_pricing is no list of tiers")
		return
	}
	for i, t := range tiers {
		var within []float64
		at := "tiered_pricing[" + strconv.Itoa(i) + "]."
		if err := json.Unmarshal(t["range"], &within); err != nil || len(within) != 2 || within[0] < 0 || within[0] != float64(int64(within[0])) {
			s.report.leavef(s.name, "%srange is no range of tokens", at)
			continue
		}
		delete(t, "range")
		to := &s.row.Classes
		if within[0] > 0 {
			to = &s.tier(int64(within[0])).Classes
		}
		classes := classesOf(to)
		for _, member := range slices.Sorted(maps.Keys(t)) {
			if class := classes[member]; class != nil {
				*class = s.dollars(at+member, t[member], perMillion)
			} else if !zero(t[member]) {
				s.report.leavef(s.name, "%s%s", at, member)
			}
		}
	}
}

var (
	size      = regexp.MustCompile(`^(\d{1,5})-x-(\d{1,5})$`)
	qualities = []string{"low", "medium", "high", "standard", "hd", "auto"}
)

// variant takes a name of an image's size apart; false if it has none.
func (s *source) variant(entry members) bool {
	steps := strings.Split(s.row.Model, "/")
	i := slices.IndexFunc(steps, size.MatchString)
	if i < 0 || i == len(steps)-1 {
		return false
	}
	m := size.FindStringSubmatch(steps[i])
	image := price.ImageRow{Size: m[1] + "x" + m[2]}
	first := i
	if i > 0 && slices.Contains(qualities, steps[i-1]) {
		first, image.Quality = i-1, steps[i-1]
	}
	s.row.Model = strings.Join(slices.Delete(steps, first, i+1), "/")
	for _, member := range []string{"output_cost_per_image", "input_cost_per_image"} {
		if value, ok := entry[member]; ok && !zero(value) && image.Price == nil {
			image.Price = s.dollars(member, value, 0)
		}
	}
	if value, ok := entry["input_cost_per_pixel"]; ok && image.Price == nil {
		image.Price = s.pixels(value, m[1], m[2])
	}
	s.row.Images = []price.ImageRow{image}
	return true
}

// pixels is the price of an image by that of a pixel.
func (s *source) pixels(value jsontext.Value, width, height string) *price.Dollars {
	const finer = 9 // digits behind the nano-dollar
	each, exact, err := price.Scale(string(value), finer)
	if err != nil {
		s.report.leavef(s.name, "input_cost_per_pixel: %v", err)
		return nil
	}
	w, _ := strconv.ParseInt(width, 10, 64) // of digits
	h, _ := strconv.ParseInt(height, 10, 64)
	total := new(big.Int).Mul(big.NewInt(int64(each)), big.NewInt(w*h))
	rest := new(big.Int)
	total.QuoRem(total, big.NewInt(1e9), rest)
	if !exact || rest.Sign() != 0 {
		s.report.leavef(s.name, "input_cost_per_pixel is rounded to the nano-dollar an image")
	}
	if rest.Cmp(big.NewInt(5e8)) >= 0 {
		total.Add(total, big.NewInt(1))
	}
	return s.dollars("input_cost_per_pixel", jsontext.Value(total.String()), -finer)
}

// join makes the row part of its model's.
func (s *source) join(byModel map[string]*source) {
	key := s.row.Upstream + "\x00" + s.row.Model
	model, ok := byModel[key]
	switch {
	case s.row.Images[0].Price == nil:
		s.report.skipf(s.name, "no price of an image")
	case ok && model.tokensDraw():
		s.report.skipf(s.name, "an image of a model whose tokens are paid")
	case ok:
		model.row.Images = append(model.row.Images, s.row.Images...)
	default:
		byModel[key] = s
	}
}

// silent reports whether a member says nothing of prices.
func silent(member string) bool {
	return slices.Contains([]string{
		"litellm_provider", "mode", "source", "metadata", "comment", "deprecation_date", "rpm", "tpm", "output_vector_size",
		"audio_transcription_config", "bedrock_output_config_effort_ceiling", "default_reasoning_effort", "reasoning_effort_levels",
		"prompt_cache_min_tokens", "provider_specific_entry", "vertex_ai_audio_api", "thinking_always_on", "web_search_billing_unit",
		"tool_use_system_prompt_tokens", "audio_seconds_per_prediction", "bedrock_converse_supports_strict_tools",
		"gemini_audio_only_live", "gemini_native_audio", "use_openai_responses_path", "uses_embed_content",
	}, member) || strings.HasPrefix(member, "supports_") || strings.HasPrefix(member, "supported_") || strings.HasPrefix(member, "max_")
}

// word is a member that is a text.
func word(value jsontext.Value) string {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}
