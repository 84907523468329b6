package explain

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	"github.com/genway/genway/core/override"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
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

// The reasons for which nothing is lost by a member that does not arrive.
const (
	saidByPath    = "the path says it"
	saidByCall    = "the call says it"
	saidByCalls   = "each image is drawn by a call of its own"
	saidByPlace   = "its place says it"
	saidByGateway = "the gateway makes the response in the background"
	saidAnyway    = "it says what is so without it"
	nothingDoes   = "nothing that arrives depends on it"
	onlyThisValue = "no other value of it is possible"
)

// empty are values that say nothing, and nothing those that mostly do.
var (
	empty   = []string{"null", `""`, "[]", "{}"}
	nothing = append([]string{"0", "false"}, empty...)
)

// roleMember is the member of every protocol that says whose a message is.
const roleMember = "role"

// tracing finds out what became of the members of a body. What is lost is what the losses name. Settings are looked up in
// their table; the parts of a conversation are found by their values, and where these are written in another way, by a trial.
type tracing struct {
	from, to         []byte
	sender, receiver *protocol.Protocol
	losses           []*genwayv1.Loss // by the contract's names
	names            *protocol.Names  // the sender's
	refusal          *adminv1.ExplainedRefusal
	// answer says that from is an answer, which has no settings and on which no override bears.
	answer bool
	// background says that the gateway makes the response in the background.
	background bool
	// cached says that the target adds all prompt-cache breakpoints of the upstream's body.
	cached bool
	// plain returns what a body becomes without overrides; false where it is refused.
	plain func(body []byte) ([]byte, bool)

	// sent and got are the values of from and to, at and before the leaves of to, and of what from becomes without
	// overrides, by their paths.
	sent, got  []node
	at, before map[string]*node
	// tried are the shapes that were tried out, in bodies of so many bytes.
	tried     map[string]bool
	probed    int
	truncated bool
}

// members lists what became of each: first what is refused and lost, last what was added.
func (t *tracing) members(ctx context.Context) ([]*adminv1.ExplainedMember, bool) {
	t.sent, t.got, t.tried = t.nodes(t.from, t.sender), t.nodes(t.to, t.receiver), map[string]bool{}
	t.at = leavesOf(t.got)
	named, others := t.named(), []*adminv1.ExplainedMember(nil)
	if t.to != nil || t.answer { // a refused request goes nowhere
		unchanged, _ := t.plain(t.from)
		t.before = leavesOf(t.nodes(unchanged, t.receiver))
		t.pair()
		for i := range t.sent {
			n := &t.sent[i]
			if ctx.Err() != nil || len(others) == maxMembers {
				t.truncated = true
				break
			}
			if !n.leaf || n.framing {
				continue
			}
			of := slices.IndexFunc(named, func(m *adminv1.ExplainedMember) bool { return within(n.path, m.GetPath()) })
			known := t.find(i, of < 0 || t.answer)
			m := &adminv1.ExplainedMember{Path: n.path, ValueJson: shown(n.value)}
			switch {
			case of >= 0 && named[of].GetPath() == n.path:
				t.arrived(named[of], n)
				continue
			case len(n.arrives) > 0:
				t.arrived(m, n)
			case of >= 0 && t.answer:
				m.Fate, m.Rule, m.Reason = named[of].GetFate(), ruleCodec, named[of].GetReason()
			case of >= 0: // it is part of what is named
				continue
			case !known:
				t.truncated = true
				continue
			default:
				m.Fate, m.Rule, m.Reason = adminv1.Fate_FATE_IMPLIED, ruleCodec, n.why
			}
			others = append(others, m)
		}
		others = append(others, t.added()...)
	}
	list := slices.Concat(named, others)
	slices.SortStableFunc(list, func(a, b *adminv1.ExplainedMember) int { return first(a) - first(b) })
	if len(list) > maxMembers {
		return list[:maxMembers], true
	}
	return list, t.truncated
}

// first sorts what is refused and lost before all else.
func first(m *adminv1.ExplainedMember) int {
	return slices.Index([]adminv1.Fate{adminv1.Fate_FATE_REFUSED, adminv1.Fate_FATE_LOST, m.GetFate()}, m.GetFate())
}

// named are the members at fault and those that the losses name, in their words.
func (t *tracing) named() (list []*adminv1.ExplainedMember) {
	add := func(fate adminv1.Fate, path, reason string) {
		if at := slices.IndexFunc(list, func(m *adminv1.ExplainedMember) bool { return m.GetPath() == path }); at >= 0 {
			if list[at].Fate == adminv1.Fate_FATE_REFUSED {
				list[at].Rule = ruleStrict
			}
			return
		}
		m := &adminv1.ExplainedMember{Fate: fate, Path: path, Rule: ruleCodec, Reason: reason}
		if at := slices.IndexFunc(t.sent, func(n node) bool { return n.path == path }); at >= 0 {
			m.ValueJson = shown(t.sent[at].value)
		}
		if strings.Contains(reason, override.Reason) {
			m.Rule = ruleOverride
		}
		list = append(list, m)
	}
	if t.refusal.GetMember() != "" {
		add(adminv1.Fate_FATE_REFUSED, t.refusal.GetMember(), t.refusal.GetMessage())
	}
	for _, loss := range t.losses {
		add(adminv1.Fate_FATE_LOST, t.names.Member(loss.GetMember()), loss.GetReason())
	}
	return list
}

// arrived says where a leaf arrives, and as what. What the losses name stays lost, unless an override sets it.
func (t *tracing) arrived(m *adminv1.ExplainedMember, n *node) {
	if len(n.arrives) == 0 {
		return
	}
	value, fate, rule := t.at[n.arrives[0]].value, adminv1.Fate_FATE_MAPPED, ruleCodec
	switch {
	case slices.ContainsFunc(n.arrives, t.overridden):
		fate, rule = adminv1.Fate_FATE_CHANGED, ruleOverride
	case n.arrives[0] == n.path && bytes.Equal(value, n.value):
		fate, rule = adminv1.Fate_FATE_KEPT, ""
	case t.changes(n, value):
		fate = adminv1.Fate_FATE_CHANGED
	}
	if m.GetFate() == adminv1.Fate_FATE_UNSPECIFIED || m.GetFate() == adminv1.Fate_FATE_LOST && rule == ruleOverride {
		m.Fate, m.Rule = fate, rule
	}
	m.Arrives, m.ArrivedJson = n.arrives[:min(len(n.arrives), maxArrivals)], shown(value)
}

// overridden reports whether an override bears on what arrives at a path.
func (t *tracing) overridden(path string) bool {
	was := t.before[path]
	return !t.answer && (was == nil || !bytes.Equal(was.value, t.at[path].value))
}

// changes reports whether a value is another one than a leaf's, and not in another spelling: a number, or the model.
func (t *tracing) changes(n *node, value []byte) bool {
	was, err := strconv.ParseFloat(string(n.value), 64)
	is, other := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
	return err == nil && other == nil && was != is || !t.answer && n.path == "model" && !bytes.Equal(value, n.value)
}

// added are the members that are none of the sender's. What only repeats a text of the sender's is not among them, nor the
// type of a data URL.
func (t *tracing) added() (list []*adminv1.ExplainedMember) {
	said, inPath := map[string]bool{}, !t.answer && t.sender.NamesModelInPath()
	for i := range t.sent {
		said[t.sent[i].area+string(t.sent[i].value)] = t.sent[i].leaf
	}
	for i := range t.got {
		n := &t.got[i]
		text := cmp.Or(member.Raw(n.value).String(), string(n.value))
		switch {
		case !n.leaf, n.claimed, n.framing, n.name == roleMember, slices.Contains(empty, text):
		case t.answer && slices.Contains(nothing, string(n.value)), inPath && (n.path == "model" || n.path == "stream"):
		case n.value[0] == '"' && n.area != "" && (said[n.area+string(n.value)] || bytes.Contains(t.from, []byte("data:"+text+";"))):
		default:
			m := &adminv1.ExplainedMember{Fate: adminv1.Fate_FATE_ADDED, Arrives: []string{n.path}, ArrivedJson: shown(n.value), Rule: ruleCodec}
			if t.overridden(n.path) || t.cached && strings.Contains(n.path, ".cache_control.") {
				m.Rule = ruleOverride
			}
			list = append(list, m)
		}
	}
	return list
}

// find looks for where a leaf arrives, by a trial if tries is set, or why nothing is lost by it. false says that neither is
// known.
func (t *tracing) find(i int, tries bool) bool {
	n := &t.sent[i]
	if len(n.arrives) > 0 || n.area == "" && t.setting(n) {
		return true
	}
	if there := t.beside(i); there != "" {
		t.claim(n, there)
		return true
	}
	switch shape := shapeOf(n.path); {
	case n.name == roleMember:
		n.why = saidByPlace
	case slices.Contains(nothing, string(n.value)) && !t.answer:
		n.why = saidAnyway
	case !tries || t.tried[shape]:
	case t.probed > maxProbed:
		return false
	default:
		t.tried[shape] = true
		t.try(shape)
	}
	return true
}

// setting looks for a member of a request that is no part of its conversation: by the rows of the table of settings that
// have it, those with its longest name first. false says that the table does not have it.
func (t *tracing) setting(n *node) bool {
	type named struct {
		row *setting.Setting
		own string
	}
	var rows []named
	path, table := spelled(t.sender, n.path), setting.Texts()
	if t.sender.Images {
		table = setting.Images()
	}
	for i := range slices.Backward(table) {
		for own := range strings.SplitSeq(memberOf(t.sender, &table[i]), "|") {
			if own != "" && within(path, own) {
				rows = append(rows, named{&table[i], own})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b named) int { return len(b.own) - len(a.own) })
	for _, r := range rows {
		for there := range strings.SplitSeq(memberOf(t.receiver, r.row), "|") {
			if there == "" {
				continue
			}
			below := path[len(r.own):]
			if t.at[there+below] != nil {
				t.claim(n, there+below)
				return true
			}
			for i := range t.got {
				if t.got[i].leaf && within(t.got[i].path, there) {
					t.claim(n, t.got[i].path)
				}
			}
			if len(n.arrives) > 0 {
				return true
			}
		}
		if place := r.row.Of(t.receiver.ID); string(n.value) == place.Implied {
			n.why = place.ImpliedBy
			return true
		}
	}
	same := t.at[n.path]
	switch inPath := t.receiver.NamesModelInPath() && (path == "model" || path == "stream"); {
	case same != nil && bytes.Equal(same.value, n.value):
		t.claim(n, n.path)
	case inPath:
		n.why = saidByPath
	case t.background && path == "background":
		n.why = saidByGateway
	case path == "stream" && isContract(t.receiver):
		n.why = saidByCall
	case len(rows) > 0 && rows[0].row.Field == "count" && t.receiver.Codec != nil:
		n.why = saidByCalls
	case len(rows) > 0 && t.drawn(n, rows[0].row.Field):
	case len(rows) > 0:
		n.why = saidAnyway
	default:
		return false
	}
	return true
}

// drawn looks for what asks for images in an answer of text: the image tool of one protocol is a modality of the others.
func (t *tracing) drawn(n *node, field string) bool {
	isTool := func(n node) bool { return n.area == "tools" && string(n.value) == `"`+fit.ImageTool+`"` }
	at := -1
	switch {
	case field == "modalities" && bytes.EqualFold(n.value, []byte(`"image"`)):
		at = slices.IndexFunc(t.got, isTool)
	case field == "tool_choice" && slices.ContainsFunc(t.sent, isTool):
		modalities := memberOf(t.receiver, setting.Text("modalities"))
		at = slices.IndexFunc(t.got, func(g node) bool { return g.leaf && modalities != "" && within(g.path, modalities) })
	}
	if at >= 0 {
		t.claim(n, t.got[at].path)
	}
	return at >= 0
}

// isContract reports whether a protocol is the contract's.
func isContract(p *protocol.Protocol) bool { return p.Codec == nil && !p.Images }

// memberOf is the member that a protocol has for a setting; the contract's is its field. Empty for none.
func memberOf(p *protocol.Protocol, row *setting.Setting) string {
	if !isContract(p) {
		return row.Of(p.ID).Member
	}
	words := strings.Split(row.Field, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// spelled is a path as the protocol's codec spells it, for one that has several spellings.
func spelled(p *protocol.Protocol, path string) string {
	s, ok := p.Codec.(interface{ Spelled(name string) string })
	if !ok || !strings.Contains(path, "_") {
		return path
	}
	steps := strings.Split(path, ".")
	for i, step := range steps {
		name, index, found := strings.Cut(step, "[")
		if steps[i] = s.Spelled(name); found {
			steps[i] += "[" + index
		}
	}
	return strings.Join(steps, ".")
}

// nodes lists the values of a body of a protocol. Those of a request that are in its tools or in its messages are of that
// area, and those of an answer of one. A leaf is framing if it says only what the object is that it is in, which has
// other members; in a schema, and in what else is the caller's own JSON, it says more.
func (t *tracing) nodes(body []byte, p *protocol.Protocol) []node {
	areas, own := map[string]string{p.Conversation.System: "messages"}, []string(nil)
	for i, row := range setting.Texts() {
		if row.Field == "messages" || row.Field == "tools" {
			for name := range strings.SplitSeq(memberOf(p, &setting.Texts()[i]), "|") {
				areas[name] = row.Field
			}
		}
	}
	if p.Models != nil {
		own = strings.Fields(p.Models.Schemas + " " + p.Models.Own)
	}
	nodes, more := nodesOf(body)
	t.truncated = t.truncated || more
	for i := range nodes {
		n := &nodes[i]
		if n.area = "answer"; !t.answer {
			n.area = areas[spelled(p, n.path[:strings.IndexAny(n.path+".", ".[")])]
		}
		if n.name == "type" && n.area != "" {
			n.framing = (nodes[n.in].end > i+1 || n.in+1 < i) && !slices.ContainsFunc(own, func(own string) bool { return within(shapeOf(n.path), own) })
		}
	}
	return nodes
}

// shapeOf is a path without its indices.
func shapeOf(path string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(path, "[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, path, _ = strings.Cut(rest, "]")
		b.WriteString("[]")
	}
}

// claim notes that a leaf arrives at a path.
func (t *tracing) claim(n *node, path string) {
	n.arrives, t.at[path].claimed = append(n.arrives, path), true
}

// pair finds the values of the sender's conversation in the receiver's body: first equal objects and lists, then equal values
// of members of the same name, then equal texts, each in the order of the bodies. In a body of the same protocol they are
// where they were.
func (t *tracing) pair() {
	for i := range t.sent {
		if n := &t.sent[i]; n.leaf && t.sender == t.receiver && t.at[n.path] != nil && bytes.Equal(t.at[n.path].value, n.value) {
			t.claim(n, n.path)
		}
	}
	for pass := range 3 {
		places := map[string][]int{}
		for j := range t.got {
			if key := t.got[j].key(pass); key != "" {
				places[key] = append(places[key], j)
			}
		}
		for i := 0; i < len(t.sent); i++ {
			key := t.sent[i].key(pass)
			if key == "" || len(t.sent[i].arrives) > 0 {
				continue
			}
			for len(places[key]) > 0 {
				j := places[key][0]
				places[key] = places[key][1:]
				if !slices.ContainsFunc(t.got[j:t.got[j].end], func(n node) bool { return n.claimed }) {
					t.match(i, j)
					i = t.sent[i].end - 1
					break
				}
			}
		}
	}
}

// match notes that two nodes are the same value. Equal ones have the same nodes in them, unless one is a text of JSON.
func (t *tracing) match(i, j int) {
	for k := range max(t.sent[i].end-i, t.got[j].end-j) {
		a, b := &t.sent[min(i+k, t.sent[i].end-1)], &t.got[min(j+k, t.got[j].end-1)]
		if a.leaf && b.leaf {
			t.claim(a, b.path)
		}
	}
}

// key is what a node has in common with an equal one in a pass; empty for one that the pass does not look for. A text that is
// JSON counts as what it says.
func (n *node) key(pass int) string {
	if n.area == "" || n.framing || n.leaf && (n.name == roleMember || slices.Contains(nothing, string(n.value))) {
		return ""
	}
	value := n.value
	switch inner := member.Raw(value).String(); {
	case pass == 1 && n.leaf:
		return n.area + n.name + string(value)
	case pass == 2 && n.leaf && value[0] == '"': // the same number of another member says nothing
		return n.area + string(value)
	case pass > 0 || n.path == "" || n.leaf && (value[0] != '"' || inner == "" || inner[0] != '{' && inner[0] != '['):
		return ""
	case n.leaf:
		value = []byte(inner)
	}
	compact, err := member.AppendCompact(nil, value)
	if err != nil || len(compact) == 2 {
		return ""
	}
	return n.area + string(compact)
}

// beside returns the member of the same name and value in the object to which the rest of a leaf's object has come. Roles
// are spelled in different ways.
func (t *tracing) beside(i int) string {
	n := &t.sent[i]
	for k := n.in; k < t.sent[n.in].end; k++ {
		for _, path := range t.sent[k].arrives {
			for path = up(path); path != ""; path = up(path) {
				there := t.at[member.Join(path, n.name)]
				if there != nil && (n.name == roleMember || bytes.Equal(there.value, n.value) && !there.claimed) {
					return there.path
				}
			}
		}
	}
	return ""
}

// up cuts the last step off a path.
func up(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// try puts a mark of its own into each leaf of a shape that is not found, and notes where in the receiver's body the
// marks are, or else where it differs. A text is marked wherever it is, so that what refers to it still does.
func (t *tracing) try(shape string) {
	texts, marks := map[string]string{}, map[int]string{}
	for i := range t.sent {
		if n := &t.sent[i]; n.leaf && len(n.arrives) == 0 && shapeOf(n.path) == shape {
			if marks[i] = fmt.Sprintf("1%07d", i); n.value[0] == '"' {
				marks[i] = cmp.Or(texts[string(n.value)], marks[i])
				texts[string(n.value)] = marks[i]
			}
			n.why = onlyThisValue
		}
	}
	var body []byte
	copied := 0
	for i := range t.sent {
		n := &t.sent[i]
		if mark := cmp.Or(texts[string(n.value)], marks[i]); n.leaf && mark != "" {
			body = append(append(body, t.from[copied:n.at]...), n.marked(mark)...)
			copied = n.at + len(n.value)
		}
	}
	body = append(body, t.from[copied:]...)
	t.probed += len(body) + 1
	result, ok := t.plain(body)
	if !ok {
		return
	}
	after := leavesOf(t.nodes(result, t.receiver))
	shows := func(mark string) (paths []string) {
		for path, was := range t.before {
			is := after[path]
			if t.at[path] != nil && (is == nil || !bytes.Equal(is.value, was.value)) && (mark == "" || is != nil && bytes.Contains(is.value, []byte(mark))) {
				paths = append(paths, path)
			}
		}
		slices.SortFunc(paths, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
		return paths
	}
	all := shows("")
	for i, mark := range marks {
		paths := shows(mark)
		if len(paths) == 0 {
			paths = all
		}
		for _, path := range paths {
			t.claim(&t.sent[i], path)
		}
		t.sent[i].why = nothingDoes
	}
}

// marked is a value that stands in for a leaf's: its text with a mark in it, another number or word, or null. A mark is of
// eight digits, so that base64 stays base64, and a number a number.
func (n *node) marked(mark string) []byte {
	switch text := member.Raw(n.value).String(); n.value[0] {
	case '"':
		at := max(len(text)-4, 0)
		for at > 0 && text[at]&0xc0 == 0x80 { // within a character
			at--
		}
		return member.AppendQuote(nil, text[:at]+mark+text[at:])
	case 't':
		return []byte("false")
	case 'f':
		return []byte("true")
	case '[', '{', 'n':
		return []byte("null")
	}
	return []byte(mark)
}

// within reports whether a path is another one, or below it.
func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// shown is a value that is not too long to be shown.
func shown(value []byte) string {
	if len(value) > maxShown {
		return strings.ToValidUTF8(string(value[:maxShown]), "") + "…"
	}
	return strings.ToValidUTF8(string(value), "\uFFFD")
}
