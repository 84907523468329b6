package keys

import (
	"fmt"
	"strings"
)

// A FieldError is a member of a key, or of what is asked of one, that cannot be
// taken.
type FieldError struct {
	// Field is the member as the contract spells it: "name", "models[1]",
	// "limits.requests_per_minute".
	Field string
	// Reason says what is wrong with it, in words for the operator. It never holds
	// a key.
	Reason string
}

func (e FieldError) Error() string { return e.Field + ": " + e.Reason }

// An InvalidError is all that is wrong with what an operator asked for.
type InvalidError struct {
	// Index is which of several keys it is, from 0; 0 where there is one.
	Index int
	// Fields are its wrong members, at least one.
	Fields []FieldError
}

func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, field := range e.Fields {
		texts[i] = field.Error()
	}
	return strings.Join(texts, "; ")
}

// violations collects what is wrong.
type violations []FieldError

func (v *violations) addf(field, format string, args ...any) {
	*v = append(*v, FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (v *violations) err() error {
	if len(*v) == 0 {
		return nil
	}
	return &InvalidError{Fields: *v}
}
