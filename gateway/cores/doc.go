// Package cores connects an edge to several cores at once. It parses the targets that name
// them, keeps their addresses up to date, sends each call to the ready core with the fewest
// calls in flight, leaves out a core that fails for a while, and sends a call that a core has
// refused before it read the body to another one.
//
// It uses gRPC's own connections, health checks and transparent retries. It must not import
// the core.
package cores
