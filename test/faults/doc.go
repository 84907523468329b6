// Package faults holds the fault table: what becomes of an answer when its
// upstream fails in each of the known ways, at each moment of the answer, in each
// protocol, unary and streamed. The outcomes are written down beside the tests
// (table_test.go), and none is a false success. `make faults` runs all cells and
// writes docs/faults.md.
//
// Beside it stand the tests of what a failure must not cost: fallback over real
// connections, and ten thousand callers who go away.
//
// Package faulty is the upstream that fails. The callers, the edge and the core are
// those of test/cases. It must not import a vendor's SDK.
package faults
