// Package protocol is the home of the JSON protocols: one file for each, and one table of
// all. What is true of a protocol as a whole stands here once: its names, the group of its
// keys, its paths, where a key and a version go in requests, how its streams are framed,
// which headers belong to it, how its upstreams are addressed, and its codec. The edge, the
// upstream adapter, authentication, configuration, overrides and routing read the table.
//
// A new protocol is one value of the enum in the contract, its HTTP bindings there, a
// codec, and one file here that is listed in table.go.
//
// The package is below gateway and core. It imports codecs and the contract, and must not
// import net/http, grpc, gateway or core.
package protocol
