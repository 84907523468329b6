// Package captures replays requests as real clients sent them against a running
// gateway, and looks at the answers. The requests are not part of this repository:
// `make captures CAPTURES=DIR` names their folder and sets the build tag captures,
// without which the package has no tests.
//
// A folder holds JSON files at any depth, one request each; see capture_test.go for
// their members.
package captures
