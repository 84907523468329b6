// Package upstream is a vendor that costs next to nothing: an HTTP/1.1 server written
// by hand over net that answers chat completions, responses, messages, generateContent
// and images from bytes made beforehand, whole or as a stream of events. What it
// answers, and how fast, can be changed while it runs, at [ControlPath].
//
// It reads just enough of a request to answer it and checks nothing: it is there to be
// measured against, not to be talked to. It must not import net/http, which costs more
// than what is measured.
package upstream
