package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/setting"
	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/protocol"
)

// takes reports whether upstreams of a kind can be sent a parameter.
func takes(kind, name string) bool {
	p := protocol.ByKind(kind)
	switch {
	case p == nil: // it takes the contract's own messages
		return true
	case p.Images:
		return setting.Image(name) != nil
	}
	s := setting.Text(name)
	return s != nil && s.May&setting.Set != 0 && s.Of(p.ID).Lost == "" && s.Of(p.ID).Refused == ""
}

// check demands that the overrides are of parameters that upstreams of the kind have,
// do not contradict each other, and give values that can be.
func (o Overrides) check(all *checks, at, kind string) {
	done := map[string]string{}
	claim := func(verb, name, at string) error {
		if first, twice := done[name]; twice {
			return wrong(at, "%s is in %s already; one of them would do nothing", name, first)
		}
		done[name] = verb
		return nil
	}
	for i, name := range o.Drop {
		at := fmt.Sprintf("%s.drop[%d]", at, i)
		if known := droppable(); !slices.Contains(known, name) {
			all.wrongf(at, "there is no parameter %q%s", name, strict.Meant(name, known))
			continue
		}
		all.add(claim("drop", name, at))
	}
	for _, given := range []struct {
		verb   string
		values *Parameters
	}{{"set", o.Set}, {"default", o.Default}} {
		eachGiven(given.values, func(name string, v reflect.Value, field reflect.StructField) {
			at := at + "." + given.verb + "." + name
			if !takes(kind, name) {
				all.wrongf(at, "an upstream of kind %s has no parameter %s", kind, name)
				return
			}
			all.add(claim(given.verb, name, at), checkValue(at, reflect.Indirect(v), field))
		})
	}
	eachGiven(o.Bound, func(name string, v reflect.Value, _ reflect.StructField) {
		at := at + ".bound." + name
		if !takes(kind, name) {
			all.wrongf(at, "an upstream of kind %s has no parameter %s", kind, name)
			return
		}
		all.add(v.Interface().(*Bound).check(at, name)) //nolint:forcetypeassert // all fields are
	})
}

func (b *Bound) check(at, name string) error {
	if b.Min == nil && b.Max == nil {
		return wrong(at, "expected a number, the most, or {min: N, max: N}")
	}
	field, _ := parameterField(name)
	for _, side := range []*float64{b.Min, b.Max} {
		if side == nil {
			continue
		}
		if field.Type.Elem().Kind() == reflect.Int64 && *side != math.Trunc(*side) {
			return wrong(at, "expected a whole number, got %v", *side)
		}
		if err := checkValue(at, reflect.ValueOf(*side), field); err != nil {
			return err
		}
	}
	if b.Min != nil && b.Max != nil && *b.Min > *b.Max {
		return wrong(at, "min %v is above max %v", *b.Min, *b.Max)
	}
	return nil
}

// checkValue holds a value to the range its field's schema states; texts are not
// empty, which would be the same as none.
func checkValue(at string, v reflect.Value, field reflect.StructField) error {
	var number float64
	switch v.Kind() {
	case reflect.Float64:
		number = v.Float()
	case reflect.Int64:
		number = float64(v.Int())
	case reflect.String, reflect.Slice:
		if v.Len() == 0 {
			return wrong(at, "is empty; drop leaves a parameter out")
		}
		return nil
	default:
		return nil
	}
	for rule := range strings.SplitSeq(field.Tag.Get("jsonschema"), ",") {
		side, text, _ := strings.Cut(rule, "=")
		limit, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		if side == "minimum" && !(number >= limit) { // NaN is neither
			return wrong(at, "expected at least %v, got %v", limit, number)
		}
		if side == "maximum" && !(number <= limit) {
			return wrong(at, "expected at most %v, got %v", limit, number)
		}
	}
	return nil
}

func parameterField(name string) (reflect.StructField, bool) {
	for field := range reflect.TypeFor[Parameters]().Fields() {
		if yamlName(field) == name {
			return field, true
		}
	}
	return reflect.StructField{}, false
}
