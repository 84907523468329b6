package schema

import (
	"reflect"
	"testing"
)

func TestFromPrompt(t *testing.T) {
	h := FromPrompt(`Book a table for Ada Lovelace in San Francisco, CA on 2026-03-04 for 4, note: "by the window".`)
	if want := []Phrase{{"for", "Ada Lovelace"}, {"in", "San Francisco, CA"}}; !reflect.DeepEqual(h.Phrases, want) {
		t.Errorf("phrases %v, want %v", h.Phrases, want)
	}
	if want := []string{"by the window"}; !reflect.DeepEqual(h.Quoted, want) {
		t.Errorf("quoted %q, want %q", h.Quoted, want)
	}
	if want := []string{"4"}; !reflect.DeepEqual(h.Numbers, want) {
		t.Errorf("numbers %q, want %q", h.Numbers, want)
	}
	if got := h.Fields["note"]; got != "by the window" {
		t.Errorf("field note is %q", got)
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct{ name, prompt, schema, want string }{
		{"weather", "What's the weather like in San Francisco?",
			`{"type":"object","properties":{"location":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}}}`,
			`{"location":"San Francisco","unit":"celsius"}`},
		{"enum by name", "Weather in Rio de Janeiro, in Fahrenheit please",
			`{"type":"object","properties":{"unit":{"enum":["celsius","fahrenheit"]},"city":{"type":"string"}}}`,
			`{"unit":"fahrenheit","city":"Rio de Janeiro"}`},
		{"from and to", "I want to fly to New York from Paris on 2026-05-01.",
			`{"type":"object","properties":{"origin":{"type":"string"},"destination":{"type":"string"},"day":{"type":"string","format":"date"}}}`,
			`{"origin":"Paris","destination":"New York","day":"2026-05-01"}`},
		{"two cities in turn", "Compare the weather in Paris and in Rome.",
			`{"type":"object","properties":{"first_city":{"type":"string"},"secondCity":{"type":"string"}}}`,
			`{"first_city":"Paris","secondCity":"Rome"}`},
		{"numbers in turn, where they fit", "add 3 and 40.5",
			`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number","minimum":4},"c":{"type":"integer"}}}`,
			`{"a":3,"b":40.5,"c":1}`},
		{"query", "Search the web for genway", `{"type":"object","properties":{"query":{"type":"string"}}}`,
			`{"query":"Search the web for genway"}`},
		{"quoted query", `Search for "red shoes" now`, `{"type":"object","properties":{"q":{"type":"string"}}}`, `{"q":"red shoes"}`},
		{"quoted string", `Open the file "a.txt" and write "hello"`, `{"type":"object","properties":{"path":{"type":"string"},"body":{"type":"string"}}}`,
			`{"path":"a.txt","body":"hello"}`},
		{"fields", "title: My day, rating = 4, public: false", `{"type":"object","properties":{"rating":{"type":"integer"},"title":{"type":"string"},"public":{"type":"boolean"}}}`,
			`{"rating":4,"title":"My day","public":false}`},
		{"email", "Write to bob@example.org, please", `{"type":"object","properties":{"to":{"type":"string","format":"email"}}}`, `{"to":"bob@example.org"}`},
		{"too long to fit", "in San Francisco", `{"type":"object","properties":{"city":{"type":"string","maxLength":6}}}`, `{"city":"sample"}`},
		{"beats the default", "in Oslo", `{"type":"object","properties":{"city":{"type":"string","default":"Paris"}}}`, `{"city":"Oslo"}`},
		{"nothing", "hello", `{"type":"object","properties":{"city":{"type":"string"}}}`, `{"city":"sample city"}`},
		{"possessive", "the capital of France's neighbour", `{"type":"object","properties":{"country":{"type":"string"}}}`, `{"country":"France"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Options{Hints: FromPrompt(c.prompt)}.Instance([]byte(c.schema))
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, c.want)
			}
		})
	}
}
