package consoleproc

import (
	"context"
	"reflect"
	"sync"

	"github.com/genway/genway/console/openid"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
)

// Core is what a console needs of the core beside it, apart from the Admin service.
type Core interface {
	// OIDC is the identity provider that is configured; nil for none.
	OIDC() *config.OIDC
	// StartSession makes a session of the subject whom the identity provider vouches for, and returns its
	// key.
	StartSession(ctx context.Context, params keys.SessionParams) (raw string, err error)
}

// SignIn is the identity provider of a configuration, which is kept over changes of others of
// its parts.
type SignIn struct {
	section func() *config.OIDC

	mu       sync.Mutex
	of       *config.OIDC
	provider *openid.Provider
}

// NewSignIn follows what section gives; nil is no identity provider.
func NewSignIn(section func() *config.OIDC) *SignIn { return &SignIn{section: section} }

// Provider returns the identity provider in force; nil for none.
func (s *SignIn) Provider() *openid.Provider {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.section()
	if now != s.of && !reflect.DeepEqual(now, s.of) {
		s.provider = provider(now)
	}
	s.of = now
	return s.provider
}

func provider(of *config.OIDC) *openid.Provider {
	if of == nil {
		return nil
	}
	return openid.New(openid.Config{
		Issuer: of.Issuer, ClientID: of.ClientID, Secret: of.Secret, RedirectURL: of.RedirectURL, Scopes: of.Scopes,
		GroupsClaim: of.GroupsClaim, AdminGroups: of.AdminGroups, ViewerGroups: of.ViewerGroups, CaptureGroups: of.CaptureGroups,
	})
}
