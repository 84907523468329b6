// Package fit makes a request fit an upstream of another protocol than its caller's, where
// that is the same for all protocols: tools that a vendor runs and what they have left in
// the history, functions that are to keep to their schemas, names of
// tools, texts and stop sequences that a vendor is documented to reject.
//
// It changes copies, never the request itself. What it leaves out it names in losses, so
// that a strict call is refused. It must not import net/http, grpc or any package of ours
// but the contract and the packages of codec.
package fit
