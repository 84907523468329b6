// Package codec is the frame of Genway's codecs: one per JSON protocol, in a
// package of its own below this one, each translating between the protocol's
// JSON and the canonical messages of genway.v1, in both directions. The edge uses
// a codec on its left side (decode a request, encode an answer), an upstream
// adapter on its right (encode a request, decode an answer).
//
// Codecs are pure functions: bytes in, message out. Identifiers and times are
// passed in. A codec keeps no state between calls but in its stream encoders
// and decoders. Neither this package nor those below it import net/http, grpc or
// any package of ours but the contract.
package codec

import (
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Request is a decoded text request: the canonical message, and the members of
// the body that say how to deliver the answer rather than what it is.
type Request struct {
	*genwayv1.GenerateTextRequest
	// Stream says that the caller asked for events by a member of the body.
	// generateContent asks by its path instead and leaves this false.
	Stream bool
	// IncludeUsage asks for the usage chunk of a chat completions stream
	// (stream_options.include_usage).
	IncludeUsage bool
	// Survey tells of the body that a head was read of.
	Survey *genwayv1.WireSurvey
}

// Answer says what an encoded answer belongs to.
type Answer struct {
	// Request is the request that is answered: the responses protocol repeats
	// parts of it. May be nil.
	Request *Request
	// Losses collects what the protocol cannot carry. May be nil.
	Losses *Losses
	// Now gives the time at which an answer is completed, for protocols that tell it. With
	// nil they tell the time at which it was created.
	Now func() time.Time
}

// Tools are those of the request that is answered.
func (a Answer) Tools() []*genwayv1.Tool {
	if a.Request == nil {
		return nil
	}
	return a.Request.GetTools()
}

// Codec translates one text protocol. Its methods are safe for concurrent use.
//
// Errors of DecodeRequest and EncodeRequest are *fault.Error values of kind
// InvalidRequest that name the member in the protocol decoded or, for
// EncodeRequest, in the canonical message (messages[1].parts[0].image). Errors
// of DecodeResponse are of kind BadUpstream, unless the body is an error itself.
type Codec interface {
	Protocol() genwayv1.Protocol
	// DecodeRequest reads a request body. It does not set Wire. Unknown members
	// become native fields, unknown parts and tools opaque ones.
	DecodeRequest(body []byte) (*Request, error)
	// EncodeRequest writes a request body for an upstream of this protocol. What
	// the protocol cannot carry is refused when it bears on the answer, and
	// added to losses otherwise.
	EncodeRequest(req *Request, losses *Losses) ([]byte, error)
	// DecodeResponse reads the body of a successful unary answer.
	DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error)
	// EncodeResponse writes the body of a successful unary answer.
	EncodeResponse(resp *genwayv1.GenerateTextResponse, to Answer) ([]byte, error)
	NewStreamDecoder() StreamDecoder
	NewStreamEncoder(to Answer) StreamEncoder
	// DecodeError reads the body of an answer whose HTTP status is not 2xx. It
	// takes any bytes; what is not an error of the protocol keeps only its status.
	DecodeError(status int, body []byte) *fault.Error
	// EncodeError renders err: the HTTP status, by the protocol's own table, and
	// the body. A body of the same protocol in err.Wire is given as it is.
	EncodeError(err *fault.Error) (status int, body []byte)
}

// HeadDecoder is a codec that can read what stands beside the weight of a body: for
// bodies that pass through as they are, of which only the settings and the usage are of
// interest. Its answers are those of the Decode methods without messages and tools, or
// candidates. All of the body is checked to be JSON without duplicate names, but of
// what is left out nothing else is. False says that the body must be decoded whole: it
// may be wrong, or only uncommon.
type HeadDecoder interface {
	DecodeRequestHead(body []byte) (*Request, bool)
	DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool)
	// SurveyRequest gives the survey of a body whose head was read by somebody else.
	SurveyRequest(body []byte) *genwayv1.WireSurvey
}

// Repeater is a codec whose answers may depend on parts of a request that its head leaves
// out. Those of all others can be encoded with the head alone.
type Repeater interface {
	// Repeats reports whether the answer to that body may.
	Repeats(body []byte) bool
}

// Compacter is a codec whose protocol compacts conversations by an operation of its own.
// EncodeResponse gives the answer for a request that has Compact set.
type Compacter interface {
	DecodeCompactRequest(body []byte) (*Request, error)
}

// TokenCounter is a codec whose protocol can count tokens.
type TokenCounter interface {
	DecodeCountRequest(body []byte) (*genwayv1.CountTokensRequest, error)
	EncodeCountRequest(req *genwayv1.CountTokensRequest, losses *Losses) ([]byte, error)
	DecodeCountResponse(body []byte) (*genwayv1.CountTokensResponse, error)
	EncodeCountResponse(resp *genwayv1.CountTokensResponse) ([]byte, error)
}

// ModelLister is a codec whose protocol lists models.
type ModelLister interface {
	EncodeModels(list *genwayv1.ListModelsResponse) ([]byte, error)
	EncodeModel(model *genwayv1.Model) ([]byte, error)
}

// Frame is one server-sent event.
type Frame struct {
	// Event is the event's name; empty where the protocol has none.
	Event string
	// Data is the event's data, without framing. It has no line break.
	Data []byte
}

// StreamDecoder reads the events of one upstream stream. Not for concurrent use.
type StreamDecoder interface {
	// Decode gives the canonical events of one frame; none for a frame that says
	// nothing (a comment, a keep-alive, the continuation of what is not yet
	// known). An event that reports a failure gives its *fault.Error; so does a
	// frame that cannot be read (kind BadUpstream). After an error the stream is
	// over.
	Decode(f Frame) ([]*genwayv1.StreamGenerateTextResponse, error)
	// Close is called when the upstream's bytes end. It gives the events that
	// wait for the end, TextCompleted among them, or a *fault.Error with
	// ReasonStreamCut when the stream ended before the protocol's terminal event.
	Close() ([]*genwayv1.StreamGenerateTextResponse, error)
}

// StreamWatcher is a StreamDecoder that can go on behind a frame it cannot read, for
// streams that pass by unchanged: it reads how the answer ends, its usage and a failure of
// the upstream, and leaves alone what else a frame may be.
type StreamWatcher interface {
	StreamDecoder
	// Watch takes the place of Decode, from the frame on that Decode could not read; that
	// frame first. Started may be among its events, Completed comes as Decode or Close would
	// give it. content says that the frame may add to the answer. The error is a failure
	// that the upstream tells.
	Watch(f Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error)
}

// ResponseWatcher is a codec that reads of a unary answer that passes by unchanged what
// fits: its identifier, model and usage, without candidates. False says that the answer is
// a failure, which is for DecodeResponse to tell.
type ResponseWatcher interface {
	WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool)
}

// StreamEncoder writes the events of one stream to a caller. Not for concurrent
// use. Frames are valid until the next call.
type StreamEncoder interface {
	// Encode gives the frames of one event, the terminal ones with TextCompleted.
	// Ping gives the protocol's own ping event where it has one, else nothing:
	// comments are the edge's business.
	Encode(ev *genwayv1.StreamGenerateTextResponse) ([]Frame, error)
	// Fail gives the frames that report err in band. Nothing follows them, and nothing
	// among them says that the answer is complete.
	Fail(err *fault.Error) []Frame
}

// RunPasser is a StreamEncoder that numbers its events, and is told of those that pass
// it by.
type RunPasser interface{ PassRun(events int) }

// Losses collects what a translation could not carry: the first 500 members by
// name, and that there are more. A nil *Losses drops it.
type Losses struct {
	list []*genwayv1.Loss
	seen map[string]bool
}

// maxLosses bounds how many losses are told one by one.
const maxLosses = 500

// Add notes the loss of a member. The reason is one short sentence without the
// member's value.
func (l *Losses) Add(member, reason string) {
	if l == nil {
		return
	}
	if l.seen[member] || len(l.list) > maxLosses {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[member] = true
	if len(l.list) == maxLosses {
		member, reason = "...", "more members were lost than are told one by one"
	}
	l.list = append(l.list, &genwayv1.Loss{Member: member, Reason: reason})
}

// List gives the losses in the order they were noted.
func (l *Losses) List() []*genwayv1.Loss {
	if l == nil {
		return nil
	}
	return l.list
}
