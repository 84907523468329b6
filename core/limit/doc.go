// Package limit enforces rate, concurrency and budget limits on keys, on their owners and on models. Limits
// (limits.go) declares each kind of limit once: what it is called everywhere, what it counts and how it is refused.
//
// A Limiter finds the limits of a request and asks a Store to reserve what it may take: Memory counts in this process,
// package core/limit/shared in a Redis that several cores share. core/limit/limittest tests both.
//
// It must not import anything of ours but core/amount and core/glob, since core/keys builds on its types.
package limit
