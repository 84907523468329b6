package foreign

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/genway/genway/core/price"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// vendor is a provider of models.dev's api.json, as far as it is about prices.
type vendor struct {
	Models map[string]struct {
		Cost         members `json:"cost"`
		Experimental struct {
			Modes map[string]struct {
				Cost members `json:"cost"`
			} `json:"modes"`
		} `json:"experimental"`
	} `json:"models"`
}

type members = map[string]jsontext.Value

// ModelsDev reads models.dev's api.json: an object of providers, each with models, each
// with its cost in dollars per million tokens. Without Options.Providers each row is for
// the upstream that is named like its provider.
//
// A tier is {"tier": {"type": "context", "size": 272000}, …}; context_over_200k is the
// older spelling of one and counts only where there are no tiers.
func ModelsDev(text []byte, options Options) ([]price.Row, *Report, error) {
	var vendors map[string]vendor
	if err := json.Unmarshal(text, &vendors); err != nil {
		return nil, nil, fmt.Errorf("it is no api.json of models.dev: %w", err)
	}
	report := &Report{}
	var sources []*source
	for _, name := range slices.Sorted(maps.Keys(vendors)) {
		upstream, ok := options.chosen(name)
		if !ok {
			continue
		}
		if len(options.Providers) == 0 {
			upstream = name
		}
		for _, id := range slices.Sorted(maps.Keys(vendors[name].Models)) {
			model := vendors[name].Models[id]
			s := &source{name: name + "/" + id, report: report, row: price.Row{Model: id, Upstream: upstream, From: options.From}}
			for mode, m := range model.Experimental.Modes {
				if len(m.Cost) > 0 { // in any order: the report sorts
					report.leavef(s.name, "experimental.modes.%s.cost", mode)
				}
			}
			if len(model.Cost) == 0 {
				report.skipf(s.name, "no cost")
				continue
			}
			s.modelsDev(model.Cost)
			sources = append(sources, s)
		}
	}
	rows, err := finish(sources, report)
	return rows, report, err
}

const over200k = 200_000

func (s *source) modelsDev(cost members) {
	s.modelsDevClasses(&s.row.Classes, "cost.", cost)
	var tiers []members
	if value, ok := cost["tiers"]; ok {
		if err := json.Unmarshal(value, &tiers); err != nil {
			s.report.leavef(s.name, "cost.tiers is no list of tiers")
		}
	}
	for i, t := range tiers {
		var tier struct {
			Type string `json:"type"`
			Size int64  `json:"size"`
		}
		at := "cost.tiers[" + strconv.Itoa(i) + "]."
		if err := json.Unmarshal(t["tier"], &tier); err != nil || tier.Type != "context" || tier.Size <= 0 {
			s.report.leavef(s.name, "%stier is no size of a context", at)
			continue
		}
		delete(t, "tier")
		s.modelsDevClasses(&s.tier(tier.Size).Classes, at, t)
	}
	var over members
	if value, ok := cost["context_over_200k"]; ok && len(tiers) == 0 {
		if err := json.Unmarshal(value, &over); err != nil {
			s.report.leavef(s.name, "cost.context_over_200k is no cost")
			return
		}
		s.modelsDevClasses(&s.tier(over200k).Classes, "cost.context_over_200k.", over)
	}
}

func (s *source) modelsDevClasses(to *price.Classes, at string, cost members) {
	for _, member := range slices.Sorted(maps.Keys(cost)) {
		class := map[string]**price.Dollars{
			"input": &to.Input, "output": &to.Output, "reasoning": &to.Thinking, "cache_read": &to.CacheRead,
			"cache_write": &to.CacheWrite, "input_audio": &to.InputAudio, "output_audio": &to.OutputAudio,
		}[member]
		switch {
		case class != nil:
			*class = s.dollars(at+member, cost[member], 0)
		case member != "tiers" && member != "context_over_200k" && !zero(cost[member]):
			s.report.leavef(s.name, "%s%s", at, member)
		}
	}
}

// zero reports whether a member says that nothing is to be paid.
func zero(value jsontext.Value) bool {
	d, _, err := price.Scale(string(value), 0)
	return value.Kind() == 'n' || err == nil && d == 0
}
