package demo

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

// caller is a key whose requests there are.
type caller struct {
	*habit
	id, owner   string
	born, ended time.Time // the zero ended is never
}

// act is what an administrator did.
type act struct {
	at    time.Time
	actor string
	do    func(context.Context, *keys.Service) error
}

// people are those who made the keys, as the audit has them.
var people = []string{"user:ada", "user:grace", "user:linus"}

const day = 24 * time.Hour

// makeKeys makes the keys, with what happened to them since, in the order of time.
func makeKeys(ctx context.Context, store keys.Store, w Week) (callers []*caller, made int, err error) {
	chance := rand.New(rand.NewPCG(w.Seed, 1)) //nolint:gosec // ids alone are of it
	now := w.End
	ring, err := keys.New(keys.Config{Store: store, Random: &idsBy{chance: chance}, Clock: func() time.Time { return now }})
	if err != nil {
		return nil, 0, err
	}
	defer ring.Close()
	var acts []act
	for i := range habits {
		h := &habits[i]
		c := &caller{habit: h, owner: h.owner}
		// They are made in working hours, one after the other.
		c.born = w.End.Add(-time.Duration(w.Days)*day - time.Duration(h.age)*day).Truncate(day).Add(9*time.Hour + time.Duration(chance.IntN(8*3600))*time.Second)
		if h.endsAfter > 0 {
			c.ended = w.End.Add(-time.Duration((1 - h.endsAfter) * float64(w.Days) * float64(day)))
		}
		acts = append(acts, act{c.born, w.actor(chance), func(ctx context.Context, ring *keys.Service) error {
			made++
			key, err := createAs(ctx, ring, h.params(w))
			c.id = key.ID
			return err
		}})
		if h.rotated {
			acts = append(acts, act{w.End.Add(-31 * time.Hour), w.actor(chance), func(ctx context.Context, ring *keys.Service) error {
				_, err := ring.Rotate(ctx, c.id, 24*time.Hour)
				return err
			}})
		}
		if h.raised > 0 {
			acts = append(acts, act{w.End.Add(-53 * time.Hour), w.actor(chance), func(ctx context.Context, ring *keys.Service) error {
				_, err := ring.Update(ctx, c.id, func(s *keys.Settings) error {
					s.Policy.Limits.RequestsPerMinute = h.raised
					return nil
				})
				return err
			}})
		}
		if !c.ended.IsZero() {
			acts = append(acts, act{c.ended, w.actor(chance), func(ctx context.Context, ring *keys.Service) error {
				_, err := ring.Revoke(ctx, c.id)
				return err
			}})
		}
		callers = append(callers, c)
	}
	slices.SortStableFunc(acts, func(a, b act) int { return a.at.Compare(b.at) })
	for _, a := range acts {
		if !w.Late {
			now = a.at
		}
		if err := a.do(audit.WithActor(ctx, a.actor), ring); err != nil {
			return nil, made, err
		}
	}
	return callers, made, nil
}

func (w *Week) actor(chance *rand.Rand) string {
	someone := people[chance.IntN(len(people))]
	if w.Actor != "" {
		return w.Actor
	}
	return someone
}

// createAs makes a key under its name, or with a number behind it where that is taken.
func createAs(ctx context.Context, ring *keys.Service, params keys.CreateParams) (keys.Key, error) {
	name := params.Name
	for n := 2; ; n++ {
		_, key, err := ring.Create(ctx, params)
		invalid, ok := errors.AsType[*keys.InvalidError](err)
		if !ok || len(invalid.Fields) != 1 || invalid.Fields[0].Field != "name" || n > 1000 {
			return key, err
		}
		params.Name = fmt.Sprint(name, "-", n)
	}
}

// params are the settings of a habit's key.
func (h *habit) params(w Week) keys.CreateParams {
	s := keys.Settings{Name: h.name, Owner: h.owner, Labels: map[string]string{"demo": "made up"}}
	s.Policy.Models = h.may
	s.Policy.Limits.RequestsPerMinute, s.Policy.Limits.TokensPerMinute, s.Policy.Limits.Concurrent = h.perMinute, h.tokensPerMinute, h.concurrent
	if h.batch {
		s.Policy.Priority = keys.PriorityBatch
	}
	if h.month > 0 {
		// A budget is in proportion to the requests that there are.
		dollars := max(1, int64(h.month*float64(w.Requests)/100_000))
		s.Policy.Limits.Budgets = []limit.Budget{{Amount: dollars * 1e9, Period: limit.Month}}
	}
	if h.expires > 0 {
		end := w.End.Add(time.Duration(h.expires) * day).Truncate(day)
		s.ExpireTime = &end
	}
	return keys.CreateParams{Group: h.group, Settings: s}
}

// idsBy draws the identifiers of keys from chance, so that a seed repeats them, and their secrets
// from crypto/rand, so that the seed does not reveal them.
type idsBy struct {
	chance *rand.Rand
	// secret says that what is drawn is of a secret: draws begin with the length of an identifier
	// or of a secret, and go on with less.
	secret bool
}

// idLength is how many bytes the draw of an identifier begins with. That of a secret is longer.
const idLength = 12

func (r *idsBy) Read(p []byte) (int, error) {
	if len(p) >= idLength {
		r.secret = len(p) > idLength
	}
	if r.secret {
		return crand.Read(p)
	}
	var eight [8]byte
	for i := range p {
		if i%8 == 0 {
			binary.LittleEndian.PutUint64(eight[:], r.chance.Uint64())
		}
		p[i] = eight[i%8]
	}
	return len(p), nil
}
