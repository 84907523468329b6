// Package strict judges JSON bodies as strictly as the vendors do that they are sent to: a body can be valid by an
// SDK's types and still be answered with 400. Each rule is one row of a table of its protocol, with its source. What
// depends on the model is read in core/catalog.
//
// It judges what a vendor receives, so that it does not know the codecs: it must not import codec, protocol, or any
// package of ours but core/catalog.
package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/genway/genway/core/catalog"
)

// Refusal is a rule that a body breaks.
type Refusal struct {
	// Rule is the name of the rule.
	Rule string
	// Member is the path of the member that breaks it: messages[1].content[0].text.
	Member string
	// Source is where the vendor says so.
	Source string
}

func (r Refusal) String() string { return r.Member + ": " + r.Rule }

// Target is what a body is sent to.
type Target struct {
	// Place is the provider that runs the upstream, by its name in the configuration (bedrock, vertex, azure); empty
	// is the protocol's vendor. The rules of OpenAI are not those of the engines that speak its protocols.
	Place string
	// Protocol is messages, generatecontent, interactions, chat or responses. A body of another has no rules.
	Protocol string
	// Model is the model's name at the place.
	Model string
	// Catalog is what is known of models. Default: what ships.
	Catalog *catalog.Catalog
}

// Rule is a row of the table: what a vendor answers with 400.
type Rule struct {
	// Name says what is demanded.
	Name string
	// Source is the page, the error text or the client's code that the rule was read in.
	Source string
	// broken returns the members of a body that break the rule.
	broken func(b *body) []value
}

// body is a body with what its rules depend on.
type body struct {
	value
	target Target
	model  catalog.Row
}

// Rules returns the rules of a protocol.
func Rules(protocol string) []Rule { return rules[protocol] }

var rules = map[string][]Rule{
	"messages":        messagesRules,
	"generatecontent": generateContentRules,
	"interactions":    interactionsRules,
	"chat":            slices.Concat(chatRules, openAIRules("chat")),
	"responses":       slices.Concat(responsesRules, openAIRules("responses")),
}

// Judge returns the rules that a body breaks, in the order of the table.
func Judge(t Target, text []byte) []Refusal {
	if rules[t.Protocol] == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	b := &body{target: t}
	if err := d.Decode(&b.v); err != nil {
		return []Refusal{{Rule: "a body is JSON: " + err.Error(), Member: "$"}}
	}
	if b.target.Catalog == nil {
		b.target.Catalog = catalog.Shipped()
	}
	b.model = b.target.Catalog.Find(t.Model)
	var all []Refusal
	for _, rule := range rules[t.Protocol] {
		for _, broken := range rule.broken(b) {
			all = append(all, Refusal{rule.Name, broken.path, rule.Source})
		}
	}
	return all
}

// value is a value of a body. That of an absent member, and null, is nil.
type value struct {
	path string
	v    any
}

// at returns the value at a path of names.
func (v value) at(names ...string) value {
	for _, name := range names {
		members, _ := v.v.(map[string]any)
		v = value{strings.TrimPrefix(v.path+"."+name, "."), members[name]}
	}
	return v
}

// either returns the first of the members that is there: generateContent takes two spellings.
func (v value) either(names ...string) value {
	for _, name := range names {
		if found := v.at(name); found.is() {
			return found
		}
	}
	return v.at(names[0])
}

// is reports whether there is a value.
func (v value) is() bool { return v.v != nil }

// has reports whether an object has a member, which may be null.
func (v value) has(name string) bool {
	members, _ := v.v.(map[string]any)
	_, ok := members[name]
	return ok
}

// list returns the elements of an array, none of another value.
func (v value) list() []value {
	elements, _ := v.v.([]any)
	all := make([]value, len(elements))
	for i, e := range elements {
		all[i] = value{fmt.Sprintf("%s[%d]", v.path, i), e}
	}
	return all
}

// members returns the members of an object, sorted by name.
func (v value) members() []value {
	object, _ := v.v.(map[string]any)
	var all []value
	for _, name := range sorted(object) {
		all = append(all, v.at(name))
	}
	return all
}

// isObject reports whether it is an object.
func (v value) isObject() bool {
	_, ok := v.v.(map[string]any)
	return ok
}

// isEmptyList reports whether it is [].
func (v value) isEmptyList() bool {
	list, ok := v.v.([]any)
	return ok && len(list) == 0
}

// text returns a string, "" for another value.
func (v value) text() string {
	s, _ := v.v.(string)
	return s
}

// number returns a number.
func (v value) number() (float64, bool) {
	n, ok := v.v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// blank reports whether it is a string of white space alone.
func (v value) blank() bool {
	s, ok := v.v.(string)
	return ok && strings.TrimSpace(s) == ""
}

// where returns the values of which a condition is true.
func where(all []value, condition func(value) bool) []value {
	var found []value
	for _, v := range all {
		if condition(v) {
			found = append(found, v)
		}
	}
	return found
}

// when returns the values that are there, on a condition.
func when(condition bool, all ...value) []value {
	if !condition {
		return nil
	}
	return where(all, value.is)
}

// repeated returns the values whose texts an earlier one has.
func repeated(all []value) []value {
	seen := map[string]bool{}
	return where(all, func(v value) bool {
		before := seen[v.text()]
		seen[v.text()] = true
		return before
	})
}

// every returns a value and all in it, without what the names of members are the caller's own data.
func (v value) every(skip ...string) []value {
	all := []value{v}
	for _, e := range v.list() {
		all = append(all, e.every(skip...)...)
	}
	for _, m := range v.members() {
		if !slices.Contains(skip, m.path[strings.LastIndexByte(m.path, '.')+1:]) {
			all = append(all, m.every(skip...)...)
		}
	}
	return all
}

// thinks reports whether the catalogue says that the model is asked to think in a form, and whether it says anything.
func (b *body) thinks(form string) (yes, known bool) {
	if b.model.Thinking == nil {
		return false, false
	}
	return slices.Contains(*b.model.Thinking, form), true
}

// lacks reports whether the catalogue says that the model is not asked to think in a form.
func (b *body) lacks(form string) bool {
	yes, known := b.thinks(form)
	return known && !yes
}

// refuses reports whether the catalogue says that the model refuses a parameter, by its name in the contract, or a feature.
func (b *body) refuses(parameter string) bool {
	return b.model.Refuses != nil && slices.Contains(*b.model.Refuses, parameter)
}

// unknownEffort returns the words for effort that the model does not take, as far as the catalogue knows.
func (b *body) unknownEffort(words ...value) []value {
	return where(words, func(w value) bool {
		return b.model.Efforts != nil && w.is() && !slices.Contains(b.model.Efforts, w.text())
	})
}

// over reports whether a limit of tokens is above the model's.
func (b *body) over(limit value) bool {
	n, ok := limit.number()
	return ok && b.model.MaxOutput != nil && n > float64(*b.model.MaxOutput)
}

func lower(s string) string { return strings.ToLower(s) }

// snake returns a name of camel case in snake case.
func snake(name string) string {
	var out strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			out.WriteByte('_')
		}
		out.WriteRune(c)
	}
	return strings.ToLower(out.String())
}
