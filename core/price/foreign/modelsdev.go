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
				Cost     members `json:"cost"`
				Provider struct {
					Body members `json:"body"`
				} `json:"provider"`
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
// older spelling of one and counts only where there are no tiers. A mode that asks for a service tier or a speed,
// {"cost": {…}, "provider": {"body": {"service_tier": "priority"}}}, becomes a row of these.
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
			if len(model.Cost) == 0 {
				report.skipf(s.name, "no cost")
				continue
			}
			s.modelsDev("cost.", model.Cost)
			for _, mode := range slices.Sorted(maps.Keys(model.Experimental.Modes)) {
				m, at := model.Experimental.Modes[mode], "experimental.modes."+mode+".cost"
				if len(m.Cost) == 0 {
					continue
				}
				terms, ok := termsOf(m.Provider.Body)
				if of := s.servedOn(terms); !ok || of == s {
					report.leavef(s.name, "%s, since what it asks for is no service tier or speed", at)
				} else if (of.row.Classes != price.Classes{}) {
					report.leavef(s.name, "%s, since another mode asks for the same", at)
				} else {
					of.modelsDev(at+".", m.Cost)
				}
			}
			sources = append(sources, s)
		}
	}
	rows, err := finish(sources, report)
	return rows, report, err
}

const over200k = 200_000

// termsOf returns how requests with the members of a body are served; false if that is not known.
func termsOf(body members) (terms price.Row, ok bool) {
	terms.ServiceTier, terms.Speed = word(body["service_tier"]), word(body["speed"])
	if terms.ServiceTier == fast {
		terms.ServiceTier = "priority" // OpenAI's other word for it
	}
	known := (body["service_tier"] == nil || slices.Contains(tiers, terms.ServiceTier)) && (body["speed"] == nil || terms.Speed == fast)
	return terms, known
}

func (s *source) modelsDev(path string, cost members) {
	s.modelsDevClasses(&s.row.Classes, path, cost)
	var tiers []members
	if value, ok := cost["tiers"]; ok {
		if err := json.Unmarshal(value, &tiers); err != nil {
			s.report.leavef(s.name, "%stiers is no list of tiers", path)
		}
	}
	for i, t := range tiers {
		var tier struct {
			Type string `json:"type"`
			Size int64  `json:"size"`
		}
		at := path + "tiers[" + strconv.Itoa(i) + "]."
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
			s.report.leavef(s.name, "%scontext_over_200k is no cost", path)
			return
		}
		s.modelsDevClasses(&s.tier(over200k).Classes, path+"context_over_200k.", over)
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
