package config_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// A strategy is one of the words, and is warned of where it has no effect.
func TestStrategies(t *testing.T) {
	parse := func(route string) (*config.Config, error) {
		return config.Parse("f", []byte("upstreams: {a: {kind: chat, base_url: http://x}}\nroutes:\n  - {model: m, "+route+"}\n"), nil)
	}
	for _, name := range append(config.Strategies(), "") {
		c, err := parse(`strategy: "` + name + `", sticky: true, targets: [{upstream: a}, {upstream: sandbox}]`)
		if err != nil || len(c.Warnings()) > 0 || c.Routes[0].Strategy != name || c.Routes[0].Sticky == nil || !*c.Routes[0].Sticky {
			t.Errorf("%q: %v, %+v", name, err, c)
		}
	}
	if _, err := parse(`strategy: fast, targets: [{upstream: a}]`); err == nil || !strings.Contains(err.Error(), `routes[0].strategy: "fast" is no strategy; one of weight, least_busy, fastest`) {
		t.Errorf("got %v", err)
	}
	for _, one := range []string{"strategy: fastest", "sticky: true"} {
		c, err := parse(one + ", targets: [{upstream: a}]")
		if err != nil || !strings.Contains(c.Warnings().Error(), strings.SplitN(one, ":", 2)[0]+": it has no effect: the route has one target") {
			t.Errorf("%s: %v, %v", one, err, c.Warnings())
		}
	}
}

// The causes of a fallback are words, each once, of fallbacks alone.
func TestCauses(t *testing.T) {
	parse := func(route string) (*config.Config, error) {
		return config.Parse("f", []byte("upstreams: {a: {kind: chat, base_url: http://x}}\nroutes:\n  - {model: m, "+route+"}\n"), nil)
	}
	c, err := parse("targets: [{upstream: a}], fallback: [{upstream: sandbox, on: [context, policy, failure]}]")
	if err != nil || len(c.Warnings()) > 0 || strings.Join(c.Routes[0].Fallback[0].On, " ") != "context policy failure" {
		t.Errorf("%v, %+v", err, c)
	}
	for route, want := range map[string]string{
		"targets: [{upstream: a}], fallback: [{upstream: sandbox, on: [contxt]}]":         `routes[0].fallback[0].on[0]: "contxt" is no cause; one of failure, context, policy; did you mean "context"?`,
		"targets: [{upstream: a}], fallback: [{upstream: sandbox, on: [policy, policy]}]": "routes[0].fallback[0].on[1]: policy is there twice",
		"targets: [{upstream: a, on: [failure]}]":                                         "routes[0].targets[0].on: targets share the load; on says when a target of fallback is tried",
		"targets: [{upstream: a}], fallback: [{upstream: sandbox, on: context}]":          "on: ",
		"targets: [{upstream: a}], fallback: [{upstream: sandbox, on: [null]}]":           "on[0]",
	} {
		if _, err := parse(route); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", route, err)
		}
	}
}
