//go:build !unix

package cases_test

// limitCases are of a shared store, which the tests start on Unix alone.
func limitCases() []Case { return nil }
