package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Overrides change the parameters of requests on their way to a target. They apply in
// the order of the fields; what a caller asked for and does not get is reported as lost.
type Overrides struct {
	// Drop leaves parameters out: those that the table of settings lets an operator drop.
	Drop []string `yaml:"drop,omitempty" jsonschema_description:"Parameters to leave out of requests, by name; the X-Genway-Lost header names them."`
	// Set returns them a value, whatever the caller says.
	Set *Parameters `yaml:"set,omitempty" jsonschema_description:"Parameters that have this value, whatever the caller says."`
	// Default returns one to those the caller says nothing of.
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
