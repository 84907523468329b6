package limit

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
	// OutputTokens are reserved for a request that sets no maximum of its own.
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
	owners, models []rule
}

type rule struct {
	pattern string
	bounds  Bounds
}

func (r Rules) compile() *rules {
	return &rules{Rules: r, keys: r.Keys.bounds(), owners: compile(r.Owners), models: compile(r.Models)}
}

func compile(list []Rule) []rule {
	var compiled []rule
	for _, r := range list {
		compiled = append(compiled, rule{r.Pattern, r.bounds()})
	}
	return compiled
}

func match(list []rule, name string) *rule {
	for i := range list {
		if glob(list[i].pattern, name) {
			return &list[i]
		}
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

// subjects fills in whose limits a request is held to. Keys and owners are there
// without limits too, so that what they spend is known when they are given a budget.
func (r *rules) subjects(claim *Claim, who Who) {
	list := claim.subjects[:0]
	if who.KeyID != "" {
		list = append(list, Subject{Key, who.KeyID, who.Limits.bounds().or(r.keys)})
	}
	if who.Owner != "" {
		s := Subject{Scope: Owner, ID: who.Owner}
		if found := match(r.owners, who.Owner); found != nil {
			s.Bounds = found.bounds
		}
		list = append(list, s)
	}
	if found := match(r.models, who.Model); found != nil && who.Model != "" {
		list = append(list, Subject{Model, found.pattern, found.bounds})
	}
	claim.Subjects = list
}
