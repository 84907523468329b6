// Package cases holds the named cases of keys, limits and the ledger (K) against the real
// programs and on both kinds of store: what has gone wrong in other gateways, and what
// Genway promises instead. Each is a subtest TestCases/ID. Those that are about the wire
// alone are in the main module's internal/cases; `make cases` runs both and writes
// docs/cases.md.
//
// It must not import the gateway's own packages.
package cases
