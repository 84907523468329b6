// Package ledger accounts for requests: one entry for each request the core accepts,
// opened when it is admitted and closed exactly once, with what became of it, what it
// used and who served it. An entry never holds a prompt, an answer or a key.
//
// A Recorder takes entries off the requests' path and writes them in batches; a Store
// keeps them (package core/store). What prices, limits and budgets make of the entries
// is for packages of their own.
//
// It must import only the standard library and core/amount: the border to the store is here.
package ledger
