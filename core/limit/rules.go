package limit

import "github.com/genway/genway/core/glob"

// Rules are the limits that an operator has set for many at once.
type Rules struct {
	// Keys bound each key by itself, where the key's own limits leave something open.
	Keys Limits
	// Owners bound all keys of an owner together, each owner by itself. The first rule
	// that matches counts.
	Owners []Rule
	// Models bound all requests for the models that a rule matches together. The first
	// that matches counts.
	Models []Rule
	// OutputTokens are reserved of the tokens a minute for a request that sets no maximum of its own. A budget that has not
	// as many left refuses it.
	OutputTokens int64
	// AllowUnpriced admits requests of budgeted keys and owners for models without a
	// price. They count for nothing then.
	AllowUnpriced bool
}

// Rule is limits for names.
type Rule struct {
	// Pattern is a name or a glob: * is any run of characters.
	Pattern string
	Limits
}

// rules are Rules, ready for use.
type rules struct {
	Rules

	keys           Bounds
	owners, models matched
}

// matched are rules, and which of them a name is under.
type matched struct {
	rules []rule
	index *glob.Index
}

type rule struct {
	pattern string
	bounds  Bounds
}

func (r Rules) compile() *rules {
	return &rules{Rules: r, keys: r.Keys.bounds(), owners: compile(r.Owners), models: compile(r.Models)}
}

func compile(list []Rule) matched {
	var m matched
	patterns := make([]string, len(list))
	for i, r := range list {
		m.rules, patterns[i] = append(m.rules, rule{r.Pattern, r.bounds()}), r.Pattern
	}
	m.index = glob.NewIndex(patterns)
	return m
}

// of returns the first rule that a name is under; nil for none.
func (m *matched) of(name string) *rule {
	if i := m.index.First(name, nil); i >= 0 {
		return &m.rules[i]
	}
	return nil
}

// Who is whom a request is counted against.
type Who struct {
	// KeyID is the key's identifier, Owner its owner; empty for none.
	KeyID, Owner string
	// Model is the model asked for; empty for requests that name none.
	Model string
	// Limits are the key's own.
	Limits Limits
}

// subjects fills in the subjects whose limits a request is held to. Keys and owners are there
// without limits too, so that what they spend is known when they are given a budget.
func (r *rules) subjects(claim *Claim, who Who) {
	list := claim.subjects[:0]
	if who.KeyID != "" {
		list = append(list, Subject{Key, who.KeyID, who.Limits.bounds().or(r.keys)})
	}
	if who.Owner != "" {
		s := Subject{Scope: Owner, ID: who.Owner}
		if found := r.owners.of(who.Owner); found != nil {
			s.Bounds = found.bounds
		}
		list = append(list, s)
	}
	if found := r.models.of(who.Model); found != nil && who.Model != "" {
		list = append(list, Subject{Model, found.pattern, found.bounds})
	}
	claim.Subjects = list
}
