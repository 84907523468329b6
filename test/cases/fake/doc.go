// Package fake is an upstream whose answers the test scripts: status, headers,
// JSON bodies or streams, cut into pieces of any size, held up until the test goes
// on, broken off or reset at any place. It speaks no protocol itself, listens on a
// real socket and records every request.
//
// It must not import anything of ours: what it sends is what the test wrote.
package fake
