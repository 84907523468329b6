package dialect_test

import (
	"slices"
	"testing"

	"github.com/genway/genway/codec/dialect"
)

func TestTakes(t *testing.T) {
	var none *dialect.Chat
	some := dialect.New("temperature max_tokens\n\tmessages.name")
	for _, name := range dialect.Members() {
		if !none.Takes(name) {
			t.Errorf("no dialect does not take %s", name)
		}
		if want := slices.Contains([]string{"temperature", "max_tokens", "messages.name"}, name); some.Takes(name) != want {
			t.Errorf("%s is taken: %t", name, !want)
		}
	}
	if lacks := some.Lacks(); !slices.Contains(lacks, "top_p") || slices.Contains(lacks, "temperature") || slices.Contains(lacks, "max_completion_tokens") {
		t.Errorf("it lacks %v", lacks)
	}
	if len(none.Lacks()) > 0 || len(dialect.New("").Lacks()) == 0 {
		t.Error("nothing lacks something, or an empty dialect nothing")
	}
}

// A word that is no member is a mistake in a table, which must not pass for one.
func TestUnknownWords(t *testing.T) {
	for _, words := range []string{"temprature", "messages", "Temperature", "temperature,top_p"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken for a member", words)
				}
			}()
			dialect.New(words)
		}()
	}
}

func TestEfforts(t *testing.T) {
	for _, one := range []struct {
		words []string
		want  map[string]string
	}{
		{nil, map[string]string{"": "", "none": "none", "max": "max", "other": "other"}},
		{[]string{"low", "high"}, map[string]string{"": "", "none": "", "minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high", "max": "high", "other": "other"}},
		{[]string{"none", "max"}, map[string]string{"none": "none", "minimal": "max", "max": "max"}},
		{[]string{"none"}, map[string]string{"none": "none", "minimal": "none", "max": "none"}},
	} {
		d := dialect.New("reasoning_effort")
		if one.words != nil {
			d = d.WithEfforts(one.words...)
		}
		for word, want := range one.want {
			if got := d.Effort(word); got != want {
				t.Errorf("of %v, %q is %q, not %q", one.words, word, got, want)
			}
		}
	}
	if got := (*dialect.Chat)(nil).Effort("max"); got != "max" {
		t.Errorf("no dialect makes max %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a word that is no effort is taken for one")
		}
	}()
	dialect.New("").WithEfforts("Low")
}
