// Package programs holds the named cases that need the real programs: their processes, ports,
// signals and files, and stores of both kinds. Each is a subtest TestCases/ID. The named cases
// that are only about the wire are in the main module's test/cases, which runs edge and core
// in one process; `make cases` runs both and writes docs/reference/cases.md.
//
// It must not import the gateway's own packages.
package programs
