// Package demo makes a week of requests up, for somebody who wants to see the console with data in
// it: keys with their history in the audit, and rows of the ledger with failures, fallbacks,
// callers who left, losses, timelines and costs.
//
// It writes as a core does: keys by package keys, rows by a ledger.Recorder. So the audit and the
// ledger hold what they promise of the data of real requests.
//
// It must import no store and no upstream.
package demo
