package config

import (
	"fmt"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared/endpoint"
)

// Limits hold keys, their owners and models to what they were given. docs/access.md says
// what each figure means.
type Limits struct {
	// Store is where uses are counted: empty in memory, for a single core, else
	// the URL of a Redis or Valkey that the cores share: of one server, of servers under
	// Sentinel or of a Cluster (endpoint.Parse).
	Store string `yaml:"store,omitempty" json:"store,omitempty" jsonschema_description:"The Redis or Valkey that several cores count in: redis://host:6379/0, redis+sentinel://host:26379,host:26379/master/0, redis+cluster://host:6379,host:6379, unix:///path; rediss in place of redis is TLS. Without it each core counts by itself."`
	// Prefix begins the names of all keys in the store. Default genway.
	Prefix string `yaml:"prefix,omitempty" json:"prefix,omitempty" jsonschema_description:"What the names of all keys in the store begin with; default genway."`
	// Timeout bounds a question to the store. Default 100ms.
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty" jsonschema:"type=string" jsonschema_description:"How long the store may take to answer; default 100ms."`
	// WhenGone is what becomes of requests while the store does not answer: local or
	// closed. Default local.
	WhenGone string `yaml:"when_gone,omitempty" json:"when_gone,omitempty" jsonschema:"enum=local,enum=closed" jsonschema_description:"While the store does not answer: local admits a share by each core's own count, closed refuses; default local."`
	// LocalShare is the share of each limit that a core admits by itself then. Default 0.5.
	LocalShare Share `yaml:"local_share,omitempty" json:"local_share,omitempty" jsonschema:"minimum=0,maximum=1" jsonschema_description:"The share of each limit that a core admits by itself then; default 0.5."`
	// OutputTokens are reserved of the tokens a minute for requests that set no maximum; a budget must have as many left. Default 1024.
	OutputTokens int64 `yaml:"output_tokens,omitempty" json:"output_tokens,omitempty" jsonschema:"minimum=0,maximum=100000000" jsonschema_description:"Output tokens to reserve of the tokens a minute for a request that sets no maximum of its own, and the least that a budget must have left for one; default 1024."`
	// Unpriced is what becomes of requests under a budget for models without a price:
	// refuse or allow. Default refuse.
	Unpriced string `yaml:"unpriced,omitempty" json:"unpriced,omitempty" jsonschema:"enum=refuse,enum=allow" jsonschema_description:"Requests under a budget for models that have no price: refuse, the default, or allow, uncounted."`
	// Keys bound each key, where it has no limit of its own.
	Keys *Allowance `yaml:"keys,omitempty" json:"keys,omitempty" jsonschema_description:"For each key by itself, as far as it has no limits of its own."`
	// Owners bound the keys of an owner together; the first that matches counts.
	Owners []OwnerLimits `yaml:"owners,omitempty" json:"owners,omitempty" jsonschema_description:"For all keys of an owner together. The first that matches counts."`
	// Models bound the requests for all models they match; the first counts.
	Models []ModelLimits `yaml:"models,omitempty" json:"models,omitempty" jsonschema_description:"For all requests for the models that match, together. The first that matches counts."`
}

// Allowance is figures, and money.
type Allowance struct {
	limit.Limits `yaml:",inline"`
	// Budgets are dollars a day or a month: 12.50/month.
	Budgets []string `yaml:"budgets,omitempty" json:"budgets,omitempty" jsonschema_description:"Dollars a day or a month of UTC: 5/day, 12.50/month."`
}

// OwnerLimits are the limits of owners.
type OwnerLimits struct {
	// Owner is a name or a glob; each owner it matches is bounded by itself.
	Owner     string `yaml:"owner" json:"owner" jsonschema_description:"An owner's name, or a glob: each owner it matches has the limits for itself."`
	Allowance `yaml:",inline"`
}

// ModelLimits are the limits of models.
type ModelLimits struct {
	// Model is a name or a glob; all models it matches share the limits.
	Model        string `yaml:"model" json:"model" jsonschema_description:"A model's name as callers write it, or a glob: all models it matches share the limits."`
	limit.Limits `yaml:",inline"`
}

// Defaults of Limits.
const (
	limitTimeout = 100 * time.Millisecond
	limitShare   = 0.5
	limitOutput  = 1024
	limitPrefix  = "genway"
)

func (l *Limits) setDefaults() {
	if l.Timeout == 0 {
		l.Timeout = Duration(limitTimeout)
	}
	if l.LocalShare == 0 {
		l.LocalShare = limitShare
	}
	if l.OutputTokens == 0 {
		l.OutputTokens = limitOutput
	}
	if l.Prefix == "" {
		l.Prefix = limitPrefix
	}
	if l.WhenGone == "" {
		l.WhenGone = "local"
	}
}

// EffectiveLimits returns the limits with their defaults; for a file without
// limits, they bound nothing.
func (c *Config) EffectiveLimits() Limits {
	var l Limits
	if c.Limits != nil {
		l = *c.Limits
	}
	l.setDefaults()
	return l
}

// Rules returns limits as the limiter takes them. They have been validated.
func (l *Limits) Rules() limit.Rules {
	rules := limit.Rules{OutputTokens: l.OutputTokens, AllowUnpriced: l.Unpriced == "allow"}
	if l.Keys != nil {
		rules.Keys = l.Keys.limits()
	}
	for _, o := range l.Owners {
		rules.Owners = append(rules.Owners, limit.Rule{Pattern: o.Owner, Limits: o.limits()})
	}
	for _, m := range l.Models {
		rules.Models = append(rules.Models, limit.Rule{Pattern: m.Model, Limits: m.Limits})
	}
	return rules
}

func (a Allowance) limits() limit.Limits {
	l := a.Limits
	for _, text := range a.Budgets {
		if b, err := limit.ParseBudget(text); err == nil { // as validate has seen
			l.Budgets = append(l.Budgets, b)
		}
	}
	return l
}

func (l *Limits) validate(all *checks, at string) {
	if l == nil {
		return
	}
	l.validateStore(all, at)
	switch {
	case l.OutputTokens < 0:
		all.wrongf(at+".output_tokens", "expected at least 0, got %d", l.OutputTokens)
	case l.OutputTokens > limit.MaxTokens:
		all.wrongf(at+".output_tokens", "expected at most %d, got %d", limit.MaxTokens, l.OutputTokens)
	}
	if l.Unpriced != "" && l.Unpriced != "refuse" && l.Unpriced != "allow" {
		all.wrongf(at+".unpriced", "%q is neither refuse nor allow", l.Unpriced)
	}
	if l.Keys != nil {
		l.Keys.validate(all, at+".keys")
	}
	for i, o := range l.Owners {
		where := fmt.Sprintf("%s.owners[%d]", at, i)
		if o.Owner == "" {
			all.wrongf(where, `owner is missing: a name or a glob, "*" for each`)
		}
		o.validate(all, where)
	}
	for i, m := range l.Models {
		where := fmt.Sprintf("%s.models[%d]", at, i)
		if m.Model == "" {
			all.wrongf(where, `model is missing: a name or a glob, "*" for all`)
		}
		checkFigures(all, where, m.Limits)
	}
}

// validateStore checks the settings of the store that cores share.
func (l *Limits) validateStore(all *checks, at string) {
	shared := l.Store != ""
	for _, s := range []struct {
		key   string
		given bool
	}{{"prefix", l.Prefix != ""}, {"timeout", l.Timeout != 0}, {"when_gone", l.WhenGone != ""}, {"local_share", l.LocalShare != 0}} {
		if s.given && !shared {
			all.wrongf(at+"."+s.key, "it is for a store that cores share, and there is none; name it as store")
		}
	}
	if shared {
		if _, err := endpoint.Parse(l.Store); err != nil {
			all.wrongf(at+".store", "the URL of the shared store: %s", err)
		}
	}
	if l.Timeout < 0 {
		all.wrongf(at+".timeout", "expected a time above 0")
	}
	if l.WhenGone != "" && l.WhenGone != "local" && l.WhenGone != "closed" {
		all.wrongf(at+".when_gone", "%q is neither local nor closed", l.WhenGone)
	}
	if !(l.LocalShare >= 0 && l.LocalShare <= 1) { // NaN is neither
		all.wrongf(at+".local_share", "expected 0 to 1, got %v", l.LocalShare)
	}
}

func checkFigures(all *checks, at string, l limit.Limits) {
	l.Check(func(member, reason string) { all.wrongf(at+"."+member, "%s", reason) })
}

func (a Allowance) validate(all *checks, at string) {
	checkFigures(all, at, a.Limits)
	if a.Budgets != nil && len(a.Budgets) == 0 {
		all.wrongf(at+".budgets", "it is empty; leave it out for no budget")
	}
	seen := map[limit.Period]bool{}
	for i, text := range a.Budgets {
		where := fmt.Sprintf("%s.budgets[%d]", at, i)
		b, err := limit.ParseBudget(text)
		if err != nil {
			all.wrongf(where, "%s", err)
			continue
		}
		if seen[b.Period] {
			all.wrongf(where, "there is a budget for the %s already", b.Period)
		}
		seen[b.Period] = true
	}
}
