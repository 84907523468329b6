// Package load sends one request again and again, over raw keep-alive connections,
// and measures the answers: in a closed loop, where a connection sends its next
// request when it has its answer, or in an open loop, where requests are due at fixed
// instants whether or not the earlier ones have been answered. There a latency counts
// from the instant at which its request was due, so that a gateway that stalls is
// charged for those it kept waiting (free of coordinated omission).
//
// Answers are checked to be whole, by [Expect]: one that is short, out of order or
// without its end is an error and no sample. It must not import net/http, whose client
// costs more than the gateways that are measured.
package load
