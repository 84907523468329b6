// Package overload offers Genway several times what it can serve, and measures what is
// left: the answers that arrive within their callers' deadline, how long those that were
// served took, what the processes hold, and how fast all is well again.
package overload
