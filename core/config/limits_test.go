package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/limit"
)

const limited = `
routes: [{model: "*", targets: [{upstream: sandbox}]}]
limits:
  store: "rediss://:${KEY}@redis.example:6379/1"
  timeout: 50ms
  when_gone: closed
  keys: {requests_per_minute: 60, budgets: [5/day, 12.50/month]}
  owners:
    - {owner: team-a, concurrent: 3}
    - {owner: "*", tokens_per_minute: 1000, budgets: [100/month]}
  models:
    - {model: "gpt-*", requests_per_minute: 600}
  unpriced: allow
`

func TestLimits(t *testing.T) {
	c, err := config.Parse("f", []byte(limited), getenv)
	if err != nil {
		t.Fatal(err)
	}
	l := c.EffectiveLimits()
	if l.Store != "rediss://:secret@redis.example:6379/1" || time.Duration(l.Timeout) != 50*time.Millisecond || l.WhenGone != "closed" || l.LocalShare != 0.5 || l.Prefix != "genway" {
		t.Errorf("%+v", l)
	}
	want := limit.Rules{
		Keys: limit.Limits{RequestsPerMinute: 60, Budgets: []limit.Budget{{Amount: 5e9, Period: limit.Day}, {Amount: 12.5e9, Period: limit.Month}}},
		Owners: []limit.Rule{
			{Pattern: "team-a", Limits: limit.Limits{Concurrent: 3}},
			{Pattern: "*", Limits: limit.Limits{TokensPerMinute: 1000, Budgets: []limit.Budget{{Amount: 100e9, Period: limit.Month}}}},
		},
		Models:        []limit.Rule{{Pattern: "gpt-*", Limits: limit.Limits{RequestsPerMinute: 600}}},
		OutputTokens:  1024,
		AllowUnpriced: true,
	}
	if got := l.Rules(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	none := (&config.Config{}).EffectiveLimits()
	if got := none.Rules(); !reflect.DeepEqual(got, limit.Rules{OutputTokens: 1024}) {
		t.Errorf("without a section: %+v", got)
	}
}

func TestWrongLimitsSayWhere(t *testing.T) {
	for text, says := range map[string]string{
		"limits: {requests: 5}":                                   "f.yaml:2:10: unknown key \"requests\"",
		"limits: {keys: {requests_per_minute: -1}}":               "f.yaml:2:38: limits.keys.requests_per_minute: expected 0 to",
		"limits: {keys: {budgets: [5]}}":                          "limits.keys.budgets[0]: \"5\" is no budget; write dollars",
		"limits: {keys: {budgets: [5/day, 1/day]}}":               "limits.keys.budgets[1]: there is a budget for the day already",
		"limits: {owners: [{concurrent: 1}]}":                     "limits.owners[0]: owner is missing",
		"limits: {models: [{concurrent: 1}]}":                     "limits.models[0]: model is missing",
		"limits: {models: [{model: m, budgets: [1/day]}]}":        "unknown key \"budgets\"",
		"limits: {timeout: 5s}":                                   "limits.timeout: it is for a store that cores share",
		"limits: {store: localhost}":                              "limits.store: the URL of the shared store: it has no scheme",
		"limits: {store: \"http://:pass@x\"}":                     "limits.store: the URL of the shared store: its scheme is none of redis, rediss,",
		"limits: {store: \"redis://a,b\"}":                        "it names several hosts; write redis+sentinel:// or redis+cluster://",
		"limits: {store: \"redis+sentinel://a:26379\"}":           "it does not name the servers; write redis+sentinel://host:26379/MASTER/0",
		"limits: {store: \"redis+cluster://a:6379,a:6379\"}":      "it names a host twice",
		"limits: {store: \"rediss://a?cafile=x\"}":                `its parameter "cafile" is not known`,
		"limits: {store: redis://x, when_gone: open}":             "\"open\" is neither local nor closed",
		"limits: {store: redis://x, local_share: 2}":              "limits.local_share: expected 0 to 1",
		"limits: {store: redis://x, timeout: -1s}":                "limits.timeout: expected a time above 0",
		"limits: {unpriced: maybe}":                               "neither refuse nor allow",
		"limits: {output_tokens: -5}":                             "limits.output_tokens: expected at least 0",
		"limits: {output_tokens: 100000001}":                      "limits.output_tokens: expected at most 100000000, got 100000001",
		"limits: {owners: [{owner: a, tokens_per_minute: many}]}": "f.yaml:2:",
	} {
		_, err := config.Parse("f.yaml", []byte("routes: [{model: a, targets: [{upstream: sandbox}]}]\n"+text+"\n"), getenv)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: a password is shown: %v", text, err)
		}
	}
}
