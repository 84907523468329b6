package coreproc

import (
	"context"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
)

// OIDC is the console's identity provider as the configuration in force has it; nil for none.
func (c *Core) OIDC() *config.OIDC { return c.routing.oidc.Load() }

// StartSession makes a session of the console for the subject whom an identity provider vouches for, and
// gives its key. The audit names the subject.
func (c *Core) StartSession(ctx context.Context, params keys.SessionParams) (raw string, err error) {
	made, err := c.Keys.StartSession(audit.WithActor(ctx, "oidc:"+params.Subject), params)
	return made.Raw, err
}
