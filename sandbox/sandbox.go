// Package sandbox is the embedded upstream: a program that answers by fixed rules,
// so that a client can be developed and tested without a vendor. It is neither a
// language model nor an image model and says so wherever it is described.
//
// A reply repeats the prompt and reports all else the upstream was given (see
// report.go), tools are called by the rules of toolcall.go, structured answers are
// instances of their schema, images are drawn by formulas, and models of certain
// names fail in certain ways (see demand.go). Equal requests get equal answers but for
// identifiers and times, which are passed in. docs/sandbox.md is the user's guide.
//
// The package must not import net/http, grpc, the edge or a store.
package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/genway/genway/core/upstream"
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
