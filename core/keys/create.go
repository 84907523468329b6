package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/audit"
)

// CreateParams says which key to make.
type CreateParams struct {
	// Group is one of Groups.
	Group Group
	Settings
	// Drawn, unless it is zero, is the id and the secret of the key, which the caller knows already: Created has no raw
	// key then.
	Drawn Drawn
}

// Drawn is a key that does not exist yet: its id, and the digest of its secret. A caller draws one (Draw) in order to put
// the secret where it is kept before the key is made: a key whose secret cannot be stored is lost.
type Drawn struct {
	ID     string
	Secret Digest
}

// Draw draws a key from random, which is crypto/rand.Reader outside of tests, and returns its secret raw. The error is the
// reader's.
func Draw(random io.Reader) (drawn Drawn, raw string, err error) {
	if drawn.ID, err = newID(random); err != nil {
		return Drawn{}, "", err
	}
	if raw, err = Generate(random); err != nil {
		return Drawn{}, "", err
	}
	drawn.Secret = Hash(raw)
	return drawn, raw, nil
}

// check refuses what Draw does not return.
func (d Drawn) check(v *violations) {
	if d == (Drawn{}) {
		return
	}
	if rest, ok := strings.CutPrefix(d.ID, idPrefix); !ok || len(rest) != idLength || strings.Trim(rest, base62) != "" {
		v.addf("key_id", "expected %s and %d letters or digits", idPrefix, idLength)
	}
	if d.Secret == (Digest{}) {
		v.addf("secret_sha256", "expected the SHA-256 of a key")
	}
}

// Check reports all that is wrong with p at a moment, as an *InvalidError. Whether the name is
// taken is for the store to know.
func (p CreateParams) Check(now time.Time) error {
	var v violations
	if _, err := ParseGroup(string(p.Group)); err != nil {
		v.addf("group", "%v", err)
	}
	settings := p.normal()
	if err := settings.Validate(p.Group); err != nil {
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			v = append(v, invalid.Fields...)
		}
	}
	checkExpiry(&v, settings.ExpireTime, now)
	checkCapture(&v, settings.Policy.Capture, now)
	p.Drawn.check(&v)
	return v.err()
}

// Created is a key that was just made.
type Created struct {
	// Raw is what is shown to authenticate. It can never be had again. Empty where the caller drew it.
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

// invalidName makes an *InvalidError of a name that the store says is taken by another
// than one of list, and of an id or a secret that exists, which only a caller can have chosen; any other error stays as
// it is.
func invalidName(err error, list []Key) error {
	if errors.Is(err, ErrExists) {
		return &InvalidError{Fields: []FieldError{{Field: "key_id", Reason: "it, or the secret, exists already"}}}
	}
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
// There is no default key of the group admin (case K11): an operator with access to the host's
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
	if err := params.Check(now); err != nil {
		return Created{}, err
	}
	key := Key{Group: params.Group, Settings: params.normal(), CreateTime: now}
	drawn, raw := params.Drawn, ""
	if drawn == (Drawn{}) {
		var err error
		if drawn, raw, err = Draw(s.random); err != nil {
			return Created{}, err
		}
	}
	key.ID, key.Secrets = drawn.ID, []Secret{{Hash: drawn.Secret, CreateTime: now}}
	return Created{Raw: raw, Key: key}, nil
}
