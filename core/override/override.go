// Package override changes the parameters of requests on their way to an upstream, as
// an operator wants it: leave out, set, fill in, bound. Parameters have the names of
// the contract's fields (text.proto, image.proto): temperature, effort, size.
//
// The caller's own body follows: the members that spell a changed parameter in the
// caller's protocol are changed, every other byte stays. What a caller asked for and
// does not get is reported as a loss.
//
// It must not import upstreams, routes or configuration.
package override

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Reason begins the reasons of losses that are the configuration's.
const Reason = "the target's configuration"

// Rules say what becomes of parameters, by name. They apply in the order of the
// fields. Values are float64, int64, bool, string or []string, as the contract's field
// is.
type Rules struct {
	// Drop leaves parameters out.
	Drop []string
	// Set sets them, whatever the caller says.
	Set map[string]any
	// Default sets those that the caller leaves out.
	Default map[string]any
	// Bound keeps those that are given, by whomever, within a range.
	Bound map[string]Range
}

// Range is what a number is kept within; nil is no bound on that side.
type Range struct{ Min, Max *float64 }

// Overrides are rules made ready. Nil has none.
type Overrides struct {
	rules       Rules
	text, image []rule
}

// rule is one thing done to one parameter.
type rule struct {
	verb  verb
	path  path
	value protoreflect.Value
	bound Range
}

type verb int

const (
	drop verb = iota
	set
	fill
	bound
)

// New makes rules ready. A parameter that neither the text nor the image request has,
// or a value of another type than it is of, is an error. Without rules it returns nil.
func New(rules Rules) (*Overrides, error) {
	if len(rules.Drop)+len(rules.Set)+len(rules.Default)+len(rules.Bound) == 0 {
		return nil, nil
	}
	o := &Overrides{rules: rules}
	add := func(name string, r rule, value any) error {
		known := false
		var mismatch error
		for _, to := range []struct {
			rules   *[]rule
			setting *setting.Setting
			request proto.Message
		}{{&o.text, setting.Text(name), &genwayv1.GenerateTextRequest{}}, {&o.image, setting.Image(name), &genwayv1.GenerateImageRequest{}}} {
			if to.setting == nil {
				continue
			}
			r.path = to.setting.Path(to.request)
			if value != nil {
				// A name may be a number of one request and a whole object of the other.
				if r.value, mismatch = valueFor(r.path.field(), value); mismatch != nil {
					continue
				}
			}
			known = true
			*to.rules = append(*to.rules, r)
		}
		switch {
		case known:
			return nil
		case mismatch != nil:
			return fmt.Errorf("override: %s: %w", name, mismatch)
		}
		return fmt.Errorf("override: there is no parameter %q", name)
	}
	for _, name := range rules.Drop {
		if err := add(name, rule{verb: drop}, nil); err != nil {
			return nil, err
		}
	}
	for _, given := range []struct {
		verb   verb
		values map[string]any
	}{{set, rules.Set}, {fill, rules.Default}} {
		for _, name := range slices.Sorted(maps.Keys(given.values)) {
			if err := add(name, rule{verb: given.verb}, given.values[name]); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rules.Bound)) {
		if err := add(name, rule{verb: bound, bound: rules.Bound[name]}, nil); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// apply changes m, whose message fields are its own, and returns what the caller's
// values were lost to.
func (r rule) apply(m protoreflect.Message) (reason string) {
	given := r.path.has(m)
	switch r.verb {
	case drop:
		if !given {
			return ""
		}
		r.path.clear(m)
		return Reason + " leaves it out"
	case set:
		same := given && r.path.get(m).Equal(r.value)
		r.path.set(m, r.value)
		if given && !same {
			return Reason + " sets it"
		}
	case fill:
		if !given {
			r.path.set(m, r.value)
		}
	case bound:
		if !given {
			return ""
		}
		if v, outside := r.bound.clamp(r.path.field(), r.path.get(m)); outside {
			r.path.set(m, v)
			return Reason + " bounds it"
		}
	}
	return ""
}

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
