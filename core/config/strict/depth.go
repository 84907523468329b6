package strict

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// deepest is how many values may be nested in one another. Files need ten or so. The parser keeps the whole path
// of each value, so that 100,000 brackets would take it minutes and 15 GB.
const deepest = 100

// checkDepth demands that no value is nested too deep. It counts what nests without an indentation: brackets,
// braces, and indicators that follow one another, as in "- - - a". Indentations need a text of the square of
// their depth, so that a text's length bounds them.
func checkDepth(file string, tokens token.Tokens) error {
	depth, run := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth, run = depth+1, 0
		case token.SequenceEndType, token.MappingEndType:
			depth, run = max(depth-1, 0), 0
		case token.SequenceEntryType, token.MappingKeyType:
			run++
		default:
			run = 0
		}
		if depth+run > deepest {
			return &Error{File: file, Line: t.Position.Line, Column: t.Position.Column, Text: fmt.Sprintf("more than %d values are nested in one another", deepest)}
		}
	}
	return nil
}
