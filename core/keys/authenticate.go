package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/limit"
	"github.com/go-json-experiment/json"
)

// What Authenticate answers instead of a principal; there is nothing else.
var (
	// ErrWrongKey is a key that is mistyped, unknown, revoked or expired: one and
	// the same value, so that a caller does not learn which.
	ErrWrongKey = errors.New("wrong key")
	// ErrUnavailable is wrapped around the reason why a key cannot be checked right now:
	// the store does not answer, the key's policy is one that this program cannot read, or
	// the caller's context ended first. It never means that the key is wrong.
	ErrUnavailable = errors.New("keys cannot be checked")
)

// A view is how the table compares with the store. It never changes. Its times are of
// Service.elapsed.
type view struct {
	// asOf is when the last look at the store began after which the table had every
	// change that was committed by then; never if there was none.
	asOf time.Duration
	// due is when the store is asked again.
	due time.Duration
	// whole says that all keys are in the table.
	whole bool
	// err is why the store was last asked in vain; nil when it answered.
	err error
}

// never is long before any time, and the check of a record that has to be compared with the
// store before it counts.
const never = math.MinInt64 / 2

// Authenticate returns who holds the key raw, or ErrWrongKey, or ErrUnavailable.
//
// It answers from a table in memory of all live keys by hash: a known key costs no
// allocation and no store, and neither do typos, by their checksum. A map lookup is
// no timing oracle here, since a caller cannot steer the SHA-256 of what it sends.
//
// The table follows the store by what has changed since it was last asked:
//
//   - A key is found and the store was asked Config.Freshness ago or earlier: it is asked
//     again, in the background. Only where the key was compared with it longer ago than
//     1.5 s does its caller wait. So a revoked key is refused within two seconds, whichever
//     process revoked it.
//   - A key is not found: its caller waits until the store was asked. So a new key works at
//     once, wherever it was made. One question serves all who wait for it, and each waits
//     for one that began after it came: however many wrong keys arrive, the store sees one
//     small question at a time and memory does not grow.
//
// While the table is not whole, after a start and while many changes are read, the same
// question looks the keys up that are waited for.
//
// Asking on use, instead of by a goroutine that polls, costs nothing at rest and holds its
// bound after a pause of the process. All keys are kept, instead of those that were used of
// late, because then an outage of the store fails no key, and a wrong key is known to be
// wrong without being looked up.
//
// While the store fails, known keys are served for Config.Staleness after its last
// answer, and no caller waits: it is asked again once every Freshness, in the background.
func (s *Service) Authenticate(ctx context.Context, raw string) (Principal, error) {
	if Valid(raw) != nil && !foreign(raw, s.foreign) {
		return Principal{}, ErrWrongKey
	}
	hash := Hash(raw)
	now := s.clock()
	elapsed := now.Sub(s.base)
	v := s.view.Load()
	r := s.table.Load().find(&hash)
	if r != nil && !r.ended(now) {
		checked := time.Duration(r.checked.Load())
		age := elapsed - max(v.asOf, checked)
		if age >= s.freshness && elapsed >= v.due {
			s.kick()
		}
		switch compared := checked != never; {
		case compared && age < maxAge, v.err != nil && age < s.staleness && (compared || elapsed < v.due):
			return r.answer()
		}
	}
	if v.err != nil && elapsed < v.due {
		return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, v.err)
	}
	return s.wait(ctx, hash)
}

// wait is Authenticate of a key that is compared with the store first.
func (s *Service) wait(ctx context.Context, hash Digest) (Principal, error) {
	asked, err := s.ask(ctx, hash)
	if err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	now := s.clock()
	r := s.table.Load().find(&hash)
	if r == nil || r.ended(now) {
		if asked.err != nil {
			return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, asked.err)
		}
		return Principal{}, ErrWrongKey
	}
	if asked.err != nil {
		age := now.Sub(s.base) - max(s.view.Load().asOf, time.Duration(r.checked.Load()))
		if age >= s.staleness {
			return Principal{}, fmt.Errorf("%w: %w", ErrUnavailable, asked.err)
		}
	}
	return r.answer()
}

// answer is Authenticate's for a key that is good.
func (r *record) answer() (Principal, error) {
	if r.policy.invalid != nil {
		return Principal{}, fmt.Errorf("%w: key %s: %w", ErrUnavailable, r.id(), r.policy.invalid)
	}
	return r.principal(), nil
}

// changed has a key that this service has changed compared with the store before it is
// accepted, and forgets the secrets that it has no more, without asking: the store
// may have failed since. No question to the store can bring them back: one that began before
// the change has ended when the turn is ours.
func (s *Service) changed(before, after []Secret) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	t := s.table.Load()
	for i := range before {
		hash := &before[i].Hash
		if !slices.ContainsFunc(after, func(kept Secret) bool { return kept.Hash == *hash }) {
			t.remove(hash)
		} else if r := t.find(hash); r != nil {
			r.checked.Store(never)
		}
	}
	next := *s.view.Load()
	next.due = never
	s.view.Store(&next)
}

// table is who holds which secret, of all live keys. Readers look secrets up at any time;
// one writer at a time changes it, the holder of Service.turn.
//
// A secret costs 41 bytes of a map, of which a half to seven eighths is in use, a record of
// 64 bytes and the text of its names; policies are shared by the keys that have the same.
type table struct {
	shards   [shards]shard
	policies map[policyDigest]*policy
}

// shards spread the readers' locks. A shard has the secrets whose hashes have the same
// low bits in their first byte.
const shards = 64

type shard struct {
	mu      sync.RWMutex
	records map[Digest]*record
	_       [64]byte // no two shards' locks are in one cache line
}

// record is what is known of a secret. It does not change, but for checked.
type record struct {
	// text is the key's id, its name and its owner, one after the other.
	text      string
	group     Group
	policy    *policy
	end       int64 // microseconds since 1970; forever for never
	checked   atomic.Int64
	name, own uint32 // where in text the name and the owner begin
}

// forever is the end of a secret that has none.
const forever = math.MaxInt64

// policy is one that keys share.
type policy struct {
	Policy

	// invalid is why the policy cannot be read; nil where it can.
	invalid error
	digest  policyDigest
	users   int
}

// policyDigest is the beginning of the SHA-256 of a policy's JSON.
type policyDigest [16]byte

func newTable() *table {
	t := &table{policies: map[policyDigest]*policy{}}
	for i := range t.shards {
		t.shards[i].records = map[Digest]*record{}
	}
	return t
}

func (t *table) shard(hash *Digest) *shard { return &t.shards[hash[0]%shards] }

// find returns the record of a secret; nil for none.
func (t *table) find(hash *Digest) *record {
	s := t.shard(hash)
	s.mu.RLock()
	r := s.records[*hash]
	s.mu.RUnlock()
	return r
}

// put notes the holder of a secret, as it was checked at a time of Service.elapsed.
func (t *table) put(h *Holder, checked time.Duration) {
	r := &record{
		text: h.KeyID + h.Name + h.Owner, group: known(h.Group), policy: t.share(h.Policy), end: forever,
		name: uint32(len(h.KeyID)), own: uint32(len(h.KeyID) + len(h.Name)),
	}
	if h.End != nil {
		r.end = h.End.UnixMicro()
	}
	r.checked.Store(int64(checked))
	s := t.shard(&h.Hash)
	s.mu.Lock()
	before := s.records[h.Hash]
	s.records[h.Hash] = r
	s.mu.Unlock()
	t.release(before)
}

// remove forgets a secret.
func (t *table) remove(hash *Digest) {
	s := t.shard(hash)
	s.mu.Lock()
	before := s.records[*hash]
	delete(s.records, *hash)
	s.mu.Unlock()
	t.release(before)
}

// share returns the one policy of all keys with that JSON. One that has a member that this
// program does not know is not taken for a smaller one: its keys cannot be checked.
func (t *table) share(text string) *policy {
	sum := sha256.Sum256([]byte(text))
	digest := policyDigest(sum[:len(policyDigest{})])
	p := t.policies[digest]
	if p == nil {
		p = &policy{digest: digest}
		if err := json.Unmarshal([]byte(text), &p.Policy, json.RejectUnknownMembers(true)); err != nil {
			p.invalid = fmt.Errorf("read the key's policy: %w", err)
		}
		t.policies[digest] = p
	}
	p.users++
	return p
}

// release ends a record's part of its policy.
func (t *table) release(r *record) {
	if r == nil {
		return
	}
	if r.policy.users--; r.policy.users == 0 {
		delete(t.policies, r.policy.digest)
	}
}

// known is the group without a text of its own, if it is one of ours.
func known(group Group) Group {
	for _, g := range valid {
		if g == group {
			return g
		}
	}
	return group
}

func (r *record) id() string { return r.text[:r.name] }

// ended reports whether the secret has ended by a moment.
func (r *record) ended(now time.Time) bool { return r.end != forever && now.UnixMicro() >= r.end }

// principal is who holds the secret.
func (r *record) principal() Principal {
	return Principal{KeyID: r.id(), Group: r.group, Name: r.text[r.name:r.own], Owner: r.text[r.own:], Policy: &r.policy.Policy}
}

// A Policy is what a key may do. The zero value may do everything its group may.
// A nil *Policy is a zero one. Stores keep it as JSON with the names below.
type Policy struct {
	// Models are the models the key may name, as callers name them: names, or globs
	// in which each * matches any run of characters. Empty is all.
	Models []string `json:"models,omitzero"`
	// Addresses are where callers may call from: masked, and never IPv4-mapped.
	// Empty is anywhere.
	Addresses []netip.Prefix `json:"addresses,omitzero"`
	// Certificates are the client certificates of which callers must show one, as
	// ParseCertificate returns them. Empty asks for none.
	Certificates []string `json:"certificates,omitzero"`
	// Limits bound the rate and the spending.
	Limits limit.Limits `json:"limits,omitzero"`
	// Priority says whether the key's requests are refused before others when there are
	// more than can be served: PriorityBatch; empty is interactive.
	Priority string `json:"priority,omitzero"`
	// Strict has a request refused that would lose a member on its way to the
	// upstream's protocol, instead of the loss being named in the answer.
	Strict bool `json:"strict,omitzero"`
	// ReadOnly has a key of the group admin change nothing: the Admin service refuses it
	// every method but those that read.
	ReadOnly bool `json:"read_only,omitzero"`
	// Capture says which of the key's requests have their bodies captured; nil asks for none.
	Capture *capture.Rule `json:"capture,omitzero"`
	// ReadCaptures has a key of the group admin read captured bodies. No other key does, whatever
	// else it may do.
	ReadCaptures bool `json:"read_captures,omitzero"`
}

// PriorityBatch is the priority of keys whose requests can wait.
const PriorityBatch = "batch"

// AllowsModel reports whether the key may name that model.
func (p *Policy) AllowsModel(name string) bool {
	return p == nil || len(p.Models) == 0 ||
		slices.ContainsFunc(p.Models, func(pattern string) bool { return glob.Match(pattern, name) })
}

// AllowsAddress reports whether a caller may call from that address. An IPv4 address
// in its IPv6 form is an IPv4 address, a zone does not count, and an address that is
// not known, the zero Addr, is allowed only where every one is.
func (p *Policy) AllowsAddress(addr netip.Addr) bool {
	if p == nil || len(p.Addresses) == 0 {
		return true
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(p.Addresses, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}
