package schema

import (
	"encoding/base64"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// seen are the members and items of a value that schemas have looked at: what
// unevaluatedProperties and unevaluatedItems leave alone (2020-12, 11).
type seen struct {
	names map[string]bool
	items map[int]bool
}

func (s *seen) name(n string) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[n] = true
}

func (s *seen) item(i int) {
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

func (s *seen) add(t *seen) {
	for n := range t.names {
		s.name(n)
	}
	for i := range t.items {
		s.item(i)
	}
}

// valid reports whether v satisfies n, and adds what was looked at to outer, which may
// be nil. Once the checks of the document are used up, nothing is valid.
func (d *document) valid(n *node, v *value, outer *seen) bool {
	if d.checks--; d.checks < 0 || d.depth > deepestSchema {
		return false
	}
	d.depth++
	defer func() { d.depth-- }()

	var s seen
	ok := !n.never && n.kinds&v.kind != 0 && d.enumerates(n, v) &&
		d.validScalar(n, v) && d.validArray(n, v, &s) && d.validObject(n, v, &s) &&
		d.validCombined(n, v, &s) && d.validUnevaluated(n, v, &s)
	if ok && outer != nil {
		outer.add(&s)
	}
	return ok
}

func (d *document) enumerates(n *node, v *value) bool {
	if n.enum == nil {
		return true
	}
	if v.kind == kindString {
		return n.enumText[v.text]
	}
	d.checks -= len(n.enum) / 16
	return contains(n.enum, v)
}

func (d *document) validScalar(n *node, v *value) bool {
	switch {
	case v.kind == kindString:
		length := utf8.RuneCountInString(v.text)
		if n.pattern != nil {
			d.checks -= n.pattern.cost(v.text)
		}
		return length >= n.minLength && (n.maxLength < 0 || length <= n.maxLength) &&
			(n.pattern == nil || n.pattern.matches(v.text))
	case v.number != nil:
		return n.lower.admits(v.number, 1) && n.upper.admits(v.number, -1) &&
			(n.multiple == nil || quotient(v.number, n.multiple).IsInt())
	}
	return true
}

func (d *document) validArray(n *node, v *value, s *seen) bool {
	if v.kind != kindArray {
		return true
	}
	count := len(v.items)
	if count < n.minItems || n.maxItems >= 0 && count > n.maxItems {
		return false
	}
	for i, item := range v.items {
		if schema := n.schemaAt(i); schema != nil {
			if !d.valid(schema, item, nil) {
				return false
			}
			s.item(i)
		}
	}
	if n.contains != nil {
		found := 0
		for i, item := range v.items {
			if d.valid(n.contains, item, nil) {
				found++
				s.item(i)
			}
		}
		if found < n.minContained() || n.maxContains >= 0 && found > n.maxContains {
			return false
		}
	}
	return !n.unique || d.distinct(v.items)
}

// minContained is minContains with its default.
func (n *node) minContained() int {
	if n.minContains < 0 {
		return 1
	}
	return n.minContains
}

func (d *document) distinct(items []*value) bool {
	for i := range items {
		d.checks -= i / 64
		if d.checks < 0 || contains(items[:i], items[i]) {
			return false
		}
	}
	return true
}

func contains(items []*value, v *value) bool {
	for _, item := range items {
		if item.equal(v) {
			return true
		}
	}
	return false
}

func (d *document) validObject(n *node, v *value, s *seen) bool {
	if v.kind != kindObject {
		return true
	}
	if len(v.members) < n.minMembers || n.maxMembers >= 0 && len(v.members) > n.maxMembers {
		return false
	}
	d.checks -= len(n.required) * len(v.members) / 256
	for _, name := range n.required {
		if v.get(name) == nil {
			return false
		}
	}
	for _, dep := range n.dependentRequired {
		for _, name := range dep.needs {
			if v.get(dep.name) != nil && v.get(name) == nil {
				return false
			}
		}
	}
	for _, m := range v.members {
		if n.names != nil && !d.valid(n.names, textValue(m.name), nil) {
			return false
		}
		for _, schema := range n.schemasOf(m.name) {
			if !d.valid(schema, m.value, nil) {
				return false
			}
			s.name(m.name)
		}
	}
	return true
}

func (d *document) validCombined(n *node, v *value, s *seen) bool {
	for _, reference := range n.references {
		target, err := d.resolve(reference)
		if err != nil || !d.valid(target, v, s) {
			return false
		}
	}
	for _, schema := range n.allOf {
		if !d.valid(schema, v, s) {
			return false
		}
	}
	if n.anyOf != nil && d.matching(n.anyOf, v, s) == 0 {
		return false
	}
	if n.oneOf != nil && d.matching(n.oneOf, v, s) != 1 {
		return false
	}
	if n.not != nil && d.valid(n.not, v, nil) {
		return false
	}
	for _, dep := range n.dependentSchemas {
		if v.kind == kindObject && v.get(dep.name) != nil && !d.valid(dep.schema, v, s) {
			return false
		}
	}
	if n.condition != nil {
		branch := n.yes
		if !d.valid(n.condition, v, s) {
			branch = n.no
		}
		return branch == nil || d.valid(branch, v, s)
	}
	return true
}

func (d *document) matching(schemas []*node, v *value, s *seen) int {
	count := 0
	for _, schema := range schemas {
		if d.valid(schema, v, s) {
			count++
		}
	}
	return count
}

func (d *document) validUnevaluated(n *node, v *value, s *seen) bool {
	if n.unevaluatedProperties != nil {
		for _, m := range v.members {
			if !s.names[m.name] {
				if !d.valid(n.unevaluatedProperties, m.value, nil) {
					return false
				}
				s.name(m.name)
			}
		}
	}
	if n.unevaluatedItems != nil {
		for i, item := range v.items {
			if !s.items[i] {
				if !d.valid(n.unevaluatedItems, item, nil) {
					return false
				}
				s.item(i)
			}
		}
	}
	return true
}

// formatted makes the n-th string of a format, of at least the length given where the
// format has strings of any length. Unknown formats have none.
func formatted(format string, n, length int) (string, bool) {
	day := time.Date(2026, time.January, 15, 9, 30, 0, 0, time.UTC).AddDate(0, 0, n%10_000)
	// pad fills a part of the string that may be of any length.
	pad := func(head, tail string) string {
		if n > 0 {
			head += strconv.Itoa(n)
		}
		return head + strings.Repeat("x", max(0, min(length, longestText)-len(head)-len(tail))) + tail
	}
	switch format {
	case "date":
		return day.Format(time.DateOnly), true
	case "date-time":
		return day.Format(time.RFC3339), true
	case "time":
		return day.Add(time.Duration(n)*time.Minute).Format("15:04:05") + "Z", true
	case "duration":
		return fmt.Sprintf("PT%dH", n+1), true
	case "email", "idn-email":
		return pad("ada", "@example.com"), true
	case "hostname", "idn-hostname":
		if n == 0 {
			return "example.com", true
		}
		return fmt.Sprintf("host%d.example.com", n), true
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", 1+n%254), true
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", 1+n), true
	case "uri", "url", "iri":
		return pad("https://example.com/", ""), true
	case "uri-reference", "iri-reference", "uri-template":
		return pad("/path", ""), true
	case "uuid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n+1), true
	case "json-pointer":
		return pad("/a", ""), true
	case "relative-json-pointer":
		return pad("0/a", ""), true
	case "regex":
		return pad("a", ""), true
	case "byte", "base64":
		return base64.StdEncoding.EncodeToString([]byte(pad("Genway", ""))), true
	}
	return "", false
}

var (
	uuidForm     = lazily(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hostnameForm = lazily(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	durationForm = lazily(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`)
)

// conforms reports whether a hint or a default can be the value of a field of that format;
// anything can where the format is not one of those checked.
func conforms(format, s string) bool {
	var err error
	switch format {
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "date-time":
		_, err = time.Parse(time.RFC3339, s)
	case "time":
		_, err = time.Parse("15:04:05Z07:00", s)
	case "duration":
		return durationForm().MatchString(s) && len(s) > 2 && !strings.HasSuffix(s, "T")
	case "email":
		var a *mail.Address
		a, err = mail.ParseAddress(s)
		return err == nil && a.Address == s
	case "hostname":
		return len(s) < 254 && hostnameForm().MatchString(s)
	case "ipv4", "ipv6":
		var a netip.Addr
		a, err = netip.ParseAddr(s)
		return err == nil && a.Zone() == "" && a.Is4() == (format == "ipv4")
	case "uri", "url":
		var u *url.URL
		u, err = url.Parse(s)
		return err == nil && u.IsAbs() && (u.Host != "" || u.Opaque != "")
	case "uuid":
		return uuidForm().MatchString(s)
	}
	return err == nil
}

// checkable reports whether conforms distinguishes strings of the format from others.
func checkable(format string) bool { return !conforms(format, "\x00") }

// makable reports whether there are made-up strings of the format.
func makable(format string) bool {
	_, ok := formatted(format, 0, 0)
	return ok
}
