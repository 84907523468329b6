// Package ledger holds the ledger to its promise from outside: after a load of mixed
// requests, and after the process was killed under one, the report has each accepted
// request exactly once. It must not import the gateway's own packages.
package ledger
