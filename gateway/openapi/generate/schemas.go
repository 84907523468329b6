package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"strings"
)

// schemas makes the schemas of types that paths refer to, and of all that those refer to.
type schemas struct {
	// codecs is the folder of their packages, whose types are read as they are needed.
	codecs string
	types  map[string]map[string]declared
	// descriptions are what document.yaml has of types: a whole schema of a type without members by
	// tags, else members of the schema and of its properties.
	descriptions map[string]object
	titles       map[string]string
	used         map[string]bool
	made         object
}

// basic are the types of JSON that Go's stand for.
var basic = map[string]string{
	"string": "string", "bool": "boolean", "float64": "number", "int": "integer", "int32": "integer", "int64": "integer", "uint8": "integer",
}

// orNull is a schema, or null: a member that is null is as good as none.
func orNull(schema object) object {
	switch name := schema["type"].(type) {
	case string:
		schema = maps.Clone(schema)
		schema["type"] = []any{name, "null"}
		return schema
	case nil:
		if schema["$ref"] != nil {
			return object{"anyOf": []any{schema, object{"type": "null"}}}
		}
	}
	return schema
}

// notNull undoes orNull.
func notNull(schema object) object {
	if list, ok := schema["type"].([]any); ok && len(list) == 2 && list[1] == "null" {
		schema = maps.Clone(schema)
		schema["type"] = list[0]
	} else if list, ok := schema["anyOf"].([]any); ok && len(list) == 2 {
		if reference, ok := list[0].(object); ok && reference["$ref"] != nil {
			return reference
		}
	}
	return schema
}

// ref returns the reference to a type's schema, which it makes at its first mention. A name behind a #
// names a schema that document.yaml has.
func (s *schemas) ref(name string) (object, error) {
	if own, ok := strings.CutPrefix(name, "#"); ok {
		return object{"$ref": "#/components/schemas/" + own}, nil
	}
	title := s.titleOf(name)
	reference := object{"$ref": "#/components/schemas/" + title}
	if s.made[title] != nil {
		return reference, nil
	}
	of, err := s.find(name)
	if err != nil {
		return nil, err
	}
	s.made[title] = object{} // types may refer to themselves
	made, err := s.schema(name, of)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.made[title] = made
	return reference, nil
}

// find returns the type of a codec by its package and name.
func (s *schemas) find(name string) (declared, error) {
	pkg, typ, _ := strings.Cut(name, ".")
	if s.types[pkg] == nil {
		types, err := parse(filepath.Join(s.codecs, pkg), pkg)
		if err != nil {
			return declared{}, err
		}
		s.types[pkg] = types
	}
	of, ok := s.types[pkg][typ]
	if !ok {
		return declared{}, fmt.Errorf("there is no type %s", name)
	}
	return of, nil
}

// titleOf names a type as generated clients do: a type request of package images is
// ImagesRequest, unless document.yaml writes the package in another way.
func (s *schemas) titleOf(name string) string {
	pkg, typ, _ := strings.Cut(name, ".")
	typ = cmp.Or(strings.TrimPrefix(typ, "wire"), typ)
	if title := s.titles[pkg]; title != "" {
		pkg = title
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + strings.ToUpper(typ[:1]) + typ[1:]
}

func (s *schemas) schema(name string, of declared) (object, error) {
	described := s.descriptions[name]
	s.used[name] = true
	made, properties := object{}, object{}
	fields, isStruct := of.typ.(*ast.StructType)
	if isStruct {
		if err := s.members(of.pkg, fields, properties); err != nil {
			return nil, err
		}
	}
	switch {
	case !isStruct && described == nil:
		value, err := s.value(of.pkg, of.typ)
		maps.Copy(made, value)
		return made, err
	case len(properties) > 0:
		made["type"] = "object"
	case described == nil:
		return nil, fmt.Errorf("the type %s has no members by tags: say its schema in document.yaml", types.ExprString(of.typ))
	}
	replaced, err := s.resolve(of.pkg, described)
	if err != nil {
		return nil, err
	}
	for key, value := range replaced {
		if more, ok := value.(object); ok && key == "properties" {
			maps.Copy(properties, more)
		} else {
			made[key] = value
		}
	}
	if len(properties) > 0 {
		made["properties"] = properties
	}
	required, _ := made["required"].([]any)
	for _, name := range required {
		member, ok := properties[fmt.Sprint(name)].(object)
		if !ok {
			return nil, fmt.Errorf("the required member %v is none of its members", name)
		}
		properties[fmt.Sprint(name)] = notNull(member)
	}
	return made, nil
}

func (s *schemas) members(pkg string, of *ast.StructType, into object) error {
	members, embedded, err := membersOf(of)
	if err != nil {
		return err
	}
	for _, t := range embedded {
		named := pkg + "." + types.ExprString(t)
		of, err := s.find(named)
		if err != nil {
			return err
		}
		fields, ok := of.typ.(*ast.StructType)
		if !ok {
			return fmt.Errorf("%s is no struct", named)
		}
		if err := s.members(pkg, fields, into); err != nil {
			return err
		}
	}
	for _, m := range members {
		schema, err := s.value(pkg, m.typ)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		into[m.name] = orNull(schema)
	}
	return nil
}

// value returns the schema of a value.
func (s *schemas) value(pkg string, t ast.Expr) (object, error) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.value(pkg, t.X)
	case *ast.ArrayType:
		return s.list(pkg, t.Elt)
	case *ast.IndexExpr: // list[part], in whose place one part may stand
		one, err := s.value(pkg, t.Index)
		return object{"anyOf": []any{object{"type": []any{"array", "null"}, "items": one}, one}}, err
	case *ast.MapType:
		of, err := s.value(pkg, t.Value)
		return object{"type": "object", "additionalProperties": of}, err
	case *ast.SelectorExpr:
		if types.ExprString(t) == "jsontext.Value" {
			return object{}, nil
		}
	case *ast.Ident:
		if name := basic[t.Name]; name != "" {
			return object{"type": name}, nil
		}
		return s.ref(pkg + "." + t.Name)
	}
	return nil, fmt.Errorf("a type %s is not known", types.ExprString(t))
}

func (s *schemas) list(pkg string, element ast.Expr) (object, error) {
	of, err := s.value(pkg, element)
	return object{"type": "array", "items": of}, err
}

// resolve returns what document.yaml says with its references to types, which are $type, as
// references to schemas.
func (s *schemas) resolve(pkg string, described object) (object, error) {
	out := object{}
	for key, value := range described {
		resolved, err := s.resolveValue(pkg, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if name, ok := value.(string); ok && key == "$type" {
			return s.ref(pkg + "." + name)
		}
		out[key] = resolved
	}
	return out, nil
}

func (s *schemas) resolveValue(pkg string, value any) (any, error) {
	switch v := value.(type) {
	case object:
		return s.resolve(pkg, v)
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			resolved, err := s.resolveValue(pkg, element)
			if err != nil {
				return nil, err
			}
			list[i] = resolved
		}
		return list, nil
	}
	return value, nil
}
