// Package scale measures what the parts that all cores share can do: one PostgreSQL with the ledger,
// one Redis or Valkey with the limits. It uses the gateway's packages and real servers, on this
// machine: where writers and server share processors, the CPU time of the server is the figure to
// reckon with.
package scale
