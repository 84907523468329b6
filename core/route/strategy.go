package route

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/go-json-experiment/json/jsontext"
)

// Strategy is how the targets of a route share its load. The zero value is ByWeight.
type Strategy int

const (
	// ByWeight draws a target at random, each as often as its weight says.
	ByWeight Strategy = iota
	// LeastBusy takes the target whose upstream has the fewest calls under way for its weight.
	LeastBusy
	// Fastest takes the target with the lowest peak EWMA, a decayed time to first token times
	// the calls under way, for its weight.
	Fastest
)

// share puts the targets that share the load into the order in which they are tried.
func (r *Route) share(targets []Target, q request) []Target {
	if len(targets) <= 1 {
		return targets
	}
	if r.Sticky {
		session := session(q.head)
		if session == "" && targets[0].Protocol == q.protocol && severalAccounts(targets) {
			session = beginning(q.head)
		}
		if session != "" {
			return ranked(targets, func(t *Target) float64 { return t.distance(session) })
		}
	}
	switch r.Strategy {
	case ByWeight: // below
	case LeastBusy:
		return ranked(draw(targets), func(t *Target) float64 { return float64(t.busy()) / t.weight() })
	case Fastest:
		now := time.Now()
		return ranked(draw(targets), func(t *Target) float64 {
			return t.Guard.cost(speedOf{cmp.Or(t.Model, q.model), q.streamed}, now) / t.weight()
		})
	}
	return draw(targets)
}

// ranked returns the targets by ascending cost; targets of equal cost keep their order.
func ranked(targets []Target, cost func(*Target) float64) []Target {
	type priced struct {
		target Target
		cost   float64
	}
	list := make([]priced, len(targets))
	for i := range targets {
		list[i] = priced{targets[i], cost(&targets[i])}
	}
	slices.SortStableFunc(list, func(a, b priced) int { return cmp.Compare(a.cost, b.cost) })
	out := make([]Target, len(list))
	for i := range list {
		out[i] = list[i].target
	}
	return out
}

func (t *Target) weight() float64 { return float64(cmp.Or(t.Weight, 1)) }

// busy is how many calls the target's upstream has under way; 0 where they are not counted.
func (t *Target) busy() int {
	if t.Guard == nil {
		return 0
	}
	return t.Guard.bound.calls()
}

// distance is how far a session is from the target: the nearest serves it, and where that one
// fails the next, so that a session moves only while its target does not answer, and a new
// target takes from each of the others only its share of their sessions (weighted rendezvous
// hashing: Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", 2005).
func (t *Target) distance(session string) float64 {
	h := fnv.New64a()
	for _, part := range []string{session, "\x00", t.Name, "\x00", t.Model} {
		_, _ = h.Write([]byte(part))
	}
	// FNV's upper bits hardly depend on the last bytes; the finalizer of SplitMix64 spreads
	// them.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	uniform := (float64(x>>11) + 0.5) / (1 << 53)
	return -math.Log(uniform) / t.weight()
}

// account is who can read the signatures and the encrypted reasoning that the target's upstream makes; "" where every
// target can.
func (t *Target) account() string {
	if a, ok := t.Upstream.(interface{ Account() string }); ok {
		return a.Account()
	}
	return ""
}

// SeveralAccounts reports whether some of the route's targets cannot read what others of their protocol have signed or
// encrypted.
func (r *Route) SeveralAccounts() bool { return severalAccounts(slices.Concat(r.Targets, r.Fallback)) }

func severalAccounts(targets []Target) bool {
	for i := range targets[:max(len(targets)-1, 0)] {
		if isForeign(&targets[i], targets[i+1:]) {
			return true
		}
	}
	return false
}

// isForeign reports whether one of the others, of the target's protocol, cannot read what its upstream has signed.
func isForeign(t *Target, others []Target) bool {
	account := t.account()
	for i := range others {
		if o := &others[i]; account != "" && o.Protocol == t.Protocol && o.account() != account {
			return true
		}
	}
	return false
}

// whereMade puts the targets first that can read the reasoning which a conversation has brought back.
func whereMade(targets []Target, head *genwayv1.GenerateTextRequest) []Target {
	account := ""
	if wire := head.GetWire(); wire != nil {
		account = codec.LastAccount(wire.GetJson())
	} else {
		for _, m := range head.GetMessages() {
			for _, p := range m.GetParts() {
				for _, s := range []*genwayv1.Seal{p.GetThoughtSignature(), p.GetThinking().GetSignature(), p.GetThinking().GetEncryptedContent()} {
					if found, _ := codec.CutAccount(s.GetValue()); found != "" {
						account = found
					}
				}
			}
		}
	}
	if account == "" {
		return targets
	}
	return byAccount(targets, account)
}

// byAccount puts the targets of an account before all others.
func byAccount(targets []Target, account string) []Target {
	return ranked(targets, func(t *Target) float64 {
		if t.account() == account {
			return 0
		}
		return 1
	})
}

// beginning is what the turns of a conversation have in common whose signatures pass unread, so that nothing in them
// names their account: a hash of the texts before its first signed turn. For a request without one, it is that of all
// texts, as for the next turns if the answer is signed. Where a member besides the texts changes from turn to turn, as a
// breakpoint of the cache does, the hash does not. "" stands for any other request.
func beginning(head *genwayv1.GenerateTextRequest) string {
	turns := protocol.Of(head.GetWire().GetProtocol()).Upstream.Turns
	if turns.Member == "" {
		return ""
	}
	texts, found, signed := sha256.New(), false, false
	all := member.Value(head.GetWire().GetJson(), turns.Member)
	if jsontext.Value(all).Kind() == '"' { // one text of the user, which later requests have in a list
		found = true
		_, _ = texts.Write(all)
	}
	member.Edit(all, func(depth int, name, value []byte) member.Change {
		if depth == 1 {
			signed = signed || isSigned(value, turns)
		}
		if !signed && len(value) > 0 && value[0] == '"' {
			switch string(name) {
			case "text", "content", "data":
				found = true
				_, _ = texts.Write(value)
			}
		}
		return member.Change{}
	})
	if !found {
		return ""
	}
	return string(texts.Sum(nil))
}

// isSigned reports whether a turn is the model's and may have a signature.
func isSigned(turn []byte, of protocol.Turns) bool {
	return member.Raw(member.Value(turn, "role")).String() == of.Role &&
		slices.ContainsFunc(of.Signed, func(word string) bool { return bytes.Contains(turn, []byte(word)) })
}
