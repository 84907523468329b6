package remote

import "net/http/httptrace"

// wroteRequest is called each time that the transport has written the request, or has failed to.
func (a *answer) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		a.written.Add(1)
	}
}

// noteSent records that the transport has read the body of the request to its end each time that it began
// to. Else it may still read it: it gives an answer that comes early before all of the body is sent.
func (a *answer) noteSent() {
	if written := a.written.Load(); written > 0 && written == a.sent.Load() {
		a.record.BodySent++
	}
}
