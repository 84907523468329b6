package coreproc_test

import (
	"slices"
	"testing"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/route"
)

// Each word that a configuration may have for a cause of a fallback is one of the router's, and the other way round.
func TestEachCauseIsRouted(t *testing.T) {
	for on := route.Cause(1); on != 0; on <<= 1 {
		words := (&route.Target{On: on}).Causes()
		if len(words) > 1 || len(words) == 1 && (route.CauseOf(words[0]) != on || !slices.Contains(config.Causes(), words[0])) {
			t.Errorf("%b is %v", on, words)
		}
	}
	for _, word := range config.Causes() {
		if words := (&route.Target{On: route.CauseOf(word)}).Causes(); route.CauseOf(word) == 0 || !slices.Equal(words, []string{word}) {
			t.Errorf("%s is %v", word, words)
		}
	}
	if route.CauseOf("") != 0 {
		t.Error("no word is a cause")
	}
}
