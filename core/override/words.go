package override

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String says what the overrides do, for people: "drop top_p; set temperature 0.2;
// bound max_output_tokens to at most 4096". It is empty when they do nothing.
func (o *Overrides) String() string {
	if o == nil {
		return ""
	}
	var clauses []string
	add := func(verb string, words []string) {
		if len(words) > 0 {
			clauses = append(clauses, verb+" "+strings.Join(words, ", "))
		}
	}
	add("drop", o.rules.Drop)
	add("set", values(o.rules.Set))
	add("default", values(o.rules.Default))
	var bounds []string
	for _, name := range slices.Sorted(maps.Keys(o.rules.Bound)) {
		bounds = append(bounds, name+" to "+o.rules.Bound[name].String())
	}
	add("bound", bounds)
	return strings.Join(clauses, "; ")
}

func values(given map[string]any) []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if text, ok := given[name].([]string); ok {
			words = append(words, fmt.Sprintf("%s %q", name, text))
			continue
		}
		words = append(words, fmt.Sprintf("%s %v", name, given[name]))
	}
	return words
}

// String says the range for people: "at most 4", "1 to 4".
func (r Range) String() string {
	switch {
	case r.Min == nil && r.Max == nil:
		return "anything"
	case r.Min == nil:
		return fmt.Sprintf("at most %v", *r.Max)
	case r.Max == nil:
		return fmt.Sprintf("at least %v", *r.Min)
	}
	return fmt.Sprintf("%v to %v", *r.Min, *r.Max)
}
