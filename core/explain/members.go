package explain

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/genway/genway/core/override"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	// maxMembers bounds the members that are listed, maxArrivals the paths of one.
	maxMembers  = 500
	maxArrivals = 16
	// maxProbed bounds the bytes of the bodies that are tried out.
	maxProbed = 8 << 20
	// maxShown bounds a value that is shown, in bytes.
	maxShown = 256
)

// The rules.
const (
	ruleOverride = "override"
	ruleStrict   = "strict"
	ruleCodec    = "codec"
)

// tracing finds out what became of the members of a body.
type tracing struct {
	from, to []byte
	losses   []*genwayv1.Loss // by the names of from or, of an answer, by those of the contract
	refusal  *adminv1.ExplainedRefusal
	// answer says that from is an answer, on which no override bears.
	answer bool
	// settings says what the table of settings has for the members of a request; nil for an answer.
	settings *settings
	// plain returns what a body becomes without overrides; false where it is refused.
	plain func(body []byte) (outcome, bool)

	// cost is how many times larger than the body that is tried out is what its trial reads and writes.
	cost   int
	probed int
}

// outcome is what a body becomes for the receiver and, of an answer, the contract's message of it, with the
// contract's names.
type outcome struct{ body, message []byte }

// places are the values of an outcome by their paths.
type places struct{ body, message map[string][]byte }

func (o outcome) places() places {
	return places{valuesOf(o.body), valuesOf(o.message)}
}

// valuesOf returns the values of a body's leaves by their paths.
func valuesOf(body []byte) map[string][]byte {
	leaves, _ := leavesOf(body)
	return index(leaves)
}

// members lists what became of each.
func (t *tracing) members(ctx context.Context) (list []*adminv1.ExplainedMember, truncated bool) {
	leaves, more := leavesOf(t.from)
	final, finalMore := leavesOf(t.to)
	unchanged, _ := t.plain(t.from)
	sent, plainly := index(final), unchanged.places()
	claimed := map[string]bool{}
	truncated = more || finalMore
	for _, l := range leaves {
		if ctx.Err() != nil || t.probed > maxProbed || len(list) == maxMembers {
			return list, true
		}
		m := t.member(l, sent, plainly)
		for _, path := range m.GetArrives() {
			claimed[path] = true
		}
		if len(m.GetArrives()) > maxArrivals {
			m.Arrives = m.Arrives[:maxArrivals]
		}
		list = append(list, m)
	}
	for _, l := range final {
		if claimed[l.path] {
			continue
		}
		if len(list) == maxMembers {
			return list, true
		}
		m := &adminv1.ExplainedMember{Fate: adminv1.Fate_FATE_ADDED, Arrives: []string{l.path}, ArrivedJson: shown(l.value), Rule: ruleCodec}
		if was, there := plainly.body[l.path]; !t.answer && (!there || !bytes.Equal(was, l.value)) {
			m.Rule = ruleOverride
		}
		list = append(list, m)
	}
	return list, truncated
}

// member says what became of one.
func (t *tracing) member(l leaf, sent map[string][]byte, plainly places) *adminv1.ExplainedMember {
	m := &adminv1.ExplainedMember{Path: l.path, ValueJson: shown(l.value)}
	if r := t.refusal; r != nil && r.GetMember() != "" && within(l.path, r.GetMember()) {
		m.Fate, m.Rule, m.Reason = adminv1.Fate_FATE_REFUSED, ruleCodec, r.GetMessage()
		for _, loss := range t.losses {
			if within(l.path, loss.GetMember()) {
				m.Rule = ruleStrict
			}
		}
		return m
	}
	if there, ok := sent[l.path]; ok && bytes.Equal(there, l.value) {
		m.Fate, m.Arrives, m.ArrivedJson = adminv1.Fate_FATE_KEPT, []string{l.path}, shown(there)
		return m
	}
	configured := ""
	for _, loss := range t.losses {
		switch {
		case t.answer || !within(l.path, loss.GetMember()):
		case strings.Contains(loss.GetReason(), override.Reason):
			configured = loss.GetReason() // it may be another value that arrives
		default:
			m.Fate, m.Rule, m.Reason = adminv1.Fate_FATE_LOST, ruleCodec, loss.GetReason()
			return m
		}
	}
	if t.settings.explain(m, l, sent, plainly.body, configured) {
		return m
	}
	was, passed, tried, refused := t.probe(l, plainly)
	for _, path := range was {
		now, there := sent[path]
		switch {
		case !there:
			continue
		case !t.answer && !bytes.Equal(now, plainly.body[path]):
			m.Fate, m.Rule = adminv1.Fate_FATE_CHANGED, ruleOverride
		case m.Fate == adminv1.Fate_FATE_UNSPECIFIED:
			m.Fate, m.Rule = adminv1.Fate_FATE_MAPPED, ruleCodec
		}
		if m.Arrives = append(m.Arrives, path); len(m.Arrives) == 1 {
			m.ArrivedJson = shown(now)
		}
	}
	now, there := sent[l.path]
	switch {
	case len(m.Arrives) > 0:
	case len(was) > 0:
		m.Fate, m.Rule, m.Reason = adminv1.Fate_FATE_LOST, ruleOverride, "the target's configuration takes it away"
	case there:
		m.Fate, m.Rule, m.Arrives, m.ArrivedJson = adminv1.Fate_FATE_CHANGED, ruleCodec, []string{l.path}, shown(now)
		if then, ok := plainly.body[l.path]; !t.answer && ok && !bytes.Equal(then, now) {
			m.Rule = ruleOverride
		}
	case !tried || refused && discriminates(l.path):
		m.Fate, m.Rule, m.Reason = adminv1.Fate_FATE_MAPPED, ruleCodec, "other values of it are refused, so where it arrives is not known"
	default:
		m.Fate, m.Rule, m.Reason = adminv1.Fate_FATE_LOST, ruleCodec, t.reason(passed)
	}
	if configured != "" {
		m.Rule, m.Reason = ruleOverride, configured
	}
	return m
}

// reason says why a member of an answer is lost that has become these paths of the contract's message.
func (t *tracing) reason(passed []string) string {
	for _, loss := range t.losses {
		for _, path := range passed {
			if t.answer && within(path, loss.GetMember()) {
				return loss.GetReason()
			}
		}
	}
	return "the receiver's body does not depend on it"
}

// probe returns the paths in the receiver's body that depend on a member, or else those in the
// contract's message of an answer, whether there is another value of it that is not refused, and whether
// there is one that is.
func (t *tracing) probe(l leaf, before places) (paths, passed []string, tried, refused bool) {
	for _, value := range l.others() {
		body := slices.Concat(t.from[:l.at], value, t.from[l.at+len(l.value):])
		t.probed += (len(body) + 1) * max(t.cost, 1)
		result, ok := t.plain(body)
		if !ok {
			refused = true
			continue
		}
		tried = true
		after := result.places()
		if paths = differing(before.body, after.body); len(paths) > 0 {
			return paths, nil, true, refused
		}
		passed = append(passed, differing(before.message, after.message)...)
	}
	return nil, passed, tried, refused
}

// discriminates reports whether a member tells what the object is that it is in. Such a word is a protocol's
// own: another of it is refused, its absence may mean the same, and nothing of it is to arrive anywhere.
func discriminates(path string) bool {
	return path == "type" || strings.HasSuffix(path, ".type")
}

// differing returns the paths whose values are missing or changed, the shortest first.
func differing(before, after map[string][]byte) (paths []string) {
	for path, value := range before {
		if other, there := after[path]; !there || !bytes.Equal(other, value) {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return paths
}

// within reports whether a path is a member, or below it.
func within(path, member string) bool {
	rest, ok := strings.CutPrefix(path, member)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// index returns values by their paths.
func index(leaves []leaf) map[string][]byte {
	values := make(map[string][]byte, len(leaves))
	for _, l := range leaves {
		values[l.path] = l.value
	}
	return values
}

// shown is a value that is not too long to be shown.
func shown(value []byte) string {
	if len(value) > maxShown {
		return strings.ToValidUTF8(string(value[:maxShown]), "") + "…"
	}
	return strings.ToValidUTF8(string(value), "\uFFFD")
}
