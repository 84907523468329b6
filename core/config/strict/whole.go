package strict

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// checkNulls demands a value for each key. The decoder would take a null for an absent key: a limit whose value was left
// empty by mistake would be none.
func checkNulls(node ast.Node) error {
	switch n := node.(type) {
	case *ast.MappingValueNode:
		if isNull(n.Value) {
			return &yaml.SyntaxError{Token: n.Key.GetToken(), Message: n.Key.GetToken().Value + " has no value; write one, or leave the key out"}
		}
		return checkNulls(n.Value)
	case *ast.MappingNode:
		for _, v := range n.Values {
			if err := checkNulls(v); err != nil {
				return err
			}
		}
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if err := checkNulls(v); err != nil {
				return err
			}
		}
	case *ast.AnchorNode:
		return checkNulls(n.Value)
	case *ast.TagNode:
		return checkNulls(n.Value)
	}
	return nil
}

func isNull(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.NullNode:
		return true
	case *ast.AnchorNode:
		return isNull(n.Value)
	case *ast.TagNode:
		return n.Start.Value == "!!null" || isNull(n.Value)
	}
	return false
}

// checkWhole demands whole numbers where the schema has them: the decoder would cut
// 1.5 down to 1 without a word.
func checkWhole(node ast.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.NodeUnmarshaler]()) {
		return nil
	}
	switch n := node.(type) {
	case *ast.FloatNode:
		if t.Kind() == reflect.Int || t.Kind() == reflect.Int64 {
			return &yaml.SyntaxError{Token: n.GetToken(), Message: "expected a whole number, got " + n.GetToken().Value}
		}
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if t.Kind() == reflect.Slice {
				if err := checkWhole(v, t.Elem()); err != nil {
					return err
				}
			}
		}
	case *ast.MappingValueNode:
		return checkMember(n, t)
	case *ast.MappingNode:
		for _, v := range n.Values {
			if err := checkMember(v, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkMember(n *ast.MappingValueNode, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Map:
		return checkWhole(n.Value, t.Elem())
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name == n.Key.GetToken().Value {
				return checkWhole(n.Value, field.Type)
			}
		}
	}
	return nil
}
