// Package roll restarts cores and edges one after the other under load, as a rolling
// deployment does, and demands that no request fails and that each stream ends whole.
//
// Two edges stand behind a balancer that honours /readyz, and two cores behind each edge.
// `make roll` runs it with the full load and prints a table.
package roll
