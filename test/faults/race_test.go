//go:build race

package faults_test

// race reports whether the tests run under the race detector, which makes them
// several times slower: they then take fewer callers.
const race = true
