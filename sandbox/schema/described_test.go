package schema

import "testing"

// TestDescribed has schemas as the messages protocol's SDKs send them: in the spelling
// of JavaScript (messages.parse), Go and Python.
func TestDescribed(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"enum":               {`{"type":"string","description":"{enum: [\"happy\",\"sad\"]}"}`, `"happy"`},
		"bounds":             {`{"type":"integer","description":"How many.\n\n{minimum: 3, maximum: 9007199254740991}"}`, `3`},
		"lengths":            {`{"type":"string","description":"{minLength: 3, maxLength: 4}"}`, `"samp"`},
		"const":              {`{"type":"boolean","description":"{const: true}"}`, `true`},
		"pattern":            {`{"type":"string","description":"{pattern: \"^a, b: c{2}$\"}"}`, `"a, b: cc"`},
		"items":              {`{"type":"array","items":{"type":"integer","description":"{exclusiveMinimum: 0}"},"description":"{minItems: 2, maxItems: 3}"}`, `[1,2]`},
		"tuple":              {`{"type":"array","description":"{prefixItems: [{\"type\":\"integer\"},{\"const\":\"}\"}], minItems: 2}"}`, `[1,"}"]`},
		"default":            {`{"type":"string","description":"{default: \"metric\"}"}`, `"metric"`},
		"in a branch":        {`{"anyOf":[{"type":"string","description":"{enum: [\"x\"]}"},{"type":"null"}]}`, `"x"`},
		"Go, bare":           {`{"type":"string","description":"{format: date, pattern: ^2026-0[1-3], 15$}"}`, `"2026-01, 15"`},
		"Python, bare":       {`{"type":"string","description":"{const: it's, default: it's}"}`, `"it's"`},
		"Python, a list":     {`{"type":"string","description":"{enum: ['it\\'s', \"b\"]}"}`, `"it's"`},
		"Python, an object":  {`{"type":"array","description":"{prefixItems: [{'const': None}, {'const': True}, {'const': ']\"'}], minItems: 3}"}`, `[null,true,"]\""]`},
		"Python, a name":     {`{"type":"boolean","description":"{const: True, default: None}"}`, `true`},
		"unknown keywords":   {`{"type":"string","description":"{$schema: \"https://example.com/a\", propertyOrder: 3, enum: [\"a\"]}"}`, `"a"`},
		"the schema's own":   {`{"type":"string","enum":["a"],"description":"{enum: [\"b\"]}"}`, `"a"`},
		"a look ahead":       {`{"type":"string","format":"email","description":"{pattern: \"^(?!a)\"}"}`, `"ada@example.com"`},
		"no keyword's value": {`{"type":"string","description":"{minLength: \"many\", maxLength: 4}"}`, `"samp"`},
		"unsatisfiable":      {`{"type":"string","description":"{enum: [1]}"}`, `"sample text"`},
		"prose":              {`{"type":"string","description":"One of {enum: [\"a\"]}"}`, `"sample text"`},
		"prose in braces":    {`{"type":"string","description":"{as you like it}"}`, `"sample text"`},
		"a broken list":      {`{"type":"string","description":"{enum: [\"a\", \"b}"}`, `"sample text"`},
		"a property":         {`{"type":"object","properties":{"description":{"type":"string"}}}`, `{"description":"sample description"}`},
		"a constant":         {`{"const":{"description":"{const: 1}"}}`, `{"description":"{const: 1}"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Options{}.Instance([]byte(c.schema))
			if err != nil || string(got) != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
}
