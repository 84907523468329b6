//go:build !race

package faults_test

// race reports whether the tests run under the race detector.
const race = false
