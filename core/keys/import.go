package keys

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/genway/genway/core/audit"
)

// Importing is an import of any number of keys, of which a part at a time is in memory.
type Importing struct {
	// Params say which keys to make. They are read once, in parts; an error of theirs ends the
	// import and is returned as it is.
	Params iter.Seq2[CreateParams, error]
	// Dry checks all as the import does, the names too, and makes nothing. The keys that Made
	// is given have neither id nor raw key.
	Dry bool
	// Made, unless it is nil, is given the keys part by part, in the order of Params, before they are committed:
	// they exist when the import has returned nil, and none of them does otherwise. An error
	// of Made ends the import and is returned as it is. It may keep what it is given.
	Made func([]Created) error
}

// importPart is how many keys of an import are in memory.
const importPart = 1024

// ImportAll makes many keys, all or none. An *InvalidError says what is wrong with which of the
// params. A name is taken as with Create, and by those ahead in Params, so that
// the same list is not imported twice by mistake. Other changes of keys wait meanwhile.
func (s *Service) ImportAll(ctx context.Context, of Importing) error {
	if err := s.importAll(ctx, of); err != nil {
		return fmt.Errorf("import keys: %w", err)
	}
	return nil
}

// CanCreate reports what Create would refuse now, the name included, and makes nothing.
func (s *Service) CanCreate(ctx context.Context, params CreateParams) error {
	if err := s.importAll(ctx, Importing{Params: Each([]CreateParams{params}), Dry: true}); err != nil {
		return fmt.Errorf("create key: %w", err)
	}
	return nil
}

func (s *Service) importAll(ctx context.Context, of Importing) error {
	var given error // an error that is not of the store
	parts := func(yield func(Batch, error) bool) {
		fail := func(err error) {
			given = err
			yield(Batch{}, err)
		}
		var part []Created
		ahead := 0 // how many keys were handed over
		hand := func() bool {
			if len(part) == 0 {
				return true
			}
			batch, err := batchOf(ctx, part)
			if err != nil {
				fail(err)
				return false
			}
			if !yield(batch, nil) {
				return false
			}
			if of.Dry {
				withoutSecrets(part)
			}
			if of.Made != nil {
				if err := of.Made(part); err != nil {
					fail(err)
					return false
				}
			}
			ahead, part = ahead+len(part), nil
			return true
		}
		for params, err := range of.Params {
			var made Created
			if err == nil {
				made, err = s.make(params)
			}
			if invalid, ok := errors.AsType[*InvalidError](err); ok {
				invalid.Index = ahead + len(part)
			}
			switch {
			case err != nil:
				// The store checks the names of the keys ahead first, so that the first error is reported.
				if hand() {
					fail(err)
				}
				return
			case len(part) == importPart-1:
				part = append(part, made)
				if !hand() {
					return
				}
			default:
				part = append(part, made)
			}
		}
		hand()
	}
	err := s.store.Import(ctx, parts, of.Dry)
	switch {
	case given != nil:
		err = given
	case err != nil:
		err = s.nameInImport(ctx, err)
	}
	return err
}

// nameInImport is invalidName of an import. Another key of
// the import has it where no key is known by the id: nothing of the import was stored.
func (s *Service) nameInImport(ctx context.Context, err error) error {
	taken, ok := errors.AsType[*NameTakenError](err)
	if !ok {
		return invalidName(err, nil)
	}
	by := taken.By
	found, ferr := s.store.Find(ctx, taken.By)
	if ferr != nil {
		return errors.Join(err, ferr)
	}
	if len(found) == 0 {
		by = "another key of the import"
	}
	return &InvalidError{Index: taken.Index, Fields: []FieldError{{Field: "name", Reason: "it is taken: " + by + " has it"}}}
}

// Import is ImportAll of keys that are in memory, and returns them.
func (s *Service) Import(ctx context.Context, params []CreateParams, dry bool) ([]Created, error) {
	made := make([]Created, 0, len(params))
	err := s.ImportAll(ctx, Importing{
		Params: Each(params),
		Dry:    dry,
		Made: func(part []Created) error {
			made = append(made, part...)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return slices.Clip(made), nil
}

// Each yields params that are in memory, for Importing.
func Each(params []CreateParams) iter.Seq2[CreateParams, error] {
	return func(yield func(CreateParams, error) bool) {
		for _, p := range params {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// batchOf returns the keys and the entries of the audit of a part.
func batchOf(ctx context.Context, part []Created) (Batch, error) {
	batch := Batch{Keys: make([]Key, len(part)), Changes: make([]audit.Change, len(part))}
	for i, made := range part {
		var err error
		batch.Keys[i] = made.Key
		if batch.Changes[i], err = created(ctx, ActionImport, made.Key); err != nil {
			return Batch{}, err
		}
	}
	return batch, nil
}

// withoutSecrets removes what a key that is not made does not have.
func withoutSecrets(part []Created) {
	for i := range part {
		part[i].Raw, part[i].Key.ID, part[i].Key.Secrets = "", "", nil
	}
}
