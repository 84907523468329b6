package audit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
)

// A Head is the end of a record at some moment. Keep one outside of the store to prove
// later that no entries were removed from the end (Report.Has).
type Head struct {
	// Number is the number of the last entry, and of all entries; 0 for none.
	Number int64
	// Hash is the last entry's; zero for none.
	Hash [sha256.Size]byte
}

// A BrokenError is the first entry at which the record is not what was appended.
type BrokenError struct {
	// Number is the number the entry has, or should have where it is missing.
	Number int64
	// Reason says what is wrong with it.
	Reason string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the audit is broken at entry %d: %s", e.Number, e.Reason)
}

// ErrHeadMissing is a known head that is not in an otherwise whole record: entries
// were taken off its end, or the whole record was replaced.
var ErrHeadMissing = errors.New("the audit is whole but does not contain the known head: its end was cut off, or all of it was rewritten")

// Verify walks all entries from the first and returns the record's head. The error is
// a *BrokenError for the first entry that was changed, taken out or put in;
// ErrHeadMissing where no entry has the hash known, unless that is zero; and
// otherwise the sequence's own.
func Verify(entries iter.Seq2[*Entry, error], known [sha256.Size]byte) (Head, error) {
	var head Head
	met := known == [sha256.Size]byte{}
	for e, err := range entries {
		if err != nil {
			return head, fmt.Errorf("read the audit: %w", err)
		}
		if err := follows(head, e); err != nil {
			return head, err
		}
		head = Head{Number: e.Number, Hash: e.Hash}
		met = met || e.Hash == known
	}
	if !met {
		return head, ErrHeadMissing
	}
	return head, nil
}

// follows reports what is wrong with e as the entry behind head.
func follows(head Head, e *Entry) error {
	want := head.Number + 1
	switch {
	case e.Number > want:
		return &BrokenError{Number: want, Reason: fmt.Sprintf("it is missing; the next one is %d", e.Number)}
	case e.Number < want:
		return &BrokenError{Number: e.Number, Reason: "it was put in: its number is not in order"}
	case e.Sum() != e.Hash:
		return &BrokenError{Number: want, Reason: "it was changed: it has another hash than its text"}
	case e.Previous != head.Hash:
		return &BrokenError{Number: want, Reason: fmt.Sprintf("it does not continue entry %d: one of the two was replaced", head.Number)}
	}
	return nil
}
