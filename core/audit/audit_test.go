package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/genway/genway/core/audit"
)

// record is n entries, each of its own content.
func record(n int) []*audit.Entry {
	var entries []*audit.Entry
	var last *audit.Entry
	for i := range n {
		last = audit.Append(last, audit.Change{
			Time: time.Date(2026, 3, 1, 0, 0, i, 1999, time.UTC), Actor: "user:ada", Action: "key.create",
			Subject: fmt.Sprint("key_", i), Detail: fmt.Sprintf(`{"name":"%d"}`, i),
		})
		entries = append(entries, last)
	}
	return entries
}

func all(entries []*audit.Entry) iter.Seq2[*audit.Entry, error] {
	return func(yield func(*audit.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// What is hashed never changes: records of earlier releases must stay whole.
func TestSumIsForever(t *testing.T) {
	got := record(2)[1].Hash
	const want = "cc0c69d98ac1287c14621ff429ce762ae8b0de38080f65ebb8adc8220ff87533"
	if hex.EncodeToString(got[:]) != want {
		t.Errorf("got %x, want %s", got, want)
	}
}

func TestVerify(t *testing.T) {
	for n := range 3 {
		entries := record(n)
		head, err := audit.Verify(all(entries), [sha256.Size]byte{})
		if err != nil || head.Number != int64(n) {
			t.Errorf("%d entries: got %+v, %v", n, head, err)
		}
		if n > 0 && head.Hash != entries[n-1].Hash {
			t.Errorf("%d entries: got head %x", n, head.Hash)
		}
	}
}

// Whatever is done to a row, the first bad number is named.
func TestVerifyNamesTheFirstBadEntry(t *testing.T) {
	rehash := func(e audit.Entry) *audit.Entry { e.Hash = e.Sum(); return &e }
	for name, c := range map[string]struct {
		tamper func([]*audit.Entry) []*audit.Entry
		want   int64
	}{
		"actor":         {func(es []*audit.Entry) []*audit.Entry { es[2].Actor = "user:eve"; return es }, 3},
		"action":        {func(es []*audit.Entry) []*audit.Entry { es[2].Action = "key.revoke"; return es }, 3},
		"subject":       {func(es []*audit.Entry) []*audit.Entry { es[2].Subject = "key_9"; return es }, 3},
		"detail":        {func(es []*audit.Entry) []*audit.Entry { es[2].Detail = ""; return es }, 3},
		"time":          {func(es []*audit.Entry) []*audit.Entry { es[2].Time = es[2].Time.Add(time.Microsecond); return es }, 3},
		"previous":      {func(es []*audit.Entry) []*audit.Entry { es[2].Previous[0]++; return es }, 3},
		"hash":          {func(es []*audit.Entry) []*audit.Entry { es[2].Hash[0]++; return es }, 3},
		"moved text":    {func(es []*audit.Entry) []*audit.Entry { es[2].Actor += "k"; es[2].Action = "ey.create"; return es }, 3},
		"rewritten":     {func(es []*audit.Entry) []*audit.Entry { es[2].Actor = "user:eve"; es[2] = rehash(*es[2]); return es }, 4},
		"removed":       {func(es []*audit.Entry) []*audit.Entry { return slices.Delete(es, 2, 3) }, 3},
		"removed first": {func(es []*audit.Entry) []*audit.Entry { return es[1:] }, 1},
		"removed and renumbered": {func(es []*audit.Entry) []*audit.Entry {
			es = slices.Delete(es, 2, 3)
			for i, e := range es[2:] {
				e.Number = int64(i + 3)
				es[i+2] = rehash(*e)
			}
			return es
		}, 3},
		"put in": {func(es []*audit.Entry) []*audit.Entry {
			return slices.Insert(es, 3, audit.Append(es[1], audit.Change{Actor: "user:eve"}))
		}, 3},
		"swapped":        {func(es []*audit.Entry) []*audit.Entry { es[2], es[3] = es[3], es[2]; return es }, 3},
		"zeroth put in":  {func(es []*audit.Entry) []*audit.Entry { return slices.Insert(es, 0, rehash(audit.Entry{})) }, 0},
		"another record": {func(es []*audit.Entry) []*audit.Entry { return append(es[:2], record(9)[7:]...) }, 3},
	} {
		_, err := audit.Verify(all(c.tamper(record(5))), [sha256.Size]byte{})
		broken, ok := errors.AsType[*audit.BrokenError](err)
		if !ok || broken.Number != c.want || !strings.Contains(err.Error(), fmt.Sprintf("entry %d", c.want)) {
			t.Errorf("%s: got %v, want entry %d", name, err, c.want)
		}
	}
}

// What is cut off the end leaves a whole record: only a head kept elsewhere shows it.
func TestVerifyKnownHead(t *testing.T) {
	entries := record(5)
	known := entries[3].Hash
	for n := range 6 {
		_, err := audit.Verify(all(entries[:n]), known)
		if cut := n < 4; errors.Is(err, audit.ErrHeadMissing) != cut || (err != nil) != cut {
			t.Errorf("%d entries of 5: got %v", n, err)
		}
	}
}

func TestVerifyPassesErrorsOn(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := audit.Verify(func(yield func(*audit.Entry, error) bool) { yield(nil, broken) }, [sha256.Size]byte{})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// No change of one member of one entry stays unseen.
func TestVerifySeesEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := record(6)
		e := entries[rapid.IntRange(0, 5).Draw(t, "entry")]
		before := *e
		text := rapid.SampledFrom([]*string{&e.Actor, &e.Action, &e.Subject, &e.Detail}).Draw(t, "member")
		*text = rapid.String().Draw(t, "text")
		_, err := audit.Verify(all(entries), [sha256.Size]byte{})
		if (*e != before) != (err != nil) {
			t.Fatalf("%+v: %v", *e, err)
		}
	})
}

func TestActor(t *testing.T) {
	if got := audit.ActorOf(t.Context()); got != audit.Program {
		t.Errorf("nobody: got %q", got)
	}
	if got := audit.ActorOf(audit.WithActor(t.Context(), "user:ada")); got != "user:ada" {
		t.Errorf("got %q", got)
	}
}
