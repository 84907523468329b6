package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/genway/genway/core/audit"
)

// CreateParams says which key to make.
type CreateParams struct {
	// Group is one of Groups.
	Group Group
	Settings
}

// Created is a key that was just made.
type Created struct {
	// Raw is what is shown to authenticate. It can never be had again.
	Raw string
	Key Key
}

// Create makes a key. The raw key is returned here and can never be had again. An
// *InvalidError says what is wrong with params; a name that a live key of the group has
// is.
func (s *Service) Create(ctx context.Context, params CreateParams) (raw string, key Key, err error) {
	made, err := s.make(params)
	if err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	change, err := created(ctx, ActionCreate, made.Key)
	if err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", err)
	}
	if err := s.store.Create(ctx, []Key{made.Key}, []audit.Change{change}); err != nil {
		return "", Key{}, fmt.Errorf("create key: %w", invalidName(err, []Key{made.Key}))
	}
	return made.Raw, made.Key, nil
}

// Import makes many keys, all or none. An *InvalidError says what is wrong with
// which of params. A name is taken as with Create, and by those ahead in params, so that
// the same list is not imported twice by mistake.
// With dry nothing is made, and the keys returned have neither id nor raw key.
func (s *Service) Import(ctx context.Context, params []CreateParams, dry bool) ([]Created, error) {
	if err := s.checkImport(ctx, params); err != nil {
		return nil, fmt.Errorf("import keys: %w", err)
	}
	made := make([]Created, len(params))
	var changes []audit.Change
	var list []Key
	for i, p := range params {
		var err error
		if made[i], err = s.make(p); err != nil {
			if invalid, ok := errors.AsType[*InvalidError](err); ok {
				invalid.Index = i
			}
			return nil, fmt.Errorf("import keys: %w", err)
		}
		change, err := created(ctx, ActionImport, made[i].Key)
		if err != nil {
			return nil, fmt.Errorf("import keys: %w", err)
		}
		changes, list = append(changes, change), append(list, made[i].Key)
	}
	if dry {
		for i := range made {
			made[i].Raw, made[i].Key.ID, made[i].Key.Secrets = "", "", nil
		}
		return made, nil
	}
	if len(list) == 0 {
		return nil, nil
	}
	if err := s.store.Create(ctx, list, changes); err != nil {
		return nil, fmt.Errorf("import keys: %w", invalidName(err, list))
	}
	return made, nil
}

// checkImport refuses names that are taken.
func (s *Service) checkImport(ctx context.Context, params []CreateParams) error {
	names := make([]Named, 0, len(params))
	for _, p := range params {
		if p.Name != "" {
			names = append(names, Named{p.Group, p.Name})
		}
	}
	taken, err := s.store.Named(ctx, names)
	if err != nil {
		return err
	}
	for name, id := range taken {
		taken[name] = id + " has it"
	}
	for i, p := range params {
		if p.Name == "" {
			continue
		}
		if by, ok := taken[Named{p.Group, p.Name}]; ok {
			return &InvalidError{Index: i, Fields: []FieldError{{Field: "name", Reason: "it is taken: " + by}}}
		}
		taken[Named{p.Group, p.Name}] = "another key of the import has it"
	}
	return nil
}

// invalidName makes an *InvalidError of a name that the store says is taken by another
// than one of list; any other error stays as it is.
func invalidName(err error, list []Key) error {
	taken, ok := errors.AsType[*NameTakenError](err)
	if !ok {
		return err
	}
	index := max(0, slices.IndexFunc(list, func(key Key) bool { return key.ID == taken.Key }))
	return &InvalidError{Index: index, Fields: []FieldError{{Field: "name", Reason: "it is taken: " + taken.By + " has it"}}}
}

// MintDefaults makes one key for each group that generates, named default-GROUP, if
// the store has never had a key: the first start. Otherwise it makes none and first
// is false. Of several processes that start at once on one store, one is first.
//
// deliver, unless nil, is given the keys before they are stored, if the store has none; an
// error of it stores nothing. It may be called although first is false in the end, when
// another process was first meanwhile.
//
// There is no default key of the group admin (case K11): whoever may read the host's
// data makes one.
func (s *Service) MintDefaults(ctx context.Context, deliver func(minted map[Group]string) error) (minted map[Group]string, first bool, err error) {
	minted = make(map[Group]string)
	var list []Key
	var changes []audit.Change
	for _, group := range Groups() {
		if group == GroupAdmin {
			continue
		}
		made, err := s.make(CreateParams{Group: group, Settings: Settings{Name: "default-" + string(group)}})
		if err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
		change, err := created(ctx, ActionCreate, made.Key)
		if err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
		minted[group] = made.Raw
		list, changes = append(list, made.Key), append(changes, change)
	}
	if deliver != nil {
		known, err := s.store.List(ctx, Query{Limit: 1})
		if err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
		if len(known) > 0 {
			return nil, false, nil
		}
		if err := deliver(minted); err != nil {
			return nil, false, fmt.Errorf("mint the first keys: %w", err)
		}
	}
	first, err = s.store.CreateFirst(ctx, list, changes)
	if err != nil {
		return nil, false, fmt.Errorf("mint the first keys: %w", err)
	}
	if !first {
		return nil, false, nil
	}
	return minted, true, nil
}

// make checks what is asked for and draws the secret and the id of a key.
func (s *Service) make(params CreateParams) (Created, error) {
	now := stored(s.clock())
	key := Key{Group: params.Group, Settings: params.normal(), CreateTime: now}
	var v violations
	if _, err := ParseGroup(string(params.Group)); err != nil {
		v.addf("group", "%v", err)
	}
	if err := key.Validate(key.Group); err != nil {
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			v = append(v, invalid.Fields...)
		}
	}
	checkExpiry(&v, key.ExpireTime, now)
	if err := v.err(); err != nil {
		return Created{}, err
	}
	var err error
	if key.ID, err = newID(s.random); err != nil {
		return Created{}, err
	}
	raw, err := Generate(s.random)
	if err != nil {
		return Created{}, err
	}
	key.Secrets = []Secret{{Hash: Hash(raw), CreateTime: now}}
	return Created{Raw: raw, Key: key}, nil
}
