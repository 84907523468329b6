// Package codec is the frame of Genway's codecs: one per JSON protocol, in a
// package of its own below this one, each translating between the protocol's
// JSON and the canonical messages of genway.v1, in both directions. The edge uses
// a codec on its left side (decode a request, encode an answer), an upstream
// adapter on its right (encode a request, decode an answer).
//
// Codecs are pure functions: bytes in, message out. Identifiers and times are
// passed in. A codec keeps no state between calls but in its stream encoders
// and decoders, and in sessions. Neither this package nor those below it import net/http, grpc or
// any package of ours but the contract.
package codec

import (
	"time"

	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/codec/fault"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
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
	// Dialect is what the upstream takes of chat completions, for EncodeRequest. Nil is what
	// OpenAI takes, and what others add to it.
	Dialect *dialect.Chat
	// Statistics describes the body of a request of which only the head was decoded; nil for
	// a request that was decoded whole.
	Statistics *edgev1.BodyStatistics
}

// Answer says what an encoded answer belongs to.
type Answer struct {
	// Request is the request that is answered: the responses protocol repeats
	// parts of it. May be nil.
	Request *Request
	// Losses collects what the protocol cannot carry. May be nil.
	Losses *Losses
	// Resumed is set for the stream of a stored answer. Its events pass through, and an error ends the stream without failing the
	// answer.
	Resumed bool
	// Now returns the time at which an answer is completed that does not say so, for protocols that
	// have a member for it. Default: the time at which the answer was created.
	Now func() time.Time
}

// Tools are the tools of the request that is answered.
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

// HeadDecoder is a codec that can read the head of a body: its members other than messages
// and tools, or candidates. Bodies that pass through unchanged need no more than their settings
// and their usage. The result is what the Decode methods return without the members left out. The
// whole body is checked to be JSON without duplicate names; nothing else of the members left out
// is checked. False means that the body must be decoded whole: it is wrong, or uncommon.
type HeadDecoder interface {
	DecodeRequestHead(body []byte) (*Request, bool)
	DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool)
	// BodyStatistics gathers the statistics of a body without decoding it.
	BodyStatistics(body []byte) *edgev1.BodyStatistics
}

// Repeater is a codec whose answers may depend on members of a request that its head leaves
// out. Every other codec encodes answers with only the head.
type Repeater interface {
	// Repeats reports whether the answer to the body may depend on them.
	Repeats(body []byte) bool
}

// Versioned is a codec whose protocol has versions that differ in what requests may hold.
// Versions are compared as the texts they are in the header: dates, as 2023-06-01.
type Versioned interface {
	// CheckVersion refuses, by its name in the contract, what a version does not take of a
	// request that was sent as one of that version.
	CheckVersion(req *genwayv1.GenerateTextRequest, version string) error
	// FitVersion returns a request as an upstream takes it that speaks a version. What the
	// version lacks is refused when it bears on the answer, and else left out and added to
	// losses. A body of the protocol in Wire is changed alike. req is not changed.
	FitVersion(req *genwayv1.GenerateTextRequest, version string, losses *Losses) (*genwayv1.GenerateTextRequest, error)
}

// Compacter is a codec whose protocol compacts conversations by an operation of its own.
// EncodeResponse returns the body of the answer for a request that has Compact set.
type Compacter interface {
	DecodeCompactRequest(body []byte) (*Request, error)
}

// MaxInputPage is the most items in a page of the input of an answer that is stored.
const MaxInputPage = 100

// Storer is a codec whose protocol fetches answers that are stored. It writes what is returned of them.
type Storer interface {
	EncodeStored(resp *genwayv1.GetResponseResponse) ([]byte, error)
	EncodeDeleted(resp *genwayv1.DeleteResponseResponse) ([]byte, error)
}

// InputLister is a codec whose protocol lists the input of answers that are stored.
type InputLister interface {
	EncodeInputItems(resp *genwayv1.ListInputItemsResponse) ([]byte, error)
}

// TokenCounter is a codec whose protocol can count tokens.
type TokenCounter interface {
	DecodeCountRequest(body []byte) (*genwayv1.CountTokensRequest, error)
	EncodeCountRequest(req *genwayv1.CountTokensRequest, losses *Losses) ([]byte, error)
	DecodeCountResponse(body []byte) (*genwayv1.CountTokensResponse, error)
	EncodeCountResponse(resp *genwayv1.CountTokensResponse) ([]byte, error)
}

// Drawer is a codec whose protocol draws images in answers of text. Package codec/drawing has what such protocols
// have in common.
type Drawer interface {
	// AskToDraw changes a request of text, which has the prompt, so that one image is drawn as req says. Settings that the
	// protocol cannot carry are refused where they bear on the answer, and else added to losses; they are named as in req.
	AskToDraw(text *genwayv1.GenerateTextRequest, req *genwayv1.GenerateImageRequest, losses *Losses) error
	// Drawing returns what a part, or the preview of one, says of its image by these native fields.
	Drawing(fields []*genwayv1.NativeField) Drawing
}

// Drawing is what an answer says of an image beside its bytes. What it does not say is empty.
type Drawing struct {
	Background, Quality, RevisedPrompt string
	// Draft reports that it is a thought of the model, and not an image of the answer.
	Draft bool
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
	// Decode returns the canonical events of one frame. A comment, a keep-alive and a piece
	// of something incomplete give none. An event that reports a failure gives its
	// *fault.Error; a frame that cannot be read gives one of kind BadUpstream. No frame
	// may follow an error.
	Decode(f Frame) ([]*genwayv1.StreamGenerateTextResponse, error)
	// Close is called when the upstream's bytes end. It returns the events that
	// wait for the end, TextCompleted among them, or a *fault.Error with
	// ReasonStreamCut when the stream ended before the protocol's terminal event.
	Close() ([]*genwayv1.StreamGenerateTextResponse, error)
}

// StreamWatcher is a StreamDecoder that can continue after a frame that it cannot read, for
// streams that pass through unchanged. It then reads how the answer ends, its usage and
// failures of the upstream, and ignores all else.
type StreamWatcher interface {
	StreamDecoder
	// Watch is called in place of Decode, first with the frame that Decode could not read.
	// Its events may have Started; Completed comes when Decode or Close would give it.
	// content reports that the frame may add to the answer. The error is a failure that
	// the upstream reports.
	Watch(f Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error)
}

// ResponseWatcher is a codec that reads the identifier, the model and the usage of a unary
// answer that passes through unchanged, as far as their types fit. False means that the answer
// is a failure, which DecodeResponse returns.
type ResponseWatcher interface {
	WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool)
}

// StreamEncoder writes the events of one stream to a caller. Not for concurrent
// use. Frames are valid until the next call.
type StreamEncoder interface {
	// Encode returns the frames of one event, the terminal ones with TextCompleted.
	// Ping gives the protocol's own ping event, or no frame where it has none: the edge
	// writes comments.
	Encode(ev *genwayv1.StreamGenerateTextResponse) ([]Frame, error)
	// Fail returns the frames that report err within the stream. They are the last, and none
	// of them marks the answer as complete.
	Fail(err *fault.Error) []Frame
}

// BatchCounter is a StreamEncoder that numbers its events. CountBatch reports to it how many
// upstream events were written without it.
type BatchCounter interface{ CountBatch(events int) }
