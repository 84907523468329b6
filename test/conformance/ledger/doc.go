// Package ledger holds the ledger to its promise from outside, where processes, cores and
// databases end: the report has each accepted request exactly once. Package chaos does
// the same under load. It must not import the gateway's own packages.
package ledger
