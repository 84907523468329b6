// Package workload says what is asked of the targets: requests of the five protocols,
// made by rule so that every run sends the same bytes, and the mixes of size, number
// and pace in which they are sent. It knows neither targets nor how anything is
// measured.
package workload
