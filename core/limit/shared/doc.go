// Package shared counts what is used of limits in a Redis or a Valkey, for cores that
// share them. A claim is taken by one script, from all its limits or from none; each
// question is one round trip, and by the server's clock, so that cores need not agree on
// the time but for the day. What a core holds it holds by leases: those of a core that
// died come back.
//
// What was spent of a budget is kept by process, as a sum that only grows. Each report of a process is the whole sum, and the
// ledger, which has the same sums, is one more reporter: the larger one counts. So no report counts twice, whatever the server
// has lost and in whichever order they come.
//
// While the server does not answer, a policy decides: each core admits a share of every
// limit by its own count, or nothing.
//
// It must not import anything of ours but core/limit, core/amount and its own endpoint.
package shared
