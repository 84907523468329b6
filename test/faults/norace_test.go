//go:build !race

package faults_test

// race tells whether the tests run under the race detector.
const race = false
