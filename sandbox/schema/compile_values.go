package schema

import (
	"fmt"
	"math/big"
	"strconv"
)

// exclusive adds an exclusive bound, of either draft, to b; sign is the direction in
// which a bound of this side is stricter.
func (r *reader) exclusive(b bound, v *value, sign int) bound {
	switch {
	case v == nil:
	case v.kind == kindBoolean:
		b.open = v.text == "true" && b.value != nil
	case v.number != nil && (b.value == nil || v.number.Cmp(b.value)*sign >= 0):
		return bound{v.number, true}
	}
	return b
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s/%s: %s", r.node.where, r.name, what)
	}
}

// count reads a number of things, also spelt as a string (Gemini's int64 in JSON).
// Counts too large for an int are the largest int.
func (r *reader) count(v *value) int {
	number := v.number
	if v.kind == kindString {
		if n, err := strconv.ParseUint(v.text, 10, 63); err == nil {
			number = new(big.Rat).SetUint64(n)
		}
	}
	if number == nil || !number.IsInt() || number.Sign() < 0 {
		r.fail("not a count")
		return 0
	}
	const largest = 1<<31 - 1
	if !number.Num().IsInt64() || number.Num().Int64() > largest {
		return largest
	}
	return int(number.Num().Int64())
}

func (r *reader) number(v *value) *big.Rat {
	if v.number == nil {
		r.fail("not a number")
		return new(big.Rat)
	}
	return v.number
}

func (r *reader) text(v *value) string {
	if v.kind != kindString {
		r.fail("not a string")
	}
	return v.text
}

func (r *reader) list(v *value) []*value {
	if v.kind != kindArray {
		r.fail("not an array")
	}
	return v.items
}

func (r *reader) members(v *value) []member {
	if v.kind != kindObject {
		r.fail("not an object")
	}
	return v.members
}

func (r *reader) texts(v *value) []string {
	var out []string
	for _, item := range r.list(v) {
		out = append(out, r.text(item))
	}
	return out
}

func (r *reader) schema(v *value, step string) *node {
	where := r.node.where + "/" + r.name
	if step != "" {
		where += "/" + escape(step)
	}
	n, err := r.doc.compile(v, where)
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return newNode(where)
	}
	return n
}

func (r *reader) schemas(v *value) []property {
	var out []property
	for _, m := range r.members(v) {
		out = append(out, property{m.name, r.schema(m.value, m.name)})
	}
	return out
}

func (r *reader) schemaList(v *value) []*node {
	var out []*node
	for i, item := range r.list(v) {
		out = append(out, r.schema(item, strconv.Itoa(i)))
	}
	return out
}
