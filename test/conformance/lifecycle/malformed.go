// Package lifecycle proves what the gateway does with requests it cannot serve:
// malformed bodies, wrong methods, missing cores, ends and restarts. It drives the
// real programs over plain HTTP.
package lifecycle

import (
	"fmt"
	"strings"
)

// violations are texts that are no JSON value, by class of RFC 8259's grammar. Each
// is also put where a value belongs inside a body that is else right.
var violations = map[string][]string{
	"structure": {
		"[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1:2]", "[\"a\"", "[]]", "[}", "{]",
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1,,"b":2}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a"::1}`, `{a:1}`, `{'a':1}`,
		`{1:1}`, `{null:1}`, `{"a":1}}`, `{"a":1]`, `{"a":[}`, `{"a":"b"`, `{"a":{"b":1}`, `{[]:1}`, `:`, `,`, `[[[[`, `{"a":{"a":{"a":`,
	},
	"literals": {
		"nul", "nulll", "tru", "truE", "TRUE", "True", "False", "fals", "NULL", "None", "undefined", "NaN", "-NaN", "Infinity", "-Infinity", "+Infinity", "Inf", "nil", "yes",
	},
	"numbers": {
		"01", "-01", "00", "+1", "-", "--1", "1.", ".5", "-.5", "1.e1", "1e", "1e+", "1E-", "1e1.5", "0x10", "0b1", "1_000", "1,5e", "- 1", "1..2", "1e1e1", "0e", "1.5.5", "１", "1f", "1L", "0777777777777777", "2.", "-2.", "1/2", "1+2",
	},
	"strings": {
		`"`, `"a`, `'a'`, "`a`", `"\x41"`, `"\a"`, `"\u12"`, `"\u12G4"`, `"\U00000041"`, `"\`, `"\"`, `"a"b"`, "\"a\tb\"", "\"a\nb\"", "\"a\x00b\"", "\"a\x1fb\"", `"\'"`, `"\0"`, `"\u"`, `"\ud83d\u"`, "“a”", `a`, `"a" "b"`, `"\e"`, `"\v"`,
	},
	"comments": {
		"/* a */ 1 /* b", "// a", "# a", "1 // a", "/**/", "<!-- a --> 1", "1 /* a */ 2", "; a",
	},
	"bytes": {
		"\x00", "\x7f", "\xff\xfe{\x00}\x00", "\xfe\xff\x00{", "\xef\xbb\xbf{}", "\u00a01", "\u20281", "\ufeff1", "\v1", "\f1", "\x1e{}",
	},
}

// wrongTypes are JSON values of the wrong type for a member that wants a string, a
// number, an array and an object in turn.
var wrongTypes = map[string][]string{
	"string":  {"1", "true", "[]", `["a"]`, "{}", `{"a":1}`, "1.5"},
	"array":   {"1", "true", "{}", `{"a":1}`, "-1", `"text"`},
	"number":  {`"1"`, "true", "[]", "{}", `"a"`, "1e400"},
	"object":  {"1", "true", `"a"`, "[1]"},
	"boolean": {"1", "[]", "{}", `"maybe"`, `[true]`},
}

// operation is one of the five paths, with a body of it that is right.
type operation struct {
	name, path, group string
	// body has one %s, where some string member's value stands.
	body string
	// members are paths to members that must be of a type: a body with %s in its
	// place.
	members map[string][]string
	// wholes are JSON values that are no body at all.
	required []string
}

// operations are the five.
func operations() []operation {
	return []operation{
		{
			name: "chat completions", path: "/v1/chat/completions", group: "chat",
			body: `{"model":"sandbox-text","messages":[{"role":"user","content":%s}]}`,
			members: map[string][]string{
				"string": {`{"model":%s,"messages":[{"role":"user","content":"a"}]}`, `{"model":"sandbox-text","messages":[{"role":%s,"content":"a"}]}`},
				"array":  {`{"model":"sandbox-text","messages":%s}`},
				"number": {`{"model":"sandbox-text","max_tokens":%s,"messages":[{"role":"user","content":"a"}]}`, `{"model":"sandbox-text","temperature":%s,"messages":[{"role":"user","content":"a"}]}`},
			},
			required: []string{`{"messages":[{"role":"user","content":"a"}]}`, `{"model":"sandbox-text"}`, `{"model":"sandbox-text","messages":[]}`, `{"model":null,"messages":[{"role":"user","content":"a"}]}`, `{}`},
		},
		{
			name: "responses", path: "/v1/responses", group: "chat",
			body: `{"model":"sandbox-text","input":%s}`,
			members: map[string][]string{
				"string": {`{"model":%s,"input":"a"}`, `{"model":"sandbox-text","instructions":%s,"input":"a"}`},
				"array":  {`{"model":"sandbox-text","tools":%s,"input":"a"}`},
				"number": {`{"model":"sandbox-text","max_output_tokens":%s,"input":"a"}`, `{"model":"sandbox-text","top_p":%s,"input":"a"}`},
			},
			required: []string{`{"input":"a"}`, `{"model":"sandbox-text"}`, `{"model":"sandbox-text","input":null}`, `{}`},
		},
		{
			name: "messages", path: "/v1/messages", group: "messages",
			body: `{"model":"sandbox-text","max_tokens":64,"messages":[{"role":"user","content":%s}]}`,
			members: map[string][]string{
				"string": {`{"model":%s,"max_tokens":64,"messages":[{"role":"user","content":"a"}]}`, `{"model":"sandbox-text","max_tokens":64,"messages":[{"role":%s,"content":"a"}]}`},
				"array":  {`{"model":"sandbox-text","max_tokens":64,"messages":%s}`},
				"number": {`{"model":"sandbox-text","max_tokens":%s,"messages":[{"role":"user","content":"a"}]}`},
			},
			required: []string{
				`{"max_tokens":64,"messages":[{"role":"user","content":"a"}]}`, `{"model":"sandbox-text","messages":[{"role":"user","content":"a"}]}`,
				`{"model":"sandbox-text","max_tokens":64}`, `{"model":"sandbox-text","max_tokens":64,"messages":[]}`, `{}`,
			},
		},
		{
			name: "generateContent", path: "/v1beta/models/sandbox-text:generateContent", group: "generatecontent",
			body: `{"contents":[{"parts":[{"text":%s}]}]}`,
			members: map[string][]string{
				"string": {`{"contents":[{"role":%s,"parts":[{"text":"a"}]}]}`, `{"contents":[{"parts":[{"text":%s}]}]}`},
				// The vendor takes an object for a list of one, and numbers as strings.
				"boolean": {`{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":%s}}}`},
				"object":  {`{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":%s}`},
			},
			required: []string{`{}`, `{"contents":[]}`, `{"contents":null}`},
		},
		{
			name: "images", path: "/v1/images/generations", group: "chat",
			body: `{"model":"sandbox-image","size":"64x64","prompt":%s}`,
			members: map[string][]string{
				"string": {`{"model":%s,"prompt":"a"}`, `{"model":"sandbox-image","prompt":%s}`, `{"model":"sandbox-image","prompt":"a","size":%s}`},
				"number": {`{"model":"sandbox-image","prompt":"a","n":%s}`},
			},
			required: []string{`{"model":"sandbox-image"}`, `{"prompt":"a"}`, `{"model":"sandbox-image","prompt":""}`, `{"model":"sandbox-image","prompt":"a","n":0}`, `{"model":"sandbox-image","prompt":"a","size":"big"}`, `{}`},
		},
	}
}

// malformed is one body that no operation may take.
type malformed struct{ class, body string }

// malformedBodies are all bodies the operation must refuse.
func malformedBodies(op operation) []malformed {
	var all []malformed
	add := func(class, body string) { all = append(all, malformed{class, body}) }
	for class, texts := range violations {
		for _, text := range texts {
			add(class+" alone", text)
			add(class+" as a value", fmt.Sprintf(op.body, text))
		}
	}
	right := fmt.Sprintf(op.body, `"a"`)
	for cut := 1; cut < len(right); cut += max(1, len(right)/24) {
		add("cut short", right[:cut])
	}
	for _, tail := range []string{"x", "}", "]", ",", "{}", right, "\x00", "null", "//"} {
		add("something behind", right+tail)
	}
	for _, whole := range []string{"", " ", "\n", "null", "true", "1", `"a"`, "[]", "[" + right + "]"} {
		add("no object", whole)
	}
	add("duplicate member", strings.Replace(right, "{", `{"model":"x","model":"y","contents":[],"contents":[],`, 1))
	add("deep", strings.Repeat("[", 100_000))
	add("deep value", fmt.Sprintf(op.body, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)))
	add("deep objects", strings.Repeat(`{"a":`, 50_000))
	for want, bodies := range op.members {
		for _, body := range bodies {
			for _, value := range wrongTypes[want] {
				add("wrong type for a "+want, fmt.Sprintf(body, value))
			}
		}
	}
	for _, body := range op.required {
		add("a required member is missing", body)
	}
	return all
}
