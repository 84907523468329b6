// Package overload has the admission gate of an edge and of a core: it decides which requests
// an overloaded process refuses, and measures the signals of an overload.
//
// Requests take an unknown time, so neither their number nor their duration shows an overload.
// The gate uses what every request depends on: scheduler latency, which is how long runnable
// goroutines wait for a processor, and how much memory the process has left. It keeps no state
// for a request. Admitting one costs an atomic load and an atomic add.
//
// It must not import the gateway, the core or net/http.
package overload
