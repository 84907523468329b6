// Package target knows how to start what is measured: the upstream itself, nginx, a
// reverse proxy of Go's standard library, and Genway as one process and as two. It
// knows nothing of workloads.
package target
