// Package overload has the admission gate of an edge and of a core: it decides which requests
// an overloaded process refuses, and measures the signals of an overload.
//
// Requests take an unknown time, so neither their number nor their duration shows an overload.
// The gate uses what every request depends on: whether a processor has nothing to run, by Go's scheduler, and
// how much memory the process has left. A request is admitted when there is room for it. The gate keeps no state
// for those that it has admitted; admitting one that need not wait costs an atomic addition and a comparison.
//
// It must not import the gateway, the core or net/http.
package overload
