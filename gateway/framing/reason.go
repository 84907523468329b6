package framing

// Header is the header field in which a head that departs from the subset is delivered with
// its reason. A caller who sends it gets its request refused.
const Header = "Genway-Framing"

// The reasons. Those of bodies are not delivered.
const (
	BareLF      = "bare-lf"
	Folded      = "folded"
	TwoFramings = "two-framings"
	TwoLengths  = "two-lengths"
	Length      = "length"
	Coding      = "coding"
	LongField   = "long-field"
	Expectation = "expectation"
	Preface     = "preface"
	ChunkSize   = "chunk-size"
	ChunkEnd    = "chunk-end"
	Flood       = "flood"
)

// The reasons of handshakes that fail: ClientCertificate is a certificate of the client that is not
// accepted, Handshake anything else. A connection on which nothing has come, such as that of a load
// balancer's check, has no handshake.
const (
	Handshake         = "handshake"
	ClientCertificate = "client-certificate"
)

// The reasons of what net/http refuses itself, see Refusal.
const (
	Malformed  = "malformed"
	Host       = "host"
	Incomplete = "incomplete"
	LargeHead  = "large-head"
	Version    = "version"
	NoTLS      = "no-tls"
)

var texts = map[string]string{
	BareLF:      "a line of the request's head ends in LF alone; end each in CRLF",
	Folded:      "a header field goes on in another line; send each in one line",
	TwoFramings: "the request has both Content-Length and Transfer-Encoding; send one of them",
	TwoLengths:  "the request has Content-Length more than once; send it once",
	Length:      "Content-Length is not a decimal number",
	Coding:      "Transfer-Encoding is something other than one chunked, or is that of an HTTP/1.0 request; send chunked over HTTP/1.1, or Content-Length",
	LongField:   "a header field that says where the body ends, or the name of one, is too long",
	Expectation: "Expect is something other than 100-continue",
	Malformed:   "the request line or a header field is malformed; send METHOD TARGET HTTP/1.1, and each field as a name, a colon and a value",
	Host:        "the request must have one Host header field with a name or an address, and a port if need be",
	Incomplete:  "the connection ended within the head of the request",
	LargeHead:   "the request line and the header fields have more than 64 KiB together; send less",
	Version:     "this version of HTTP is not supported; send HTTP/1.1, or HTTP/2 with its preface",
	NoTLS:       "this port speaks TLS alone, and the request came in clear text; the base URL must begin with https://",
}

// Text says what is wrong with a head that was delivered with this value of Header.
func Text(reason string) string {
	if text, ok := texts[reason]; ok {
		return text
	}
	return "the request's end is ambiguous"
}
