package load

import (
	"fmt"
	"strings"
)

// Job is a request and what its answers must be.
type Job struct {
	// Request is the request as it goes over the wire; see NewRequest.
	Request []byte
	Expect  Expect
}

// Expect says what makes an answer whole.
type Expect struct {
	// MinBytes is the least that a body may have.
	MinBytes int
	// Pieces, unless 0, makes the answer a stream of events with so many pieces of
	// text: the n-th, counted from 0, says "token" and n. All must come, in order.
	Pieces int
	// Delta marks the data lines whose pieces count. Others may repeat the text.
	Delta string
	// End marks the data line after which no piece may come; one must come.
	End string
}

// Header is a header of a request.
type Header struct{ Name, Value string }

// NewRequest returns a POST of a JSON body to http://ADDRESS/PATH.
func NewRequest(address, path string, headers []Header, body []byte) []byte {
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, strings.TrimPrefix(address, encryptedPrefix), len(body))
	for _, h := range headers {
		request = fmt.Appendf(request, "%s: %s\r\n", h.Name, h.Value)
	}
	request = append(request, "\r\n"...)
	return append(request, body...)
}
