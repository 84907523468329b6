// Package audit is the append-only record of what was changed in a Genway, by whom
// and when. Each entry holds the hash of the one before it, so that a row that is
// changed, taken out or put in later breaks the chain (Verify).
//
// Entries are appended by the store in the transaction of the change they record:
// there is no change without its entry, and no entry without its change. Those of a change outside the
// database are appended before it. No entry
// holds a secret or a secret's hash.
//
// The package is only the domain: it must import nothing of ours, no database/sql,
// no driver, no grpc and no net/http.
package audit

import (
	"context"
	"time"
)

// A Change is what is to be recorded of one change.
type Change struct {
	// Time is when it was made: UTC in whole microseconds.
	Time time.Time
	// Actor is who made it: "user:NAME" for an operating system's user at the
	// command line, "key:ID" for a key of the Admin service, and Program for what
	// the program does by itself.
	Actor string
	// Action is what was done, as noun.verb: one of the Action constants of the
	// package whose noun it is.
	Action string
	// Subject is the id of what was changed.
	Subject string
	// Detail is a JSON object of what it was changed to, as text: only the members
	// that the action sets. Empty when the action sets nothing.
	Detail string
}

// Program is the actor of changes without a user: the keys of the first start.
const Program = "genway"

type actorKey struct{}

// WithActor returns a context in which changes are made by actor.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf returns the actor of a context; Program if none was named.
func ActorOf(ctx context.Context) string {
	if actor, ok := ctx.Value(actorKey{}).(string); ok {
		return actor
	}
	return Program
}
