// Package fit makes a request fit an upstream of another protocol than its caller's, where
// that is the same for all protocols: tools that a vendor runs and what they have left in
// the history, functions that are to keep to their schemas, names of
// tools, texts and stop sequences that a vendor is documented to reject.
//
// It changes copies, never the request itself. What it leaves out it names in losses, so
// that a strict call is refused. It must not import net/http, grpc or any package of ours
// but the contract and the packages of codec.
package fit

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Rules are what the vendor of a protocol takes of a request that is translated for its
// upstreams. The zero Rules take everything.
type Rules struct {
	// Names is the rule of the names of functions.
	Names NameRule
	// MaxStops is how many stop sequences a request may have; 0 is any number.
	MaxStops int
	// NoBlanks reports that the vendor refuses texts and stop sequences of only white
	// space, and white space at the end of a last turn of the assistant.
	NoBlanks bool
	// SealsReasoning reports that the vendor returns reasoning only when it is asked to, and
	// then sealed (case R8).
	SealsReasoning bool
	// Signatures is the rule of the signatures of calls.
	Signatures SignatureRule
	// Schemas is the rule of the schemas of answers and functions.
	Schemas SchemaRule
	// CallIDs is how many bytes the identifier of a call has at most; 0 is any number.
	CallIDs int
	// JoinsTurns reports that the vendor refuses neighbouring turns of the model, and calls that no turn of the user
	// comes before.
	JoinsTurns bool
	// NeedsTurn reports that the vendor refuses a conversation of system text alone.
	NeedsTurn bool
	// NeedsJSON reports that the vendor refuses to answer in JSON where the conversation does not have that word.
	// Instructs says that it does not count the system text that begins a conversation.
	NeedsJSON, Instructs bool
	// Bounds are what the vendor takes of settings.
	Bounds Bounds
}

// Translated returns the request of a caller of another protocol as the vendor takes it: Turns, Signed, Reasoning, Texts,
// MediaTypes, Schemas and Settings. What that loses is named in losses.
func Translated(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	req = Signed(Turns(asked(req, rules, losses), rules, losses), rules, losses)
	req = MediaTypes(Texts(Reasoning(req, rules), rules, losses))
	return Settings(Schemas(req, rules, losses), rules, losses)
}

// NameRule is what a vendor documents of the names of functions: letters, digits, _ and -,
// at most Longest bytes. A rule without Longest takes any name.
type NameRule struct {
	Longest int
	// More are characters beside letters, digits, _ and -, that do not come first.
	More string
	// Lettered says that a letter or _ comes first.
	Lettered bool
	// Unique says that no two tools may have the same.
	Unique bool
}
