// Package framing finds requests over HTTP/1 whose end is ambiguous, ahead of net/http,
// which hides some of them: it deletes Content-Length beside Transfer-Encoding, joins
// folded lines and takes a bare LF for the end of a line. A proxy in front of Genway may
// read such a request in another way, so that a part of it becomes a request of its own
// (request smuggling, RFC 9112, section 11.2).
//
// A Listener's connections deliver the unambiguous subset of RFC 9112 unchanged, and
// HTTP/2 once its preface has come, which a frames.Meter may end. The scanner follows heads and bodies of that subset
// alone: as any reader agrees on where those end, it cannot lose its place. At the first
// departure it stops for good, and nothing that follows is delivered. A head that departs
// is delivered with a header field that says so (Reason), for the handler to answer 400; a
// body that departs ends in an error.
//
// A request that net/http itself refuses, ahead of any handler, is seen by the answer that
// net/http writes while no handler answers: Config.Refuse gives another in its place.
//
// The package must not import anything of ours but packages frames and connections.
package framing
