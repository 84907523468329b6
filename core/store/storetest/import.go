//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

// batches yields each list as a part of an import, with an entry for each key.
func batches(lists ...[]keys.Key) iter.Seq2[keys.Batch, error] {
	return func(yield func(keys.Batch, error) bool) {
		for _, list := range lists {
			batch := keys.Batch{Keys: list}
			for _, key := range list {
				batch.Changes = append(batch.Changes, audit.Change{Time: key.CreateTime, Action: "key.import", Subject: key.ID, Detail: "{}"})
			}
			if !yield(batch, nil) {
				return
			}
		}
	}
}

// broken yields what lists do, then an error.
func broken(err error, lists ...[]keys.Key) iter.Seq2[keys.Batch, error] {
	return func(yield func(keys.Batch, error) bool) {
		for batch, none := range batches(lists...) {
			if !yield(batch, none) {
				return
			}
		}
		yield(keys.Batch{}, err)
	}
}

func testImport(t *testing.T, database Database) {
	handle := opened(t, database)
	s := handle.Keys()
	if err := s.Import(t.Context(), batches(), false); err != nil {
		t.Errorf("nothing: %v", err)
	}
	want := []keys.Key{key(0), key(1), key(2), key(3), key(4)}
	for _, dry := range []bool{true, false} {
		if err := s.Import(t.Context(), batches(want[:2], nil, want[2:]), dry); err != nil {
			t.Fatalf("dry %t: %v", dry, err)
		}
		if n := len(list(t, s)); dry && n != 0 {
			t.Errorf("a dry run made %d keys", n)
		}
	}
	if diff := cmp.Diff(want, list(t, s), prefixes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if head := verified(t, handle); head.Number != int64(len(want)) {
		t.Errorf("%d entries", head.Number)
	}
}

// An import that fails leaves nothing behind, and reports its first error.
func testImportAllOrNone(t *testing.T, database Database) {
	handle := opened(t, database)
	s := handle.Keys()
	before := key(9)
	create(t, s, before)
	recorded := verified(t, handle)
	version, err := s.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := func(n int, of keys.Key) keys.Key {
		k := key(n)
		k.Group, k.Name = of.Group, of.Name
		return k
	}
	var many []keys.Key // more than one statement takes
	for n := range 600 {
		many = append(many, key(100+n))
	}
	failure := errors.New("a row at the end is wrong")
	ended, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, c := range map[string]struct {
		ctx    context.Context //nolint:containedctx // of one row of the table
		of     iter.Seq2[keys.Batch, error]
		is     error
		by     string // who has the name
		atName int
	}{
		"an error behind the last":    {t.Context(), broken(failure, many, []keys.Key{key(0)}), failure, "", 0},
		"a name of before":            {t.Context(), batches(many, []keys.Key{key(0), named(1, before)}), nil, before.ID, 601},
		"a name further ahead":        {t.Context(), batches([]keys.Key{key(0)}, many, []keys.Key{named(1, key(0))}), nil, key(0).ID, 601},
		"a name twice in one part":    {t.Context(), batches([]keys.Key{key(0), named(1, key(0))}), nil, key(0).ID, 1},
		"a name in a later statement": {t.Context(), batches(append(slices.Clip(many), named(0, before))), nil, before.ID, 600},
		"an id twice":                 {t.Context(), batches(many, many[:1]), keys.ErrExists, "", 0},
		"its caller disconnects in the middle": {ended, func(yield func(keys.Batch, error) bool) {
			for batch, err := range batches(many, []keys.Key{key(0)}) {
				if !yield(batch, err) {
					return
				}
				cancel()
			}
		}, context.Canceled, "", 0},
	} {
		err := s.Import(c.ctx, c.of, false)
		taken, _ := errors.AsType[*keys.NameTakenError](err)
		switch {
		case c.is != nil && !errors.Is(err, c.is):
			t.Errorf("%s: %v", name, err)
		case c.is == nil && (taken == nil || taken.By != c.by || taken.Index != c.atName):
			t.Errorf("%s: %v, %+v", name, err, taken)
		}
		if diff := cmp.Diff([]keys.Key{before}, list(t, s), prefixes()); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
	if head := verified(t, handle); head != recorded {
		t.Errorf("the audit has %d entries, and had %d", head.Number, recorded.Number)
	}
	if now, err := s.Version(t.Context()); err != nil || now != version {
		t.Errorf("version %d, then %d, %v", version, now, err)
	}
}

// Of several imports of the same names at once, each through a handle of its own, one is made.
func testImportConcurrently(t *testing.T, database Database) {
	const imports, size = 4, 300
	var wait sync.WaitGroup
	errs := make([]error, imports)
	for n := range imports {
		s := open(t, database)
		var some []keys.Key
		for i := range size {
			k := key(n*size + i)
			k.Group, k.Name = keys.GroupChat, strconv.Itoa(i)
			some = append(some, k)
		}
		wait.Go(func() { errs[n] = s.Import(t.Context(), batches(some[:size/2], some[size/2:]), false) })
	}
	wait.Wait()
	made := 0
	for n, err := range errs {
		taken, _ := errors.AsType[*keys.NameTakenError](err)
		switch {
		case err == nil:
			made++
		case taken == nil || taken.Index != 0:
			t.Errorf("import %d: %v", n, err)
		}
	}
	if got := len(list(t, open(t, database))); made != 1 || got != size {
		t.Errorf("%d imports were made, and %d keys", made, got)
	}
}
