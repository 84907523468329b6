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
// Models that neither generate text nor images are not taken, nor are prices of batches, which are not
// served. Sizes and qualities of images are parts of names, hd/1024-x-1024/dall-e-3; they become the images
// of dall-e-3, unless its tokens have prices.
//
// input_cost_per_token_priority and its like become a row of the service tier, the factors of
// provider_specific_entry rows of the speed fast and of the inference geography us. A search costs what
// search_context_cost_per_query has for the size medium, or for the only size.
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

// tiered takes the service tier off the name of a price: input_cost_per_token_above_272k_tokens_priority.
func tiered(member string) (base, tier string) {
	if i := strings.LastIndexByte(member, '_'); i >= 0 && slices.Contains(tiers, member[i+1:]) {
		return member[:i], member[i+1:]
	}
	return member, ""
}

// perMillion is the shift of a price of one token.
const perMillion = 6

func (s *source) liteLLM(entry members) {
	for _, member := range slices.Sorted(maps.Keys(entry)) {
		value := entry[member]
		base, tier := tiered(member)
		m := above.FindStringSubmatch(base)
		if len(m) > 0 {
			base = m[1]
		}
		if classesOf(&s.row.Classes)[base] != nil {
			of := s.servedOn(price.Row{ServiceTier: tier})
			to := &of.row.Classes
			if len(m) > 0 {
				thousands, _ := strconv.ParseInt(m[2], 10, 64) // of digits
				to = &of.tier(1000 * thousands).Classes
			}
			*classesOf(to)[base] = of.dollars(member, value, perMillion)
			continue
		}
		switch {
		case member == "tiered_pricing":
			s.ranges(value)
		case member == "search_context_cost_per_query":
			s.search(value, entry)
		case member == "file_search_cost_per_1k_calls":
			s.perCall("file_search", s.dollars(member, value, perThousandth))
		case member == "output_cost_per_image" || member == "provider_specific_entry" || silent(member) || zero(value):
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
	if value, ok := entry["provider_specific_entry"]; ok && !zero(value) {
		s.factors(value)
	}
}

// perThousandth is the shift of a price of a thousand calls.
const perThousandth = -3

// search reads the price of a web search, which catalogues have by the size of what is found. A row has one: the price of medium,
// the vendors' default.
func (s *source) search(value jsontext.Value, entry members) {
	const member, medium = "search_context_cost_per_query", "search_context_size_medium"
	var sizes members
	if err := json.Unmarshal(value, &sizes); err != nil {
		s.report.leavef(s.name, "%s is no object of sizes", member)
		return
	}
	unit, provider := word(entry["web_search_billing_unit"]), word(entry["litellm_provider"])
	if unit == "per_prompt" || unit == "" && slices.Contains(groundedPrompts, provider) {
		s.report.leavef(s.name, "%s is for a prompt, not for a call", member)
		return
	}
	maps.DeleteFunc(sizes, func(size string, each jsontext.Value) bool {
		unknown := !strings.HasPrefix(size, "search_context_size_")
		if unknown {
			s.report.leavef(s.name, "%s.%s", member, size)
		}
		return unknown || each.Kind() == 'n'
	})
	names := slices.Sorted(maps.Keys(sizes))
	size := medium
	if len(names) == 1 {
		size = names[0]
	}
	if _, ok := sizes[size]; !ok {
		if len(names) > 0 {
			s.report.leavef(s.name, "%s, since it has no price for the size medium", member)
		}
		return
	}
	each := s.dollars(member+"."+size, sizes[size], 0)
	s.perCall("web_search", each)
	for _, name := range names {
		if other, _, err := price.Scale(string(sizes[name]), 0); each != nil && (err != nil || other != *each) {
			s.report.leavef(s.name, "%s.%s, since the price is that of the size medium", member, name)
		}
	}
}

// groundedPrompts are the providers whose searches are paid by the prompt where web_search_billing_unit does not say
// otherwise.
var groundedPrompts = []string{"gemini", "vertex_ai-language-models"}

// factors reads provider_specific_entry: what the prices of tokens are multiplied by for a speed and a geography.
// Anthropic multiplies the prices of cached tokens, too, and both factors where both apply.
func (s *source) factors(value jsontext.Value) {
	const member, us = "provider_specific_entry", "us"
	var entry members
	if err := json.Unmarshal(value, &entry); err != nil {
		s.report.leavef(s.name, "%s is no object of factors", member)
		return
	}
	factors := map[string]price.Dollars{}
	for _, name := range slices.Sorted(maps.Keys(entry)) {
		if name != fast && name != us {
			s.report.leavef(s.name, "%s.%s", member, name)
			continue
		}
		factor, exact, err := price.Scale(string(entry[name]), 0)
		switch {
		case entry[name].Kind() == 'n':
		case err != nil || !exact || factor == 0:
			s.report.leavef(s.name, "%s.%s is no factor", member, name)
		default:
			factors[name] = factor
		}
	}
	faster, isFast := factors[fast]
	there, isUS := factors[us]
	if isFast {
		s.multiply(price.Row{Speed: fast}, member, faster)
	}
	if isUS {
		s.multiply(price.Row{InferenceGeo: us}, member, there)
	}
	if isFast && isUS {
		s.multiply(price.Row{Speed: fast, InferenceGeo: us}, member, faster, there)
	}
}

// multiply makes the source of a row's terms, whose tokens cost what they do in s times the factors.
func (s *source) multiply(terms price.Row, member string, factors ...price.Dollars) {
	of := s.servedOn(terms)
	times := func(to, from *price.Classes) {
		theirs := classesOf(from)
		for name, class := range classesOf(to) {
			each := *theirs[name]
			if each == nil {
				continue
			}
			product := big.NewInt(int64(*each))
			for _, f := range factors {
				product.Mul(product, big.NewInt(int64(f)))
			}
			*class = of.dollars(member, jsontext.Value(product.String()), -nano*(1+len(factors)))
		}
	}
	times(&of.row.Classes, &s.row.Classes)
	for _, tier := range s.row.Tiers {
		times(&of.tier(tier.Above).Classes, &tier.Classes)
	}
}

// nano is how many digits of a dollar an amount keeps.
const nano = 9

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

// pixels is the price of an image by the price of a pixel.
func (s *source) pixels(value jsontext.Value, width, height string) *price.Dollars {
	each, exact, err := price.Scale(string(value), nano) // digits after the nano-dollar
	if err != nil {
		s.report.leavef(s.name, "input_cost_per_pixel: %v", err)
		return nil
	}
	w, _ := strconv.ParseInt(width, 10, 64) // of digits
	h, _ := strconv.ParseInt(height, 10, 64)
	if !exact {
		s.report.leavef(s.name, "input_cost_per_pixel is rounded to the nano-dollar")
	}
	total := new(big.Int).Mul(big.NewInt(int64(each)), big.NewInt(w*h))
	return s.dollars("input_cost_per_pixel", jsontext.Value(total.String()), -2*nano)
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
		"prompt_cache_min_tokens", "vertex_ai_audio_api", "thinking_always_on", "web_search_billing_unit",
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
