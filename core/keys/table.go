package keys

import (
	"crypto/sha256"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// table is who holds which secret, of all live keys. Readers look secrets up at any time;
// one writer at a time changes it, the holder of Service.turn.
//
// A secret costs 41 bytes of a map, of which a half to seven eighths is in use, a record of
// 64 bytes and the text of its names; policies are shared by the keys that have the same.
type table struct {
	shards   [shards]shard
	policies map[policyDigest]*policy
}

// shards spread the readers' locks. A shard is of the secrets whose hashes have the same
// low bits in their first byte.
const shards = 64

type shard struct {
	mu      sync.RWMutex
	records map[Digest]*record
	_       [64]byte // no two shards' locks are in one cache line
}

// record is what is known of a secret. It does not change, but for checked.
type record struct {
	// text is the key's id, its name and its owner, one behind the other.
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

// find gives the record of a secret; nil for none.
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

// share gives the one policy of all keys with that JSON. One that has a member that this
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
	for _, g := range groups {
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
