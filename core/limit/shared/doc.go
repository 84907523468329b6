// Package shared counts what is used of limits in a Redis or a Valkey, for cores that
// share them. A claim is taken by one script, from all its limits or from none; each
// question is one round trip, and by the server's clock, so that cores need not agree on
// the time but for the day. What a core holds it holds by leases: those of a core that
// died come back.
//
// While the server does not answer, a policy decides: each core admits a share of every
// limit by its own count, or nothing.
//
// It must not import anything of ours but core/limit, core/amount and its own endpoint.
package shared
