// Package demo writes made-up data of a week into a store, to show the console with: keys with
// their history in the audit, and rows of the ledger with failures, fallbacks, callers that
// disconnect, losses, timelines and costs.
//
// It writes as a core does: keys by package keys, rows by a ledger.Recorder. So the audit and the
// ledger hold what they promise of the data of real requests.
//
// It must import no store and no upstream.
package demo
