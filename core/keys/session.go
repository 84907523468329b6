package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Labels of the keys that are sessions of the console, and links by which sessions begin.
const (
	// LabelConsole says which of both a key is: ConsoleSession or ConsoleLink.
	LabelConsole = "console"
	// LabelConsoleBy has the id of the key that signed in or made the link.
	LabelConsoleBy = "console.by"
	// LabelConsoleSubject has the subject at an identity provider whose session it is.
	LabelConsoleSubject = "console.subject"
	// labelUsed says that a link was used.
	labelUsed = "console.used"
	// labelEnd has when the sign-in at an identity provider ends from which a session or a link
	// descends, as of RFC 3339.
	labelEnd = "console.end"

	ConsoleSession = "session"
	ConsoleLink    = "link"
)

// MaxSession is how long a session lasts at most; it is the default, too.
const MaxSession = 12 * time.Hour

// defaultLink is how long a link is good unless its maker says.
const defaultLink = 15 * time.Minute

// ErrLinkUsed is a sign-in link that a session was made with already.
var ErrLinkUsed = errors.New("the sign-in link was used")

// SessionParams say which session to make.
type SessionParams struct {
	// By is the id of the key of the group admin whose session it is. Empty is the program
	// itself, which may make links, and sessions of a Subject.
	By string
	// Subject is who an identity provider vouches for; only without By. Email is a verified address
	// of theirs, or empty. The session's owner is the address, or the subject, if it can be one.
	Subject, Email string
	// ReadOnly has the session change nothing.
	ReadOnly bool
	// ReadCaptures has a link's session read captured bodies, if the key that makes the link does.
	// The session of a key does so by itself where the key does.
	ReadCaptures bool
	// Link makes a link: a key with which one session can be made.
	Link bool
	// Lifetime is up to MaxSession; 0 is MaxSession, and 15 minutes for a link.
	Lifetime time.Duration
	// Drawn is as in CreateParams.
	Drawn Drawn
}

// StartSession makes a session or a link: a key of the group admin with an end, with the
// addresses, certificates and owner of the key it is made by, and no right that this key lacks. A
// link is used up: of several calls by one link, one succeeds, and the others get ErrLinkUsed.
// The lifetime of what a link makes is not bound by the link's; but whatever descends from a
// session of a Subject ends with that session at the latest, since the identity provider has
// vouched for no longer.
func (s *Service) StartSession(ctx context.Context, params SessionParams) (Created, error) {
	if params.Lifetime < 0 || params.Lifetime > MaxSession {
		return Created{}, fmt.Errorf("start session: %w", &InvalidError{Fields: []FieldError{
			{Field: "lifetime", Reason: fmt.Sprintf("expected 0 to %s, got %s", MaxSession, params.Lifetime)},
		}})
	}
	kind, lifetime := ConsoleSession, MaxSession
	if params.Link {
		kind, lifetime = ConsoleLink, defaultLink
	}
	if params.Lifetime > 0 {
		lifetime = params.Lifetime
	}
	end := stored(s.clock().Add(lifetime))
	with := Settings{Labels: map[string]string{LabelConsole: kind}, ExpireTime: &end, Policy: Policy{ReadOnly: params.ReadOnly, ReadCaptures: params.ReadCaptures}}
	switch {
	case params.By != "" && params.Subject != "":
		return Created{}, errors.New("start session: a subject's session is by no key")
	case params.By != "":
		by, err := s.Get(ctx, params.By)
		if err != nil {
			return Created{}, fmt.Errorf("start session: %w", err)
		}
		by.Settings = by.Clone().Settings
		with.Owner, with.Labels[LabelConsoleBy] = by.Owner, by.ID
		with.Policy.Addresses, with.Policy.Certificates = by.Policy.Addresses, by.Policy.Certificates
		with.Policy.ReadOnly = with.Policy.ReadOnly || by.Policy.ReadOnly
		with.Policy.ReadCaptures = by.Policy.ReadCaptures && (params.ReadCaptures || !params.Link)
		switch by.Labels[LabelConsole] {
		case ConsoleLink:
			if err := s.use(ctx, by); err != nil {
				return Created{}, fmt.Errorf("start session: %w", err)
			}
			with.Labels[LabelConsoleBy] = cmp.Or(by.Labels[LabelConsoleBy], by.ID)
		case ConsoleSession: // its links and sessions belong to the key that signed in, and end with that
			with.Labels[LabelConsoleBy] = cmp.Or(by.Labels[LabelConsoleBy], by.ID)
		}
		descend(&with, by.Settings)
	case params.Subject != "":
		with.Owner = ownerOf(params.Email, params.Subject)
		with.Labels[LabelConsoleSubject], with.Labels[labelEnd] = params.Subject, end.Format(time.RFC3339)
	case !params.Link:
		return Created{}, errors.New("start session: a session needs the key, or the subject, that it is of")
	}
	raw, key, err := s.Create(ctx, CreateParams{Group: GroupAdmin, Settings: with, Drawn: params.Drawn})
	if err != nil {
		return Created{}, fmt.Errorf("start session: %w", err)
	}
	return Created{Raw: raw, Key: key}, nil
}

// ownerOf returns the first name that can be an owner's; empty for none.
func ownerOf(names ...string) string {
	for _, name := range names {
		var v violations
		if checkText(&v, "owner", name, maxTextLength); name != "" && v.err() == nil {
			return name
		}
	}
	return ""
}

// descend has what a subject's session or link makes be the subject's, too, and end with the
// sign-in.
func descend(with *Settings, from Settings) {
	subject := from.Labels[LabelConsoleSubject]
	if subject == "" {
		return
	}
	with.Labels[LabelConsoleSubject], with.Labels[labelEnd] = subject, from.Labels[labelEnd]
	if last, err := time.Parse(time.RFC3339, from.Labels[labelEnd]); err != nil || last.Before(*with.ExpireTime) {
		*with.ExpireTime = last
	}
}

// use uses a link up. The mark is made first, within one transaction, so that one of many wins.
func (s *Service) use(ctx context.Context, link Key) error {
	_, err := s.Update(ctx, link.ID, func(with *Settings) error {
		if with.Labels[labelUsed] != "" {
			return ErrLinkUsed
		}
		with.Labels[labelUsed] = "yes"
		return nil
	})
	if errors.Is(err, ErrRevoked) {
		return ErrLinkUsed
	}
	if err != nil {
		return err
	}
	_, err = s.Revoke(ctx, link.ID)
	return err
}

// EndSessions revokes the live sessions and links of the key with that id.
func (s *Service) EndSessions(ctx context.Context, by string) error {
	for key, err := range s.All(ctx, Query{Group: GroupAdmin, LiveAt: s.clock()}) {
		if err != nil {
			return err
		}
		if key.Labels[LabelConsole] != "" && key.Labels[LabelConsoleBy] == by {
			if _, err := s.Revoke(ctx, key.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
