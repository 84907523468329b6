// Package cases holds the named cases: what has gone wrong in other gateways, and
// what Genway promises instead. Each is a subtest TestCases/ID that drives the real
// edge and the real core against a fake upstream over HTTP, and asserts on the
// members on the wire. Package fake is the upstream, harness the gateway, probe looks
// into JSON.
//
// A case belongs to the file of its letter: toolcalls_test.go (T),
// responses_test.go and images_test.go (C), reasoning_test.go (R), usage_test.go (U), streams_test.go (S), errors_test.go
// (F), resilience_test.go and keys_test.go (K),
// growth_test.go (G). `make cases` runs them and writes docs/reference/cases.md.
//
// It must not import a vendor's SDK: those are the conformance module's.
package cases
