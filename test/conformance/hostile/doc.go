// Package hostile attacks a running gateway over raw sockets, as a stranger without a key
// does, from an address of its own (127.0.0.2), so that a healthy client on 127.0.0.1 can
// be watched beside it. A Flood is one way to make a server of HTTP/2 work for nothing or
// hold memory; Run repeats it on several connections, each of which is replaced once the
// server ends it.
//
// It must attack nothing but loopback addresses, and must not import the gateway's packages.
package hostile
