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
