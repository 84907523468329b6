//go:build race

package server

// race reports whether the tests run under the race detector.
const race = true
