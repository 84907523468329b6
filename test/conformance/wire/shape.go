// Package wire looks at answers as they came over the wire: members of JSON
// documents by path, and the frames of server-sent streams.
package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Decode decodes a JSON document, numbers as json.Number.
func Decode(raw string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var doc any
	err := dec.Decode(&doc)
	return doc, err
}

// Faults lists the rows of a table that a document does not satisfy, one line each. A row of
// the table is a line of a path, the JSON types that may stand there and, if it is
// fixed, the value:
//
//	choices[0].index    integer      0
//	error.param         string|null
func Faults(doc any, table string) []string {
	var faults []string
	for line := range strings.Lines(table) {
		columns := strings.Fields(line)
		if len(columns) < 2 {
			continue
		}
		path, kinds := columns[0], columns[1]
		value, ok := Lookup(doc, path)
		if !ok {
			faults = append(faults, path+" is absent")
			continue
		}
		if kind := Kind(value); !slices.Contains(strings.Split(kinds, "|"), kind) {
			faults = append(faults, fmt.Sprintf("%s is %s, not %s", path, kind, kinds))
		}
		if len(columns) > 2 && fmt.Sprint(value) != columns[2] {
			faults = append(faults, fmt.Sprintf("%s is %v, not %s", path, value, columns[2]))
		}
	}
	return faults
}

// Lookup follows a path such as choices[0].message.content.
func Lookup(doc any, path string) (any, bool) {
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		if index, ok := strings.CutPrefix(step, "["); ok {
			i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			list, isList := doc.([]any)
			if err != nil || !isList || i >= len(list) {
				return nil, false
			}
			doc = list[i]
			continue
		}
		members, ok := doc.(map[string]any)
		if !ok {
			return nil, false
		}
		if doc, ok = members[step]; !ok {
			return nil, false
		}
	}
	return doc, true
}

// Text is the string at a path, or empty.
func Text(doc any, path string) string {
	value, _ := Lookup(doc, path)
	text, _ := value.(string)
	return text
}

// Kind names the JSON type of a decoded value: null, string, boolean, array, object,
// integer or number.
func Kind(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
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

// Clip shortens a body for a message.
func Clip(s string) string {
	const most = 1500
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
