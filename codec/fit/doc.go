// Package fit fits a request to an upstream of another protocol than its caller's,
// where that is the same for all protocols: tools that a vendor runs, and what they have
// left in the history (docs/decisions/0012). Encoders of requests call it before they write.
//
// What it changes, it changes in a copy; what it leaves out, it names in losses, so that
// a strict call is refused. It must not import net/http, grpc or any package of ours but
// the contract and the packages of codec.
package fit
