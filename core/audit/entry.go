package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// An Entry is a Change in its place in the record.
type Entry struct {
	// Number counts the entries from 1, without a gap.
	Number int64
	Change
	// Previous is the Hash of the entry before; zero for the first.
	Previous [sha256.Size]byte
	// Hash is Sum of this entry, as it was appended.
	Hash [sha256.Size]byte
}

// Append returns the entry that records change behind last, or as the first where
// last is nil.
func Append(last *Entry, change Change) *Entry {
	change.Time = change.Time.UTC().Truncate(time.Microsecond)
	e := &Entry{Number: 1, Change: change}
	if last != nil {
		e.Number, e.Previous = last.Number+1, last.Hash
	}
	e.Hash = e.Sum()
	return e
}

// domain keeps the hashes apart from all others; another way to sum gets another.
const domain = "genway audit 1\n"

// Sum is the hash the entry must have: the SHA-256 of a domain, the previous hash,
// the number and the time in microseconds since 1970 (each eight bytes, the highest
// first), and then actor, action, subject and detail, each behind its length in
// bytes as eight bytes. So no two entries are summed over the same bytes.
func (e *Entry) Sum() [sha256.Size]byte {
	b := append(make([]byte, 0, 512), domain...)
	b = append(b, e.Previous[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Number))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Time.UnixMicro()))
	for _, text := range []string{e.Actor, e.Action, e.Subject, e.Detail} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, text...)
	}
	return sha256.Sum256(b)
}
