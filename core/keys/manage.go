package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/audit"
)

var (
	// ErrAmbiguous is a name that several live keys share.
	ErrAmbiguous = errors.New("several keys have that name")
	// ErrRaw is a key in the place of its id or name.
	ErrRaw = errors.New("that is a key; name it by its id or name, and take it out of your shell's history")
	// ErrRevoked is a change of a key that is revoked: it stays as it is.
	ErrRevoked = errors.New("the key is revoked")
	// ErrExpired is a rotation of a key that has expired: its new secret would be
	// refused.
	ErrExpired = errors.New("the key has expired")
)

// MaxGrace is how long a secret can stay good behind its successor.
const MaxGrace = 90 * 24 * time.Hour

// listPage is how many keys All reads at once.
const listPage = 1000

// List returns a page of keys, the oldest first. ErrNotFound when query.After is no key's id.
func (s *Service) List(ctx context.Context, query Query) ([]Key, error) {
	list, err := s.store.List(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// All yields every key that the query asks for, the oldest first, page by page: neither the
// keys are held in memory nor the store meanwhile. It ends with the first error.
func (s *Service) All(ctx context.Context, query Query) iter.Seq2[Key, error] {
	query.Limit = cmp.Or(query.Limit, listPage)
	return func(yield func(Key, error) bool) {
		for {
			page, err := s.List(ctx, query)
			if err != nil {
				yield(Key{}, err)
				return
			}
			for _, key := range page {
				if !yield(key, nil) {
					return
				}
			}
			if len(page) < query.Limit {
				return
			}
			query.After = page[len(page)-1].ID
		}
	}
}

// Get returns a key. ref is its id, or its name if only one key that is not revoked has
// it, or GROUP/NAME, which keys of other groups do not share. ErrNotFound or
// ErrAmbiguous otherwise, here and in all methods that take a ref.
func (s *Service) Get(ctx context.Context, ref string) (Key, error) {
	key, err := s.find(ctx, ref)
	if err != nil {
		return Key{}, fmt.Errorf("find key %s: %w", quote(ref), err)
	}
	return key, nil
}

// Update has change alter the settings of a key and returns the key as it then is.
// An *InvalidError says what is wrong with them, and an error of change's is passed
// on; ErrRevoked when the key is revoked. A change that changes nothing is none.
//
// When Update returns, the next call on this Service goes by the new settings;
// others on the same store do within 2 seconds.
func (s *Service) Update(ctx context.Context, ref string, change func(*Settings) error) (Key, error) {
	key, err := s.find(ctx, ref)
	if err != nil {
		return Key{}, fmt.Errorf("update key %s: %w", quote(ref), err)
	}
	now := stored(s.clock())
	err = s.store.Update(ctx, key.ID, func(k *Key) ([]audit.Change, error) {
		if k.RevokeTime != nil {
			return nil, ErrRevoked
		}
		before := k.Clone()
		if err := change(&k.Settings); err != nil {
			return nil, err
		}
		k.Settings = k.normal()
		key = k.Clone()
		if err := revalidate(before, *k, now); err != nil {
			return nil, err
		}
		entry, some, err := updated(ctx, before, *k, now)
		if err != nil || !some {
			return nil, err
		}
		return []audit.Change{entry}, nil
	})
	if err != nil {
		return Key{}, fmt.Errorf("update key %s: %w", key.ID, invalidName(err, []Key{key}))
	}
	s.changed(key.Secrets, key.Secrets)
	return key, nil
}

// revalidate checks changed settings. A key that has expired may keep its end, and so may its
// capturing.
func revalidate(before, after Key, now time.Time) error {
	var v violations
	if err := after.Validate(after.Group); err != nil {
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			v = invalid.Fields
		}
	}
	if before.ExpireTime == nil || after.ExpireTime == nil || !after.ExpireTime.Equal(*before.ExpireTime) {
		checkExpiry(&v, after.ExpireTime, now)
	}
	if was, is := before.Policy.Capture, after.Policy.Capture; was == nil || is == nil || !is.Until.Equal(was.Until) {
		checkCapture(&v, is, now)
	}
	return v.err()
}

// Rotation says how a key is rotated.
type Rotation struct {
	// Grace is how long the secret before stays good, up to MaxGrace; zero ends it at once.
	Grace time.Duration
	// Secret, unless it is zero, is the digest of the new secret, which the caller knows already (Draw): Created has no raw
	// key then.
	Secret Digest
	// Dry checks all as the rotation does, and changes nothing.
	Dry bool
	// Permit, unless it is nil, may refuse the rotation of a key that has these settings. Its error is returned as it is.
	Permit func(Settings) error
}

// Rotate gives a key a new secret and returns it raw, this once. The one before
// stays good for the grace; one that was still good from a rotation before that ends now, so that at most two are.
// ErrRevoked or ErrExpired when the key is, and an *InvalidError for what is wrong with how.
func (s *Service) Rotate(ctx context.Context, ref string, how Rotation) (Created, error) {
	if how.Grace < 0 || how.Grace > MaxGrace {
		return Created{}, fmt.Errorf("rotate key: %w", &InvalidError{Fields: []FieldError{
			{Field: "grace", Reason: fmt.Sprintf("expected 0 to %s, got %s", MaxGrace, how.Grace)},
		}})
	}
	key, err := s.find(ctx, ref)
	if err != nil {
		return Created{}, fmt.Errorf("rotate key %s: %w", quote(ref), err)
	}
	secret, raw := how.Secret, ""
	if secret == (Digest{}) {
		if raw, err = Generate(s.random); err != nil {
			return Created{}, fmt.Errorf("rotate key %s: %w", key.ID, err)
		}
		secret = Hash(raw)
	}
	now := stored(s.clock())
	var before []Secret
	err = s.store.Update(ctx, key.ID, func(k *Key) ([]audit.Change, error) {
		switch {
		case k.RevokeTime != nil:
			return nil, ErrRevoked
		case k.Expired(now):
			return nil, ErrExpired
		}
		if how.Permit != nil {
			if err := how.Permit(k.Settings); err != nil {
				return nil, err
			}
		}
		if how.Dry {
			return nil, nil
		}
		if slices.ContainsFunc(k.Secrets, func(s Secret) bool { return s.Hash == secret }) {
			return nil, ErrExists
		}
		before = slices.Clone(k.Secrets)
		end := stored(now.Add(how.Grace))
		next := []Secret{{Hash: secret, CreateTime: now}}
		if how.Grace > 0 {
			next = append(next, Secret{Hash: k.Secrets[0].Hash, CreateTime: k.Secrets[0].CreateTime, ExpireTime: &end})
		}
		k.Secrets = next
		key = k.Clone()
		return []audit.Change{rotated(ctx, *k, now, end)}, nil
	})
	if errors.Is(err, ErrExists) {
		err = &InvalidError{Fields: []FieldError{{Field: "secret_sha256", Reason: "it exists already"}}}
	}
	if err != nil {
		return Created{}, fmt.Errorf("rotate key %s: %w", key.ID, err)
	}
	if how.Dry {
		return Created{Key: key}, nil
	}
	s.changed(before, key.Secrets)
	return Created{Raw: raw, Key: key}, nil
}

// Revoke ends a key for good, with all its secrets, and returns it. A key that is
// revoked already, by its id, stays as it is and is no error. When Revoke returns,
// this Service refuses the key; others on the same store do within 2 seconds.
func (s *Service) Revoke(ctx context.Context, ref string) (Key, error) {
	key, err := s.find(ctx, ref)
	if err != nil {
		return Key{}, fmt.Errorf("revoke key %s: %w", quote(ref), err)
	}
	now := stored(s.clock())
	err = s.store.Update(ctx, key.ID, func(k *Key) ([]audit.Change, error) {
		defer func() { key = k.Clone() }()
		if k.RevokeTime != nil {
			return nil, nil
		}
		k.RevokeTime = &now
		return []audit.Change{{Time: now, Actor: audit.ActorOf(ctx), Action: ActionRevoke, Subject: k.ID}}, nil
	})
	if err != nil {
		return Key{}, fmt.Errorf("revoke key %s: %w", key.ID, err)
	}
	s.changed(key.Secrets, nil)
	return key, nil
}

// find returns the key with that id, or the only live one of that name, or of that name
// in the group that the ref names as well.
func (s *Service) find(ctx context.Context, ref string) (Key, error) {
	if strings.Contains(ref, Prefix) {
		return Key{}, ErrRaw
	}
	key, err := s.only(ctx, ref, "")
	if group, name, ok := strings.Cut(ref, "/"); ok && errors.Is(err, ErrNotFound) {
		if of, unknown := ParseGroup(group); unknown == nil {
			return s.only(ctx, name, of)
		}
	}
	return key, err
}

// only returns the key with that id, or the only live one of that name, in a group unless
// that is empty.
func (s *Service) only(ctx context.Context, ref string, group Group) (Key, error) {
	list, err := s.store.Find(ctx, ref)
	if err != nil {
		return Key{}, err
	}
	var named []Key
	var names []string
	for _, key := range list {
		if key.ID == ref && group == "" {
			return key, nil
		}
		if ref != "" && key.Name == ref && key.RevokeTime == nil && (group == "" || key.Group == group) {
			named, names = append(named, key), append(names, fmt.Sprintf("%s of %s", key.ID, key.Group))
		}
	}
	switch len(named) {
	case 0:
		return Key{}, ErrNotFound
	case 1:
		return named[0], nil
	default:
		return Key{}, fmt.Errorf("%w: %s; name it by its id, or as GROUP/NAME", ErrAmbiguous, strings.Join(names, ", "))
	}
}
