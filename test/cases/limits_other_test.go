//go:build !unix

package cases_test

// limitCases need a shared store, which the tests start only on Unix.
func limitCases() []Case { return nil }
