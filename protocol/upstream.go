package protocol

import (
	"path"
	"strings"

	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/listing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Upstream is what is true of upstreams that speak a protocol.
type Upstream struct {
	// VersionBehindPath reports that a version is put behind a base URL with a path, too,
	// as the SDKs of messages and generateContent do (https://host/anthropic), unless the
	// path has a version already. For other protocols the version is put only behind
	// a bare host.
	VersionBehindPath bool
	// AsksForUsage reports that a stream has its usage only when it is asked to.
	AsksForUsage bool
	// MaxTokens returns the limit of tokens of a request that has none, by its model, for a
	// protocol that requires one; nil for one that does not.
	MaxTokens func(model string) int64
	// Breakpoints returns a translated request with prompt-cache breakpoints, unless its caller has set one; nil for
	// a protocol that has none or whose vendor needs none.
	Breakpoints func(*genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest
	// Fit is what upstreams take of a translated request.
	Fit fit.Rules
	// Foreign reports whether a part cannot be one that an upstream of the protocol has
	// made, beside signatures of another origin. An upstream that verifies its own parts
	// refuses the whole request for one (case R7). nil is a protocol that has no such part.
	Foreign func(part *genwayv1.Part) bool
	// BindsSeals reports that only the account that made a signature or encrypted reasoning can read it.
	BindsSeals bool
	// NamesAccounts reports that encrypted values name the account that made them in each body, since callers return
	// them as they are. Those of other protocols do so in translated bodies alone.
	NamesAccounts bool
	// Turns are the turns of a body whose signatures pass unread and name no account.
	Turns Turns
	// StoresItems reports that upstreams store the items of their answers, and that callers
	// may refer to those instead of sending them.
	StoresItems bool
	// Listing is the form of the list of models. Default: listing.OpenAI.
	Listing *listing.Form
	// MaxAnswerBytes is the default bound of an answer; 0 is 64 MiB.
	MaxAnswerBytes int64
}

// UpstreamPath returns the version and the path, behind it, of an operation at an upstream of
// the protocol, and the verb that follows the model where the path has one. They are those
// of the edge's own path. An operation without a path of its own has the main one.
func (p *Protocol) UpstreamPath(op Operation) (version, path, verb string) {
	b := p.binding(op)
	if b == nil {
		b = p.main()
	}
	version, path, _ = strings.Cut(strings.TrimPrefix(b.Prefix, "/"), "/")
	return version, "/" + strings.TrimSuffix(path, "/"), b.Suffix
}

// Path returns the edge's path that generates with a model.
func (p *Protocol) Path(model string) string {
	b := p.main()
	if b.Model == "" {
		return b.Prefix
	}
	return b.Prefix + model + b.Suffix
}

// PathAt returns the path of an operation at an upstream whose main path is another than the protocol's: below it, as
// /count_tokens, or beside it, as /edits. An operation without a path of its own has the main one.
func (p *Protocol) PathAt(main string, op Operation) string {
	b := p.binding(op)
	if b == nil {
		return main
	}
	if rest, below := strings.CutPrefix(b.Prefix, p.main().Prefix); below {
		return main + rest
	}
	return main[:max(strings.LastIndexByte(main, '/'), 0)] + "/" + path.Base(b.Prefix)
}

// Step returns the first step of the protocol's paths behind the version, as chat.
func (p *Protocol) Step() string {
	_, path, _ := p.UpstreamPath(Generate)
	step, _, _ := strings.Cut(path[1:], "/")
	return step
}

// main is the path that generates.
func (p *Protocol) main() *Binding {
	if b := p.binding(Generate); b != nil {
		return b
	}
	return p.binding(Draw)
}

// Turns are where a body has the turns of a conversation, and which of them are signed. The zero value has none.
type Turns struct {
	// Member is the member with the list of turns.
	Member string
	// Role is the role of the model's turns; empty for a protocol whose turns have none.
	Role string
	// Signed are the words, quoted, of which a signed turn of the model contains one.
	Signed []string
}
