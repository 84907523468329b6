package explain

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/setting"
	"github.com/genway/genway/core/override"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/go-json-experiment/json/jsontext"
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
	// cached says that the target adds all prompt-cache breakpoints of the upstream's body.
	cached bool
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
		m.Arrives = slices.DeleteFunc(m.GetArrives(), t.isAdded)
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
		if was, there := plainly.body[l.path]; !t.answer && (!there || !bytes.Equal(was, l.value)) || t.isAdded(l.path) {
			m.Rule = ruleOverride
		}
		list = append(list, m)
	}
	return list, truncated
}

// isAdded reports whether a path is in a breakpoint that the target's configuration adds.
func (t *tracing) isAdded(path string) bool {
	return t.cached && strings.Contains(path, ".cache_control.")
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

// settings explains the members of a caller's request that are settings, by their table.
type settings struct{ caller, target *protocol.Protocol }

// explain says what became of a leaf, which the losses do not name, if it is a setting whose member says what
// became of it; false for another leaf. plainly has the receiver's values without overrides, and
// configured is why an override changes the setting, if one does.
func (s *settings) explain(m *adminv1.ExplainedMember, l leaf, sent, plainly map[string][]byte, configured string) bool {
	if s == nil {
		return false
	}
	row, below := s.of(l.path)
	if row == nil {
		return false
	}
	if m.Rule = ruleCodec; configured != "" {
		m.Rule = ruleOverride
	}
	own, place := row.Of(s.caller.ID), row.Of(s.target.ID)
	byHand := own.ByHand || place.ByHand
	for member := range strings.SplitSeq(place.Member, "|") {
		value, there := sent[member+below]
		// Where codecs have code of their own only the same value is known to be this one's.
		if !there || place.Member == "" || byHand && !bytes.Equal(plainly[member+below], l.value) {
			continue
		}
		m.Fate, m.Arrives, m.ArrivedJson, m.Reason = adminv1.Fate_FATE_MAPPED, []string{member + below}, shown(value), configured
		if !bytes.Equal(value, plainly[member+below]) {
			m.Fate, m.Rule = adminv1.Fate_FATE_CHANGED, ruleOverride
		}
		return true
	}
	switch value := string(l.value); {
	case configured != "" && byHand: // another value may arrive anywhere
		return false
	case configured != "":
		m.Fate, m.Reason = adminv1.Fate_FATE_LOST, configured
	case value == row.Neutral && !own.ByHand, value == "null", value == `""`:
		m.Fate, m.Reason = adminv1.Fate_FATE_IMPLIED, "it says what is so without it"
	case value == place.Implied:
		m.Fate, m.Reason = adminv1.Fate_FATE_IMPLIED, place.ImpliedBy
	default:
		return false
	}
	return true
}

// conversation are the fields of a request that are no settings, though their table has their names.
var conversation = []string{"model", "messages", "tools", "compact"}

// of returns the setting that a leaf of the caller's body is, or is an element of, and the path below its
// member. What is in a member of another shape than the field's is left to be tried out.
func (s *settings) of(path string) (row *setting.Setting, below string) {
	for _, column := range setting.Columns() {
		if column.Protocol != s.caller.ID {
			continue
		}
		for i := range column.Settings {
			row := &column.Settings[i]
			own := row.Of(s.caller.ID)
			byHand := own.ByHand || row.Of(s.target.ID).ByHand
			for member := range strings.SplitSeq(own.Member, "|") {
				if member != "" && within(path, member) && (path == member || !byHand) && !slices.Contains(conversation, row.Field) {
					return row, path[len(member):]
				}
			}
		}
	}
	return nil, ""
}

// leaf is a value of a body that is neither an object nor a list, or is empty, or lies so deep
// that it is taken as a whole.
type leaf struct {
	path  string
	value []byte
	at    int // where the value begins
}

const (
	// deepest is the depth at which a value is taken as a whole.
	deepest = 32
	// maxLeaves bounds those of one body.
	maxLeaves = 20_000
)

// leavesOf lists the leaves of a body, in order; truncated says that there are more. What is
// no JSON has those that it has up to there.
func leavesOf(body []byte) (leaves []leaf, truncated bool) {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var walk func(path string, depth int) bool
	whole := func(path string) bool {
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		if len(leaves) == maxLeaves {
			truncated = true
			return false
		}
		at := int(d.InputOffset()) - len(value)
		leaves = append(leaves, leaf{path, bytes.Clone(value), at})
		return true
	}
	walk = func(path string, depth int) bool {
		kind := d.PeekKind()
		if kind != '{' && kind != '[' || depth == deepest {
			return whole(path)
		}
		before := len(leaves)
		start := int(d.InputOffset())
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		end := jsontext.Kind('}')
		if kind == '[' {
			end = ']'
		}
		for i := 0; d.PeekKind() != end; i++ {
			below := path + "[" + strconv.Itoa(i) + "]"
			if kind == '{' {
				name, err := d.ReadToken()
				if err != nil {
					return false
				}
				if below = name.String(); path != "" {
					below = path + "." + below
				}
			}
			if !walk(below, depth+1) {
				return false
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		if len(leaves) == before && path != "" { // it is empty
			at := start + bytes.IndexByte(body[start:], byte(kind))
			leaves = append(leaves, leaf{path, bytes.Clone(body[at:d.InputOffset()]), at})
		}
		return true
	}
	walk("", 0)
	return leaves, truncated
}

// stops are reasons for which answers end. An unknown word is often read as the commonest of them, so that
// only another of them tells what depends on one.
var stops = []string{"end_turn", "max_tokens", "stop", "length", "STOP", "MAX_TOKENS", "completed", "incomplete", "STOP_REASON_END_TURN", "STOP_REASON_MAX_TOKENS"}

// roles are those of messages. An unknown role is refused, so that another of them has to tell where it arrives.
var roles = []string{"user", "assistant", "system", "developer", "model"}

// alternatives are groups of words. To test what depends on a word, another word of its group replaces it.
var alternatives = [][]string{stops, roles}

// others are values that stand in for the leaf's, to see what depends on it.
func (l leaf) others() [][]byte {
	null := []byte("null")
	switch {
	case l.value[0] == '"':
		values := [][]byte{append(bytes.Clone(l.value[:len(l.value)-1]), `~"`...), null}
		for _, group := range alternatives {
			if slices.Contains(group, string(l.value[1:len(l.value)-1])) {
				for _, word := range group {
					values = append(values, []byte(`"`+word+`"`))
				}
			}
		}
		return values
	case string(l.value) == "true":
		return [][]byte{[]byte("false"), null}
	case string(l.value) == "false":
		return [][]byte{[]byte("true"), null}
	case string(l.value) == "1":
		return [][]byte{[]byte("2"), []byte("0"), null}
	case l.value[0] == '-' || l.value[0] >= '0' && l.value[0] <= '9':
		return [][]byte{[]byte("1"), null}
	}
	return [][]byte{null}
}

// without returns a body without the leaves that drop names, and without what is empty then.
func without(body []byte, drop func(l leaf) bool) []byte {
	leaves, truncated := leavesOf(body)
	if truncated {
		return body
	}
	dropped := map[string]bool{}
	for _, l := range leaves {
		dropped[l.path] = drop(l)
	}
	var prune func(path string, value jsontext.Value) (jsontext.Value, bool)
	prune = func(path string, value jsontext.Value) (jsontext.Value, bool) {
		if isDropped, isLeaf := dropped[path]; isLeaf || value.Kind() != '{' && value.Kind() != '[' {
			return value, !isDropped
		}
		d, out, n := jsontext.NewDecoder(bytes.NewReader(value)), []byte{byte(value.Kind())}, 0
		if _, err := d.ReadToken(); err != nil {
			return value, true
		}
		for i := 0; d.PeekKind() > 0 && d.PeekKind() != ']' && d.PeekKind() != '}'; i++ {
			below, name := path+"["+strconv.Itoa(i)+"]", jsontext.Value(nil)
			if value.Kind() == '{' {
				read, err := d.ReadValue()
				if err != nil {
					return value, true
				}
				name = read.Clone()
				text, _ := jsontext.AppendUnquote(nil, name) // it was read as JSON
				if below = string(text); path != "" {
					below = path + "." + below
				}
			}
			read, err := d.ReadValue()
			if err != nil {
				return value, true
			}
			kept, ok := prune(below, read.Clone())
			if !ok {
				continue
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			if name != nil {
				out = append(append(out, name...), ':')
			}
			out = append(out, kept...)
		}
		closing := byte('}')
		if value.Kind() == '[' {
			closing = ']'
		}
		return append(out, closing), n > 0 || path == ""
	}
	pruned, _ := prune("", body)
	return pruned
}
