// Package chaos holds the gateway's books to their promise under faults: the real
// program, on real stores, before a fake of the vendors that keeps books of its own.
// Callers of all protocols leave, upstreams break, cores are killed; then the ledger is
// compared with what the upstreams answered, request by request.
//
// The runs are short unless GENWAY_CHAOS_REQUESTS and GENWAY_CHAOS_ROUNDS say otherwise;
// `make chaos` has them long. The package must not import the gateway's own packages.
package chaos
