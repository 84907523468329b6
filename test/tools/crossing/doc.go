// Command crossing carries recorded exchanges across protocols and judges the result
// by the vendors' own SDKs. It reads a corpus of gzipped JSON lines (id, protocol,
// path, status, stream, request, response or response_sse).
//
// Each request of a protocol is sent through a router to every other protocol, as the gateway
// sends it. The body must fit the request type of that protocol's SDK: no unknown and no missing
// members. Else the request must be refused, and the refusal name a member. Each
// answer, whole, streamed or an error, is decoded and encoded for the callers of every
// other protocol, and must have all members the SDK's types demand.
//
// Nothing of interactions was recorded: what is translated into it is crossed once more, from it to the others.
//
// Each request is also sent to models of the other protocol's vendors,
// and judged by what the vendors refuse (package strict). What a
// vendor has answered is judged, too: a rule that refuses it is wrong. Requests of real
// clients (-captures) are only judged as requests.
//
// The report counts for each pair what was translated, what was refused or lost by
// which member, what departs from the SDKs on purpose (intended.go), what does not
// fit, and what a vendor's rules refuse. The exit status is 1 when anything does not
// fit, is refused by a rule (but for those in tolerated), or fails without a name.
//
// It is a module of its own: the gateway's knows no SDK, and the conformance tests,
// which do, know no codec.
//
//	crossing -corpus FILE [-captures DIR] [-id ID] [-from PROTOCOL] [-to PROTOCOL]
package main
