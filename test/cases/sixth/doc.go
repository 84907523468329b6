// Package sixth proves that the table of protocols is enough: its tests register a made-up
// protocol, and serve it to callers and call upstreams that speak it. The package has no
// other code. It has a process of its own, since a protocol stays registered.
package sixth
