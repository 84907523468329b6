// Package sandbox is the embedded upstream: a program that answers by fixed rules,
// so that a client can be developed and tested without a vendor. It is neither a
// language model nor an image model and says so wherever it is described.
//
// A reply repeats the prompt and reports all else the upstream was given (see
// report.go), tools are called by the rules of toolcall.go, structured answers are
// instances of their schema, images show their size, colour, prompt and its hash, and models of certain
// names fail in certain ways (see models.go). Equal requests get equal answers but for
// identifiers and times, which are passed in. docs/sandbox.md is the user's guide.
//
// The package must not import net/http, grpc, the edge or a store.
package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Config says what the sandbox is called. The zero value is complete.
type Config struct {
	// TextModel and ImageModel are the names of the two models that are listed;
	// defaults sandbox-text and sandbox-image.
	TextModel, ImageModel string
	// DemandPrefix begins the names of the models that behave on demand
	// (sandbox-rate-limit); default "sandbox-".
	DemandPrefix string
	// Clock returns create times; default time.Now.
	Clock func() time.Time
	// NewID makes an identifier that begins with prefix and occurs once; default a
	// random one of 24 hexadecimal digits.
	NewID func(prefix string) string
}

// Sandbox is an upstream.Upstream.
type Sandbox struct {
	config  Config
	started time.Time
	memory  memory
}

var _ upstream.Upstream = (*Sandbox)(nil)

// New makes a sandbox.
func New(c Config) *Sandbox {
	setDefault(&c.TextModel, "sandbox-text")
	setDefault(&c.ImageModel, "sandbox-image")
	setDefault(&c.DemandPrefix, "sandbox-")
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = randomID
	}
	return &Sandbox{config: c, started: c.Clock()}
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func randomID(prefix string) string {
	var b [12]byte
	// Read never fails: it ends the program instead (crypto/rand).
	_, _ = rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

// traits are how the answers of a protocol's vendor differ from the others' where the
// contract has one field for all. The sandbox answers as the vendor of its caller's protocol
// does.
type traits struct {
	// fingerprint is the system fingerprint of answers.
	fingerprint string
	// audioExpires reports that audio says until when it can be referred to (expires_at).
	audioExpires bool
	// signsText reports that texts and tool calls have a thought signature.
	signsText bool
	// hidesThoughts reports that thinking is left out unless the caller asks for it.
	hidesThoughts bool
	// encryptsThoughts reports that thinking is reported only as a summary, with its encrypted
	// form where the caller includes it.
	encryptsThoughts bool
	// breakdown says which modalities a usage report distinguishes.
	breakdown modalities
}

// modalities are those that a usage report counts apart.
type modalities struct{ audio, all bool }

// traitsOf returns the traits of a protocol. A direct caller gets all details.
func traitsOf(protocol genwayv1.Protocol) traits {
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return traits{fingerprint: "fp_sandbox", audioExpires: true, breakdown: modalities{audio: true}}
	case genwayv1.Protocol_PROTOCOL_RESPONSES:
		return traits{encryptsThoughts: true}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		return traits{signsText: true, hidesThoughts: true, breakdown: modalities{audio: true, all: true}}
	case genwayv1.Protocol_PROTOCOL_UNSPECIFIED:
		return traits{signsText: true, breakdown: modalities{audio: true, all: true}}
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return traits{}
	default:
		return traits{breakdown: modalities{audio: true, all: true}}
	}
}
