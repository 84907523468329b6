// Package capture has the bodies of those requests that an operator has asked to see. A Rule, of
// a key or of a route, says which: a share of them, up to a size, without the members that are
// redacted, until a time. A Capture collects the bodies of one request. Headers, addresses and
// queries are never a part of it, since credentials are there.
//
// The package must not import any other of the core: keys are made of rules, and the record of a
// call has a capture.
package capture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// DefaultBytes is Rule.MaxBytes where it is 0.
	DefaultBytes = 64 << 10
	// MaxBytes is the largest Rule.MaxBytes.
	MaxBytes = 1 << 20
	// MaxAhead is how far ahead a rule's end may be.
	MaxAhead = 7 * 24 * time.Hour

	maxRedacted     = 64  // entries of Rule.Redact
	maxRedactedSize = 255 // bytes of one
)

// Rule says which requests have their bodies captured. The zero value of a member is its default;
// there is none for Until.
type Rule struct {
	// Share is the part of the requests: above 0 and up to 1. 0 is 1, all.
	Share float64 `json:"share,omitzero"`
	// MaxBytes is how much is kept of each body, up to MaxBytes. 0 is DefaultBytes.
	MaxBytes int64 `json:"max_bytes,omitzero"`
	// Redact are the members whose values are replaced in every body before anything is kept:
	// names, wherever they are, and JSON pointers (RFC 6901) in which * is any one name or
	// index. Of a body that is neither JSON nor events of JSON nothing is kept then.
	Redact []string `json:"redact,omitzero"`
	// Until is when capturing ends. It is at most MaxAhead ahead.
	Until time.Time `json:"until"`
}

// Mistake is what is wrong with a member of a rule.
type Mistake struct{ Member, Reason string }

// Check lists what is wrong with a rule, but for an end that has passed: rules are kept longer
// than they hold.
func (r *Rule) Check(now time.Time) []Mistake {
	var list []Mistake
	add := func(member, format string, args ...any) {
		list = append(list, Mistake{member, fmt.Sprintf(format, args...)})
	}
	if r.Share != 0 && !(r.Share > 0 && r.Share <= 1) { // NaN is none either
		add("share", "expected a number above 0 and up to 1, got %v", r.Share)
	}
	if r.MaxBytes < 0 || r.MaxBytes > MaxBytes {
		add("max_bytes", "expected 1 to %d, got %d", MaxBytes, r.MaxBytes)
	}
	if len(r.Redact) > maxRedacted {
		add("redact", "at most %d, not %d", maxRedacted, len(r.Redact))
	}
	for i, entry := range r.Redact {
		switch at := fmt.Sprintf("redact[%d]", i); {
		case entry == "" || entry == "/":
			add(at, "it is empty: expected a member's name, or a JSON pointer such as /messages/*/content")
		case len(entry) > maxRedactedSize || !utf8.ValidString(entry):
			add(at, "expected at most %d bytes of UTF-8", maxRedactedSize)
		case entry[0] == '/' && !isPointer(entry):
			add(at, "%.80q is no JSON pointer: ~ is written ~0, and / within a name ~1", entry)
		case slices.Contains(r.Redact[:i], entry):
			add(at, "%.80q stands there twice", entry)
		}
	}
	switch {
	case r.Until.IsZero():
		add("until", "it is missing: the time at which capturing ends, at most %s from now", ahead)
	case r.Until.Sub(now) > MaxAhead:
		add("until", "expected at most %s from now, got %s", ahead, r.Until.UTC().Format(time.RFC3339))
	}
	return list
}

const ahead = "7 days"

// isPointer reports whether a text is a JSON pointer: each ~ begins ~0 or ~1.
func isPointer(text string) bool {
	for {
		at := strings.IndexByte(text, '~')
		if at < 0 {
			return true
		}
		if at+1 >= len(text) || text[at+1] != '0' && text[at+1] != '1' {
			return false
		}
		text = text[at+2:]
	}
}

// Clone returns a copy that shares nothing with the rule.
func (r *Rule) Clone() *Rule {
	if r == nil {
		return nil
	}
	c := *r
	c.Redact = slices.Clone(r.Redact)
	return &c
}

// holds reports whether a rule is in force. One whose end is further ahead than an end may be has
// been overtaken by a clock that was put back: it is not.
func (r *Rule) holds(now time.Time) bool {
	left := time.Duration(0)
	if r != nil {
		left = r.Until.Sub(now)
	}
	return left > 0 && left <= MaxAhead
}

// hits draws whether one request is captured.
func (r *Rule) hits() bool {
	return r.Share == 0 || rand.Float64() < r.Share //nolint:gosec // a sample, no secret
}

// Begin returns the capture of a request to which these rules apply, nil ones among them; nil where
// none asks for it. The size is that of the first rule that does. What any rule in force redacts is
// redacted.
func Begin(now time.Time, budget *Budget, rules ...*Rule) *Capture {
	var chosen *Rule
	var redact []string
	for _, r := range rules {
		if !r.holds(now) {
			continue
		}
		redact = append(redact, r.Redact...)
		if chosen == nil && r.hits() {
			chosen = r
		}
	}
	if chosen == nil {
		return nil
	}
	most := chosen.MaxBytes
	if most == 0 {
		most = DefaultBytes
	}
	return &Capture{most: int(most), redact: newRedactor(redact), budget: budget, began: now}
}
