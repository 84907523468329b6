package codec

import "github.com/genway/genway/codec/fault"

// Sessioned is a codec whose protocol is spoken over WebSockets as well: each message of a caller asks for one streamed answer,
// whose events are messages.
type Sessioned interface {
	// NewSession returns the state of a new WebSocket.
	NewSession() Session
}

// Session is the state of one WebSocket, for one request at a time. Read may be called while one runs.
type Session interface {
	// Read reads a message of the caller. The request is never nil: it reports the error, a *fault.Error, too.
	Read(message []byte) (SessionRequest, error)
	// Size is the number of bytes of the conversations that are remembered.
	Size() int
	// Forget drops all of them.
	Forget()
}

// SessionRequest is a request that came as a message.
type SessionRequest interface {
	// Prepares reports that the request is remembered for later ones to continue, and that nothing is generated.
	Prepares() bool
	// Body returns the body of the request for a stream, and whether it has the conversation that it continues, since the
	// session remembers it. Own is the body without that.
	Body() (body []byte, continued bool, err error)
	Own() []byte
	// Event returns the message of an event of the answer, which is valid as long as the frame.
	Event(f Frame) []byte
	// Fail returns the message that reports a failure in place of events, with the headers that an HTTP answer would have.
	Fail(err *fault.Error, headers map[string]string) []byte
	// Ended reports whether Event or Fail has returned the end of the answer. It is safe for concurrent use.
	Ended() bool
	// End notes that the answer is over, of which Event has seen all that was sent. The session remembers an answer that
	// its upstream does not store. It forgets the response that a request continued which failed.
	End()
}
