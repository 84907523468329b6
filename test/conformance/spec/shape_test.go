package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/test/conformance/wire"
)

// holds fails the test for each row of a table that an answer does not satisfy.
func holds(t *testing.T, a answer, table string) {
	t.Helper()
	for _, fault := range wire.Faults(a.body, table) {
		t.Errorf("%s: %s", fault, wire.Clip(a.raw))
	}
}

// text is a member that must be a string.
func text(t *testing.T, a answer, path string) string {
	t.Helper()
	value, _ := wire.Lookup(a.body, path)
	s, ok := value.(string)
	if !ok {
		t.Fatalf("%s is no string: %s", path, wire.Clip(a.raw))
	}
	return s
}

// integer is a member that must be an integer.
func integer(t *testing.T, a answer, path string) int64 {
	t.Helper()
	value, _ := wire.Lookup(a.body, path)
	number, _ := value.(json.Number)
	n, err := number.Int64()
	if err != nil {
		t.Fatalf("%s is no integer: %s", path, wire.Clip(a.raw))
	}
	return n
}
