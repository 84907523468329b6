package glob_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/genway/genway/core/glob"
)

// matches is what routes matched by before there was an index: a regular expression.
func matches(pattern, name string) bool {
	pieces := strings.Split(pattern, "*")
	for i, p := range pieces {
		pieces[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("^(?s)" + strings.Join(pieces, ".*") + "$").MatchString(name)
}

func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := rapid.StringOfN(rapid.SampledFrom([]rune("ab/*")), 0, 8, -1).Draw(t, "pattern"), rapid.StringOfN(rapid.SampledFrom([]rune("ab/*\n")), 0, 8, -1).Draw(t, "name")
		if got, want := glob.Match(pattern, name), matches(pattern, name); got != want {
			t.Errorf("%q, %q: %t", pattern, name, got)
		}
	})
}

// The index finds what a search through the whole list finds.
func TestIndexIsTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(most int) *rapid.Generator[string] {
			return rapid.StringOfN(rapid.SampledFrom([]rune("aab-*é")), 0, most, -1)
		}
		patterns := rapid.SliceOfN(text(9), 0, 20).Draw(t, "patterns")
		index := glob.NewIndex(patterns)
		for range 5 {
			name := text(12).Draw(t, "name")
			if len(patterns) > 0 && rapid.Bool().Draw(t, "one of them") {
				name = strings.ReplaceAll(rapid.SampledFrom(patterns).Draw(t, "pattern"), "*", text(3).Draw(t, "star"))
			}
			var all []int
			for i, p := range patterns {
				if matches(p, name) {
					all = append(all, i)
				}
			}
			if got := index.All(name); !slices.Equal(got, all) {
				t.Errorf("%q matches %v, want %v", name, got, all)
			}
			refused := rapid.IntRange(-1, len(patterns)).Draw(t, "refused")
			want := -1
			for _, i := range all {
				if i != refused {
					want = i
					break
				}
			}
			if got := index.First(name, func(i int) bool { return i != refused }); got != want {
				t.Errorf("%q: the first but %d is %d, want %d", name, refused, got, want)
			}
		}
	})
}

// Of many patterns few are compared with a name, whatever they have in common.
func TestFewAreTried(t *testing.T) {
	for name, pattern := range map[string]string{
		"names": "model-%d", "beginnings": "team-%d/*", "ends": "*-of-%d", "both": "team-%d/*-mini", "middles": "*/%d/*", "beginnings and middles": "team/*-%d-*",
	} {
		patterns := make([]string, 10_000)
		for i := range patterns {
			patterns[i] = fmt.Sprintf(pattern, 100_000+i)
		}
		index := glob.NewIndex(patterns)
		asked := strings.ReplaceAll(patterns[9_999], "*", "x")
		took := time.Hour // the least of fifty times: others may use the processor meanwhile
		for range 50 {
			began := time.Now()
			for range 20 {
				if index.First(asked, nil) != 9_999 {
					t.Fatalf("%s: it is not found", name)
				}
			}
			took = min(took, time.Since(began)/20)
		}
		t.Logf("%s: %s", name, took)
		// Trying each takes more than 100 µs: the bound is an order of magnitude.
		if took > 50*time.Microsecond {
			t.Errorf("%s: %s", name, took)
		}
		if n := testing.AllocsPerRun(100, func() { index.First(asked, nil) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
