package sandbox

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// directive is the request for one exact call, in a sentence of the form
//
//	Call the tool NAME with {JSON}.
//
// For a custom tool a JSON string is the input itself ("Call the tool run with
// "ls"."), anything else is the input as it is written.
type directive struct {
	name string
	// argument is the JSON value, byte for byte.
	argument string
	// at is where the sentence begins in the prompt.
	at int
}

var directiveForm = lazily("(?i)\\bcall the tool [`'\"]?([\\pL\\pN_.:/-]+?)[`'\"]? with\\s+([{\"])")

// maxDirectives bounds what one prompt can ask for.
const maxDirectives = 64

// directives finds the sentences of that form whose argument is valid JSON.
func directives(prompt string) []directive {
	var list []directive
	for from := 0; len(list) < maxDirectives; {
		m := directiveForm().FindStringSubmatchIndex(prompt[from:])
		if m == nil {
			break
		}
		begin := from + m[4]
		value, ok := firstValue(prompt[begin:])
		if ok {
			list = append(list, directive{name: prompt[from+m[2] : from+m[3]], argument: value, at: from + m[0]})
			begin += len(value)
		}
		from = max(begin, from+m[1])
	}
	return list
}

// firstValue cuts the JSON value that a text begins with.
func firstValue(text string) (string, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader([]byte(text)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := dec.ReadValue()
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(value)), true
}
