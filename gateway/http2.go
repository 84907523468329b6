package gateway

import (
	"net/http"
	"time"
)

// What a connection of HTTP/2 may take. net/http bounds the rest by these: handlers that run
// for streams which were reset, frames that wait to be written.
const (
	// maxStreams is how many requests may be open on one connection.
	maxStreams = 100
	// receiveBuffer is how much of the bodies of a connection may wait to be read, in bytes.
	receiveBuffer = 512 << 10
	// frameSize is the largest frame, in bytes: the least that may be, for each connection
	// keeps memory for one.
	frameSize = 16 << 10
	// silence is how long a connection may say nothing before it is asked whether it is
	// alive, and answerToPing how long it may take to say so.
	silence      = time.Minute
	answerToPing = 15 * time.Second
	// stuckWrite is how long a peer may take no byte of what is written.
	stuckWrite = time.Minute
)

// http2 bounds connections of HTTP/2, and counts their errors.
func (c ServerConfig) http2() *http.HTTP2Config {
	config := &http.HTTP2Config{
		MaxConcurrentStreams:          maxStreams,
		MaxReadFrameSize:              frameSize,
		MaxReceiveBufferPerConnection: receiveBuffer,
		MaxReceiveBufferPerStream:     receiveBuffer,
		SendPingTimeout:               silence,
		PingTimeout:                   answerToPing,
		WriteByteTimeout:              stuckWrite,
	}
	if c.Notices != nil {
		config.CountError = func(kind string) { c.Notices.Count("http2_" + kind) }
	}
	return config
}
