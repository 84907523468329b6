package schema

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/cpu"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validate checks an instance with an independent validator, formats included if asked.
func validate(t interface{ Fatalf(string, ...any) }, schema, instance []byte, formats bool) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatalf("the validator cannot read the schema: %v", err)
	}
	c := jsonschema.NewCompiler()
	if formats {
		c.AssertFormat()
	}
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatalf("%v", err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("the validator cannot compile the schema: %v\n%s", err, schema)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		t.Fatalf("the instance is no JSON: %v\n%s", err, instance)
	}
	if err := compiled.Validate(v); err != nil {
		t.Fatalf("%v\nschema   %s\ninstance %s", err, schema, instance)
	}
}

func TestInstance(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"true", `true`, `"sample text"`},
		{"empty", `{}`, `"sample text"`},
		{"object", `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"ok":{"type":"boolean"}},"required":["name"],"additionalProperties":false}`,
			`{"name":"sample name","age":1,"ok":false}`},
		{"required without a property", `{"type":"object","required":["b","a"],"properties":{"a":{"type":"null"}}}`,
			`{"a":null,"b":"sample b"}`},
		{"required of additional", `{"type":"object","required":["x"],"additionalProperties":{"type":"integer","minimum":7}}`, `{"x":7}`},
		{"optional false is left out", `{"type":"object","properties":{"a":false,"b":{"const":1}}}`, `{"b":1}`},
		{"array", `{"type":"array","items":{"type":"string"},"minItems":2}`, `["sample text","sample text 2"]`},
		{"unique enum", `{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}`, `["a","b","c"]`},
		{"no items", `{"type":"array","items":false}`, `[]`},
		{"tuple", `{"prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false}`, `[1,true]`},
		{"contains", `{"type":"array","items":{"type":"integer"},"contains":{"minimum":10},"minContains":2}`, `[10,11]`},
		{"multipleOf", `{"type":"integer","minimum":10,"maximum":20,"multipleOf":7}`, `14`},
		{"decimal multiple", `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1,"multipleOf":0.01}`, `0.01`},
		{"narrow range", `{"type":"number","minimum":0.1,"maximum":0.2}`, `0.15`},
		{"beyond float64", `{"type":"integer","minimum":9007199254740993}`, `9007199254740993`},
		{"negative", `{"type":"integer","exclusiveMaximum":-5}`, `-6`},
		{"length", `{"type":"string","minLength":3,"maxLength":4}`, `"samp"`},
		{"long", `{"type":"string","minLength":30}`, `"sample text.sample text.sample"`},
		{"pattern", `{"type":"string","pattern":"^[A-Z]{3}-\\d{4}$"}`, `"AAA-0000"`},
		{"pattern and length", `{"type":"string","pattern":"^[a-c]+$","minLength":5,"maxLength":6}`, `"aaaaa"`},
		{"date", `{"type":"string","format":"date"}`, `"2026-01-15"`},
		{"email of a length", `{"type":"string","format":"email","minLength":20}`, `"adaxxxxx@example.com"`},
		{"enum", `{"enum":[null,"b"]}`, `"b"`},
		{"enum and type", `{"type":"integer","enum":["a",2]}`, `2`},
		{"default", `{"type":"string","default":"metric"}`, `"metric"`},
		{"invalid default", `{"type":"integer","default":"metric","examples":[0.5,4]}`, `4`},
		{"anyOf with null", `{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `1`},
		{"type array", `{"type":["null","boolean"]}`, `false`},
		{"oneOf that overlaps", `{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1.5`},
		{"oneOf discriminated", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"}},"required":["kind"]},{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}]}`, `{"kind":"a"}`},
		{"allOf", `{"allOf":[{"type":"integer","minimum":3},{"maximum":3}]}`, `3`},
		{"not", `{"type":"integer","not":{"enum":[1,2]}}`, `3`},
		{"if", `{"type":"object","properties":{"a":{"const":1}},"if":{"required":["a"]},"then":{"properties":{"b":{"type":"integer"}},"required":["b"]}}`, `{"a":1,"b":1}`},
		{"dependentRequired", `{"type":"object","properties":{"a":{"const":1}},"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":"sample b"}`},
		{"definitions", `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"integer"}}}`, `1`},
		{"anchor", `{"$ref":"#x","$defs":{"y":{"$anchor":"x","type":"boolean"}}}`, `false`},
		{"list", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}}}`,
			`{"v":1,"next":{"v":1,"next":null}}`},
		{"tree", `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},"required":["children"]}`,
			`{"children":[{"children":[{"children":[]}]}]}`},
		{"minProperties", `{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}`, `{"key1":1,"key2":1}`},
		{"patternProperties", `{"type":"object","minProperties":2,"patternProperties":{"^x[0-9]+$":{"const":1}},"additionalProperties":false}`, `{"x12":1,"x24":1}`},
		{"maxProperties", `{"type":"object","maxProperties":1,"properties":{"a":{"const":1},"b":{"const":2}},"required":["b"]}`, `{"b":2}`},
		{"propertyNames", `{"type":"object","minProperties":1,"propertyNames":{"pattern":"^k_[a-z]$"}}`, ``},
		{"unevaluated", `{"type":"object","allOf":[{"properties":{"a":{"const":1}}}],"unevaluatedProperties":false}`, `{"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Options{}.Instance([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" && string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for seed := range uint64(20) {
				got, err := Options{Seed: seed}.Instance([]byte(c.schema))
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				validate(t, []byte(c.schema), got, true)
				again, err := Options{Seed: seed}.Instance([]byte(c.schema))
				if err != nil || !bytes.Equal(got, again) {
					t.Fatalf("seed %d: %s, then %s (%v)", seed, got, again, err)
				}
			}
		})
	}
}

// TestOtherSpellings reads the spelling of Gemini's Schema type, which no validator knows, and
// of ECMA-262, which the validator does not.
func TestOtherSpellings(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"OBJECT","properties":{"b":{"type":"STRING"},"a":{"type":"INTEGER","format":"int32"}},"propertyOrdering":["a","b"]}`, `{"a":1,"b":"sample b"}`},
		{`{"type":"ARRAY","items":{"type":"NUMBER"},"minItems":"2","maxItems":"2"}`, `[1,2]`},
		{`{"type":"STRING","pattern":"^\\u0041\\u{42}+$"}`, `"AB"`},
		{`{"type":"STRING","nullable":true,"format":"enum","enum":["x","y"]}`, `"x"`},
		{`{"type":"TYPE_UNSPECIFIED","anyOf":[{"type":"BOOLEAN"}]}`, `false`},
		{`{"type":"OBJECT","nullable":true,"properties":{"self":{"$ref":"#"}},"required":["self"]}`, `{"self":{"self":null}}`},
	} {
		got, err := Options{}.Instance([]byte(c.schema))
		if err != nil || string(got) != c.want {
			t.Errorf("%s\ngot  %s (%v)\nwant %s", c.schema, got, err, c.want)
		}
	}
}

func TestUnsatisfiable(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`false`, "#: the schema false allows nothing"},
		{`{"type":"object","properties":{"a":{"type":"integer","minimum":5,"maximum":4}},"required":["a"]}`, "#/properties/a: no number"},
		{`{"allOf":[{"type":"string"},{"type":"integer"}]}`, "no type is allowed by all"},
		{`{"type":"string","enum":[1,2]}`, "#: no value of enum"},
		{`{"type":"string","minLength":3,"maxLength":2}`, "#: minLength 3 is above maxLength 2"},
		{`{"type":"array","items":{"enum":[1]},"minItems":2,"uniqueItems":true}`, "#/uniqueItems: 2 different items"},
		{`{"type":"object","required":["a"],"additionalProperties":false}`, "#/additionalProperties: the schema false"},
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, "without end"},
		{`{"$ref":"#/$defs/x"}`, `"#/$defs/x" refers to nothing`},
		{`{"$ref":"https://example.com/x"}`, "refers to nothing"},
		{`{"not":{}}`, "exclude every value"},
		{`{"type":"string","pattern":"^(?=a)b$"}`, "cannot be read"},
		{`{"type":"string","minLength":1000000000}`, "more than 65536 characters"},
		{`{"type":"array","minItems":1000000000}`, "1000000000 items"},
		{`{"type":"object","minProperties":1000000000}`, "more than 4096"},
		{`{"type":"number","minimum":1e1000000000}`, "out of range"},
		{`{"type":"nothing"}`, "#/type: \"nothing\" is not a type"},
		{`{"type":"object","properties":{"a":{"minimum":"x"}}}`, "#/properties/a/minimum: not a number"},
		{`{"properties":[]}`, "#/properties: not an object"},
		{`[]`, "a schema is an object or a boolean"},
		{`{`, "read the schema"},
		{`{} {}`, "more than one"},
		{strings.Repeat(`{"not":`, 1000) + `{}` + strings.Repeat(`}`, 1000), "nested"},
	} {
		got, err := Options{Seed: 1}.Instance([]byte(c.schema))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\ngot  %s, %v\nwant an error with %q", c.schema, got, err, c.want)
		}
	}
}

// TestBounded compiles schemas whose instances or search could grow without end.
func TestBounded(t *testing.T) {
	var members []string
	for i := range 60 {
		members = append(members, `"p`+string(rune('a'+i%26))+strings.Repeat("x", i)+`":{"$ref":"#/$defs/n"}`)
	}
	wide := `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{` + strings.Join(members, ",") + `}}}}`
	deep := strings.Repeat(`{"anyOf":[{"oneOf":[`, 20) + `{"type":"integer"},{"type":"number"}` + strings.Repeat(`]},false]}`, 20)
	choices := `{"allOf":[` + strings.Repeat(`{"anyOf":[{"type":"string"},{"minLength":2},{"maxLength":1}]},`, 30) + `{"type":"string","minLength":5,"maxLength":4}]}`
	big := `{"type":"array","minItems":4096,"items":{"type":"array","minItems":4096}}`
	unique := `{"type":"array","minItems":4096,"uniqueItems":true,"items":{"type":"integer"}}`
	var names []string
	for i := range 50_000 {
		names = append(names, fmt.Sprintf(`"%c%d"`, 'a'+i%26, i))
	}
	list := strings.Join(names, ",")
	pattern := `{"type":"string","pattern":"^` + strings.Repeat("[a-z]?b*", 8000) + `c$","minLength":60000}`
	for name, schema := range map[string]string{
		"wide": wide, "deep": deep, "choices": choices, "big": big, "unique": unique, "pattern": pattern,
		"empty":    `{"type":"string","pattern":"((((^*)*\\b*)*)*)*","minLength":60000}`,
		"enum":     `{"enum":[` + list + `],"not":{"enum":[` + list + `]}}`,
		"required": `{"required":[` + list + `]}`,
		"allOf":    `{"allOf":[` + strings.Repeat(`{"minLength":1},`, 50_000) + `{}]}`,
		"prose":    `{"description":"{` + strings.Repeat(`const: ['a', `, 50_000) + strings.Repeat(`default: a, `, 50_000) + `x}"}`,
		"sums":     `{"enum":[` + strings.Repeat("1.5,", 50_000) + `"a"],"type":"string"}`,
	} {
		var got []byte
		var err error
		took := cpu.Took(func() { got, err = Options{}.Instance([]byte(schema)) })
		if err == nil && len(got) > maxBytes {
			t.Errorf("%s: %d bytes", name, len(got))
		}
		if took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		t.Logf("%s: %d bytes, %v, %v", name, len(got), err, took)
	}
}

func FuzzInstance(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"}},"required":["a"]}`), "")
	f.Add([]byte(`{"oneOf":[{"type":"number","multipleOf":0.1},{"enum":[1,null]}],"if":{"const":1},"then":false}`), "in Paris")
	f.Add([]byte(`{"type":"ARRAY","items":{"$ref":"#"},"contains":{"format":"date"},"uniqueItems":true}`), `"x": 1`)
	f.Add([]byte(`{"type":"string","description":"A.\n\n{enum: ['a', None], const: a, minLength: 1}"}`), "")
	f.Fuzz(func(t *testing.T, schema []byte, prompt string) {
		got, err := Options{Seed: 1, Hints: FromPrompt(prompt)}.Instance(schema)
		if err != nil {
			return
		}
		if _, err := parse(got); err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
	})
}

func BenchmarkInstance(b *testing.B) {
	tool := []byte(`{"type":"object","properties":{"location":{"type":"string","description":"The city"},"unit":{"type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":14}},"required":["location"],"additionalProperties":false}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Options{Seed: 7}).Instance(tool); err != nil {
			b.Fatal(err)
		}
	}
}
