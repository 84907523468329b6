package schema

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// array makes an array of the fewest items allowed, but of one if it may have one, and
// of all those that prefixItems lists.
func (m *maker) array(g *goal, at place) (*value, error) {
	count, contained, prefix := g.minItems, 0, 0
	for _, n := range g.nodes {
		prefix = max(prefix, len(n.prefix))
		if n.contains != nil {
			contained += n.minContained()
		}
	}
	if !m.lean && at.variant%2 == 0 {
		count = max(count, prefix, 1)
	}
	count = max(count, contained)
	if g.maxItems >= 0 {
		count = min(count, g.maxItems)
	}
	least := max(g.minItems, min(contained, count))
	if least > maxMade || g.minItems > count {
		return nil, fmt.Errorf("%s: an array of %d items is asked for, of at most %d", g.where, least, min(count, maxMade))
	}
	count = min(count, maxMade)

	v := &value{kind: kindArray}
	for i := range count {
		before := m.used
		item, err := m.item(g, v.items, at)
		if err != nil {
			if m.used = before; i < least {
				return nil, err
			}
			break
		}
		v.items = append(v.items, item)
	}
	return v, nil
}

// item makes the item that follows those made, and differs from them if it has to.
func (m *maker) item(g *goal, made []*value, at place) (*value, error) {
	index := len(made)
	schemas := m.itemSchemas(g, index)
	at.path, at.index = fmt.Sprintf("%s/%d", at.path, index), index
	at.depth++
	variants := 1
	if g.unique {
		variants = maxVariants + 2*index
	}
	for range variants {
		v, err := m.make(schemas, at)
		if err != nil {
			return nil, err
		}
		if m.steps -= index / 1024; !g.unique || !contains(made, v) {
			return v, nil
		}
		at.variant++
	}
	return nil, fmt.Errorf("%s/uniqueItems: %d different items could not be found", g.where, index+1)
}

// itemSchemas are the schemas of the item at index. The first items are also those
// that contains asks for, of one schema after the other.
func (m *maker) itemSchemas(g *goal, index int) []*node {
	var schemas []*node
	reserved := 0
	for _, n := range g.nodes {
		if s := n.schemaAt(index); s != nil {
			schemas = append(schemas, s)
		}
		if n.contains != nil {
			if from := reserved; index >= from && index < from+n.minContained() {
				schemas = append(schemas, n.contains)
			}
			reserved += n.minContained()
		}
	}
	for _, n := range g.nodes {
		if len(schemas) == 0 && n.unevaluatedItems != nil {
			schemas = append(schemas, n.unevaluatedItems)
		}
	}
	if schemas == nil {
		schemas = []*node{m.doc.anything}
	}
	return schemas
}

// object makes an object with every listed and required member that can be had.
func (m *maker) object(g *goal, at place) (*value, error) {
	required := g.required(nil)
	if len(required.list) > maxMade || g.minMembers > maxMade {
		return nil, fmt.Errorf("%s: an object of more than %d members is asked for", g.where, maxMade)
	}
	v := &value{kind: kindObject}
	for _, name := range g.names(required) {
		needed := required.has[name]
		// Variants other than the first leave more and more out, down to what is required.
		if !needed && (m.lean || at.variant%2 == 1) {
			continue
		}
		before := m.used
		made, err := m.member(g, name, at)
		if err == nil {
			v.members = append(v.members, member{name, made})
			continue
		}
		if m.used = before; needed {
			return nil, err
		}
	}
	v.members = g.trim(v.members, required)
	return v, m.pad(g, v, at)
}

// member makes the value of one member.
func (m *maker) member(g *goal, name string, at place) (*value, error) {
	var schemas []*node
	for _, n := range g.nodes {
		if n.names != nil && !m.doc.valid(n.names, textValue(name), nil) {
			return nil, fmt.Errorf("%s/propertyNames: excludes the member %.60q", n.where, name)
		}
		schemas = append(schemas, n.schemasOf(name)...)
	}
	if schemas == nil {
		// Only unevaluatedProperties can bear on a member that no other keyword names.
		for _, n := range g.nodes {
			if n.unevaluatedProperties != nil && !n.unevaluatedProperties.never {
				schemas = append(schemas, n.unevaluatedProperties)
			}
		}
	}
	if schemas == nil {
		schemas = []*node{m.doc.anything}
	}
	at.name, at.path, at.index = name, at.path+"/"+name, 0
	at.depth++
	return m.make(schemas, at)
}

// names is an ordered set of member names.
type names struct {
	list []string
	has  map[string]bool
}

func (n *names) add(more ...string) {
	for _, name := range more {
		if !n.has[name] {
			n.has[name] = true
			n.list = append(n.list, name)
		}
	}
}

// required are the names given and the names of members that must be there with them.
func (g *goal) required(present []string) *names {
	out := &names{has: map[string]bool{}}
	out.add(present...)
	for _, n := range g.nodes {
		out.add(n.required...)
	}
	for size := -1; size != len(out.list); {
		size = len(out.list)
		for _, n := range g.nodes {
			for _, dep := range n.dependentRequired {
				if out.has[dep.name] {
					out.add(dep.needs...)
				}
			}
		}
	}
	return out
}

// names are the members to make in their order: propertyOrdering, then the order of
// the schemas, then what is required without being listed.
func (g *goal) names(required *names) []string {
	declared, out := &names{has: map[string]bool{}}, &names{has: map[string]bool{}}
	for _, n := range g.nodes {
		for _, p := range n.properties {
			declared.add(p.name)
		}
	}
	for _, n := range g.nodes {
		for _, name := range n.ordering {
			if declared.has[name] {
				out.add(name)
			}
		}
	}
	out.add(declared.list...)
	out.add(required.list...)
	// What a listed member requires beside itself comes last.
	return g.required(out.list).list
}

// trim drops optional members, the last ones first, until maxProperties holds.
func (g *goal) trim(members []member, required *names) []member {
	for i := len(members) - 1; i >= 0 && g.maxMembers >= 0 && len(members) > g.maxMembers; i-- {
		if !required.has[members[i].name] {
			members = slices.Delete(members, i, i+1)
		}
	}
	return members
}

// pad adds members of made-up names until minProperties holds.
func (m *maker) pad(g *goal, v *value, at place) error {
	var failed error
	for i := 1; len(v.members) < g.minMembers; i++ {
		if i > 2*g.minMembers+maxVariants || m.steps < 0 {
			return fmt.Errorf("%s/minProperties: too few members are allowed: %w", g.where, failed)
		}
		name, err := m.freshName(g, i, at)
		if err == nil && v.get(name) == nil {
			var made *value
			if made, err = m.member(g, name, at); err == nil {
				v.members = append(v.members, member{name, made})
			}
		}
		if err != nil {
			failed = err
		} else if failed == nil {
			failed = fmt.Errorf("no other name than %.60q is allowed", name)
		}
	}
	return nil
}

// freshName makes the i-th name that propertyNames and patternProperties may allow.
func (m *maker) freshName(g *goal, i int, at place) (string, error) {
	at.name, at.index, at.variant = "name", i, i
	var schemas []*node
	for _, n := range g.nodes {
		if n.names != nil {
			schemas = append(schemas, n.names)
		}
	}
	if schemas != nil {
		at.depth++
		v, err := m.make(append(schemas, m.doc.name), at)
		if err != nil {
			return "", err
		}
		return v.text, nil
	}
	for _, n := range g.nodes {
		if n.additional == nil || !n.additional.never {
			continue
		}
		for _, p := range n.patterns {
			return p.pattern.generate(i, 1)
		}
	}
	return "key" + strconv.Itoa(i), nil
}

// admits reports whether r is on the right side of b: sign is 1 for a lower bound, -1
// for an upper one.
func (b bound) admits(r *big.Rat, sign int) bool {
	if b.value == nil {
		return true
	}
	side := r.Cmp(b.value) * sign
	return side > 0 || side == 0 && !b.open
}

// stricter returns the narrower of two bounds of the same side.
func stricter(a, b bound, sign int) bound {
	switch {
	case b.value == nil:
		return a
	case a.value == nil || b.value.Cmp(a.value)*sign > 0:
		return b
	case b.value.Cmp(a.value) == 0:
		return bound{a.value, a.open || b.open}
	}
	return a
}

func quotient(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }

// commonMultiple is the least positive number that is an integer multiple of both,
// or nil if it is too large to be used. Nil is no restriction.
func commonMultiple(a, b *big.Rat) (*big.Rat, error) {
	if a == nil || b == nil {
		if a == nil {
			a = b
		}
		return a, nil
	}
	x := new(big.Int).Mul(a.Num(), b.Denom())
	y := new(big.Int).Mul(b.Num(), a.Denom())
	gcd := new(big.Int).GCD(nil, nil, x, y)
	x.Mul(x, y.Quo(y, gcd))
	if x.BitLen() > maxBits {
		return nil, errors.New("the values of multipleOf have no common multiple of a reasonable size")
	}
	return new(big.Rat).SetFrac(x, new(big.Int).Mul(a.Denom(), b.Denom())), nil
}

// number makes the wish-th number (from 1) of those g allows, counting from the lower
// bound, or from the upper one if that is all there is, or else from the step itself.
// Whole asks for an integer, otherwise a fraction is preferred.
func (g *goal) number(whole bool, wish int64) (*value, error) {
	step := g.multiple
	if whole {
		var err error
		if step, err = commonMultiple(step, big.NewRat(1, 1)); err != nil {
			return nil, err
		}
	}
	if step == nil {
		return g.fraction(wish)
	}
	first, last := firstMultiple(g.lower, step), lastMultiple(g.upper, step)
	k := big.NewInt(wish)
	one := big.NewInt(1)
	switch {
	case first != nil && last != nil:
		span := new(big.Int).Sub(last, first)
		if span.Sign() < 0 {
			return nil, errors.New("no number is within minimum and maximum and a multiple of multipleOf")
		}
		// A wish that is itself within the range is the plainest choice.
		if k.Cmp(first) < 0 || k.Cmp(last) > 0 {
			k.Sub(k, one)
			k.Mod(k, span.Add(span, one)).Add(k, first)
		}
	case first != nil && k.Cmp(first) < 0:
		k.Add(k, first).Sub(k, one)
	case last != nil && k.Cmp(last) > 0:
		k.Sub(last, k).Add(k, one)
	}
	return numberValue(new(big.Rat).Mul(new(big.Rat).SetInt(k), step)), nil
}

// fraction makes a number that is no integer if it can: a half above the lower bound
// or below the upper one, or the point that far into a narrow range.
func (g *goal) fraction(wish int64) (*value, error) {
	half := new(big.Rat).Add(big.NewRat(wish, 1), big.NewRat(-1, 2))
	low, high := g.lower.value, g.upper.value
	switch {
	case low == nil && high == nil:
		return numberValue(half), nil
	case low != nil && high == nil:
		return numberValue(half.Add(half, new(big.Rat).SetInt(floor(low))).Add(half, big.NewRat(1, 1))), nil
	case low == nil:
		return numberValue(half.Sub(new(big.Rat).SetInt(floor(high)), half)), nil
	}
	width := new(big.Rat).Sub(high, low)
	switch {
	case width.Sign() < 0 || width.Sign() == 0 && (g.lower.open || g.upper.open):
		return nil, errors.New("no number is within minimum and maximum")
	case width.Sign() == 0:
		return numberValue(low), nil
	}
	// 1/2, 1/4, 3/4, 1/8, ... of the width: finite decimals all, and inside.
	parts := int64(2)
	for wish > parts/2 && parts < 1<<20 {
		wish -= parts / 2
		parts *= 2
	}
	at := big.NewRat((2*wish-1)%parts, parts)
	return numberValue(at.Mul(at, width).Add(at, low)), nil
}

func floor(r *big.Rat) *big.Int {
	// Euclidean division with a positive denominator rounds down.
	return new(big.Int).Div(r.Num(), r.Denom())
}

// firstMultiple is the k of the first k*step that b, a lower bound, admits.
func firstMultiple(b bound, step *big.Rat) *big.Int {
	if b.value == nil {
		return nil
	}
	q := quotient(b.value, step)
	k := floor(q)
	if !q.IsInt() || b.open {
		k.Add(k, big.NewInt(1))
	}
	return k
}

// lastMultiple is the k of the last k*step that b, an upper bound, admits.
func lastMultiple(b bound, step *big.Rat) *big.Int {
	if b.value == nil {
		return nil
	}
	q := quotient(b.value, step)
	k := floor(q)
	if q.IsInt() && b.open {
		k.Sub(k, big.NewInt(1))
	}
	return k
}

// text makes a string: of the first pattern where there is one, in the format where it
// fits the length, or of words that name the member.
func (m *maker) text(g *goal, at place) (*value, error) {
	if g.maxLength >= 0 && g.minLength > g.maxLength {
		return nil, fmt.Errorf("minLength %d is above maxLength %d", g.minLength, g.maxLength)
	}
	if g.minLength > longestText {
		return nil, fmt.Errorf("a string of more than %d characters is asked for", longestText)
	}
	if s, ok := formatted(g.format, m.pick(at, 1<<16)+at.index+at.variant, g.minLength); ok && g.fits(s) {
		return textValue(s), nil
	}
	if len(g.patterns) > 0 {
		return m.patterned(g, m.pick(at, 4)+at.index+at.variant)
	}
	s := m.words(at)
	if g.maxLength >= 0 {
		s = s[:min(len(s), g.maxLength)]
		// A word cut short must still distinguish items of an array.
		if mark := strconv.Itoa(at.index + at.variant); at.index+at.variant > 0 && len(mark) <= len(s) {
			s = s[:len(s)-len(mark)] + mark
		} else if at.index+at.variant > 0 && len(s) == 1 {
			s = string(rune('a' + (at.index+at.variant)%26))
		}
		s = strings.TrimRight(s, " ")
	}
	for len(s) < g.minLength {
		s += "." + s
		s = s[:min(len(s), max(g.minLength, 1))]
	}
	return textValue(s), nil
}

func (g *goal) fits(s string) bool {
	length := utf8.RuneCountInString(s)
	if length < g.minLength || g.maxLength >= 0 && length > g.maxLength {
		return false
	}
	for _, p := range g.patterns {
		if !p.matches(s) {
			return false
		}
	}
	return true
}

// adjectives vary the words of made-up strings; the seed 0 takes the first.
var adjectives = []string{"sample", "plain", "small", "bright", "quiet", "early", "round", "green"}

// words makes ASCII words of the member's name: "sample city name", "plain city name 2".
func (m *maker) words(at place) string {
	s := adjectives[m.pick(at, len(adjectives))]
	if name := strings.Join(split(at.name), " "); name != "" {
		s += " " + name
	} else {
		s += " text"
	}
	if n := at.index + at.variant; n > 0 {
		s += " " + strconv.Itoa(n+1)
	}
	return s
}

// split returns the lower-case ASCII words of a member's name: cityName, city_name and
// city-name are the same. Long names give their beginning.
func split(name string) []string {
	const longest = 60
	var spaced strings.Builder
	previous := ' '
	for i, r := range name {
		if i > longest {
			break
		}
		switch {
		case r >= 'A' && r <= 'Z':
			if previous >= 'a' && previous <= 'z' {
				spaced.WriteByte(' ')
			}
			spaced.WriteRune(r - 'A' + 'a')
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			spaced.WriteRune(r)
		default:
			spaced.WriteByte(' ')
		}
		previous = r
	}
	return strings.Fields(spaced.String())
}
