//go:build race

package server

// race tells whether the tests run under the race detector.
const race = true
