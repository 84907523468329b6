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

var texts = map[string]string{
	BareLF:      "a line of the request's head ends in LF alone; end each in CRLF",
	Folded:      "a header field goes on in another line; send each in one line",
	TwoFramings: "the request has both Content-Length and Transfer-Encoding; send one of them",
	TwoLengths:  "the request has Content-Length more than once; send it once",
	Length:      "Content-Length is not a decimal number",
	Coding:      "Transfer-Encoding is something other than one chunked, or is that of an HTTP/1.0 request; send chunked over HTTP/1.1, or Content-Length",
	LongField:   "a header field that says where the body ends, or the name of one, is too long",
	Expectation: "Expect is something other than 100-continue",
}

// Text says what is wrong with a head that was delivered with this value of Header.
func Text(reason string) string {
	if text, ok := texts[reason]; ok {
		return text
	}
	return "the request's end is ambiguous"
}
