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
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Overrides change the parameters of requests on their way to a target. They apply in
// the order of the fields; what a caller asked for and does not get is reported as lost.
type Overrides struct {
	// Drop leaves parameters out: those that the table of settings lets an operator drop.
	Drop []string `yaml:"drop,omitempty" jsonschema_description:"Parameters to leave out of requests, by name; the X-Genway-Lost header names them."`
	// Set sets them, whatever the caller says.
	Set *Parameters `yaml:"set,omitempty" jsonschema_description:"Parameters that have this value, whatever the caller says."`
	// Default sets those that the caller leaves out.
	Default *Parameters `yaml:"default,omitempty" jsonschema_description:"Parameters that have this value where the caller says nothing."`
	// Bound keeps those that are given within a range.
	Bound *Bounds `yaml:"bound,omitempty" jsonschema_description:"Most, or least and most, of parameters that are given."`
}

// droppable are the parameters that can be left out, set or not.
func droppable() []string {
	var names []string
	for _, s := range slices.Concat(setting.Texts(), setting.Images()) {
		if s.May&setting.Drop != 0 && !slices.Contains(names, s.Name()) {
			names = append(names, s.Name())
		}
	}
	return names
}

// Bound is a range; a plain number is a maximum. Nil is no bound on that side.
type Bound struct {
	Min *float64 `yaml:"min,omitempty"`
	Max *float64 `yaml:"max,omitempty"`
}

// UnmarshalYAML reads a number or {min: N, max: N}.
func (b *Bound) UnmarshalYAML(node ast.Node) error {
	switch n := node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		b.Max = new(float64)
		return yaml.NodeToValue(n, b.Max)
	case *ast.MappingNode, *ast.MappingValueNode:
		type plain Bound
		return yaml.NodeToValue(n, (*plain)(b), yaml.Strict())
	}
	return &yaml.SyntaxError{Token: node.GetToken(), Message: "expected a number, the most, or {min: N, max: N}"}
}

// Values returns the parameters that are given, by name: float64, int64, bool, string or
// []string.
func (p *Parameters) Values() map[string]any {
	values := map[string]any{}
	eachGiven(p, func(name string, v reflect.Value, _ reflect.StructField) {
		values[name] = reflect.Indirect(v).Interface()
	})
	return values
}

// Values returns the ranges that are given, by name.
func (b *Bounds) Values() map[string]Bound {
	values := map[string]Bound{}
	eachGiven(b, func(name string, v reflect.Value, _ reflect.StructField) {
		values[name] = *v.Interface().(*Bound) //nolint:forcetypeassert // all fields are
	})
	return values
}

// eachGiven calls do for each field of a struct that is given; s may be nil.
func eachGiven(s any, do func(name string, v reflect.Value, field reflect.StructField)) {
	v := reflect.ValueOf(s)
	if v.IsNil() {
		return
	}
	for field, value := range v.Elem().Fields() {
		if !value.IsNil() {
			do(yamlName(field), value, field)
		}
	}
}

func yamlName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return name
}

// takes reports whether upstreams of a kind can be sent a parameter.
func takes(kind, name string) bool {
	p := protocol.ByKind(kind)
	switch {
	case p == nil: // it takes the contract's own messages
		return true
	case p.Images:
		return setting.Image(name) != nil
	}
	can := func(s *setting.Setting) bool {
		return s != nil && s.May&setting.Set != 0 && s.Of(p.ID).Lost == "" && s.Of(p.ID).Refused == ""
	}
	return can(setting.Text(name)) || p.Serves(true) && can(setting.Image(name))
}

// check demands that upstreams of the kind have the parameters that are overridden,
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
