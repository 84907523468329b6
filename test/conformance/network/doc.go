// Package network runs an edge and two cores on hosts of their own: network namespaces, each
// with an address, joined by a switch that the test itself is. So it can cut any two hosts off
// from each other, delay frames and lose them, without the kernel's netem.
//
// It needs Linux, root and iproute2's ip, and skips elsewhere, saying so.
package network
