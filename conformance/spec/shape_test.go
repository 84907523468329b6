package spec_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// row is one row of the specification: a member, its JSON type ("or" joins several)
// and, unless it is nil, its value.
type row struct {
	path, kind string
	value      any
}

// holds fails the test for each row that an answer does not satisfy.
func holds(t *testing.T, a answer, rows []row) {
	t.Helper()
	for _, r := range rows {
		value, ok := lookup(a.body, r.path)
		if !ok {
			t.Errorf("%s is absent: %s", r.path, clip(a.raw))
			continue
		}
		if kind := kindOf(value); !contains(strings.Split(r.kind, " or "), kind) {
			t.Errorf("%s is %s, not %s", r.path, kind, r.kind)
		}
		if r.value != nil && fmt.Sprint(value) != fmt.Sprint(r.value) {
			t.Errorf("%s is %v, not %v", r.path, value, r.value)
		}
	}
}

// lookup follows a path such as choices[0].message.content.
func lookup(value any, path string) (any, bool) {
	for _, step := range strings.Split(strings.ReplaceAll(path, "[", ".["), ".") {
		if index, ok := strings.CutPrefix(step, "["); ok {
			i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			list, isList := value.([]any)
			if err != nil || !isList || i >= len(list) {
				return nil, false
			}
			value = list[i]
			continue
		}
		members, ok := value.(object)
		if !ok {
			return nil, false
		}
		if value, ok = members[step]; !ok {
			return nil, false
		}
	}
	return value, true
}

// text is a member that must be a string.
func text(t *testing.T, a answer, path string) string {
	t.Helper()
	value, _ := lookup(a.body, path)
	s, ok := value.(string)
	if !ok {
		t.Fatalf("%s is no string: %s", path, clip(a.raw))
	}
	return s
}

// integer is a member that must be an integer.
func integer(t *testing.T, a answer, path string) int64 {
	t.Helper()
	value, _ := lookup(a.body, path)
	number, _ := value.(json.Number)
	n, err := number.Int64()
	if err != nil {
		t.Fatalf("%s is no integer: %s", path, clip(a.raw))
	}
	return n
}

func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case object:
		return "object"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	default:
		return fmt.Sprintf("%T", v)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func clip(s string) string {
	const most = 1500
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
