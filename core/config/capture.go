package config

import (
	"fmt"
	"time"

	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Capture says which requests of a route have their bodies captured.
type Capture struct {
	// Share is the part of the requests: above 0 and up to 1. Default 1.
	Share *Share `yaml:"share,omitempty" json:"share,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"The part of the requests, drawn at random: above 0 and up to 1; default 1, all."`
	// MaxBytes is how much is kept of each body. Default 65536.
	MaxBytes Bytes `yaml:"max_bytes,omitempty" json:"max_bytes,omitempty" jsonschema:"minimum=1,maximum=1048576" jsonschema_description:"How much is kept of each body, in bytes; default 65536, at most 1048576."`
	// Redact are the members whose values are replaced before anything is kept.
	Redact []string `yaml:"redact,omitempty" json:"redact,omitempty" jsonschema:"maxItems=64" jsonschema_description:"Members whose values are replaced before anything is kept: names, wherever they are, and JSON pointers in which * is any one name or index, as /messages/*/content. Of a body that is neither JSON nor events of JSON nothing is kept then."`
	// Until is when capturing ends. Required.
	Until Moment `yaml:"until" json:"until" jsonschema:"type=string" jsonschema_description:"When capturing ends: 2027-01-31T12:00:00Z, or 2027-01-31 for the beginning of that day of UTC; at most 7 days from when the file is read."`
}

// Captures is how captured bodies are kept.
type Captures struct {
	// KeyFile has the keys that they are encrypted by; empty is in clear.
	KeyFile string `yaml:"key_file,omitempty" json:"key_file,omitempty" jsonschema_description:"A file with the keys that captured bodies are encrypted by, as docs/observability.md has it; a relative path begins beside this file. It is read again with this one, and on change. Without it, they are kept in clear."`
	// Keep is how long they are kept. Default 168h.
	Keep Duration `yaml:"keep,omitempty" json:"keep,omitempty" jsonschema:"type=string" jsonschema_description:"How long captured bodies are kept: 1h to 720h; default 168h, a week. They go with their request from the ledger, if that is sooner."`

	ring *vault.Ring
}

// Moment is a time spelled as RFC 3339, or a day.
type Moment time.Time

// UnmarshalYAML reads a moment. The error says where.
func (m *Moment) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	if s, ok := node.(*ast.StringNode); ok {
		text = s.Value // with its variables expanded
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			*m = Moment(at)
			return nil
		}
	}
	return &yaml.SyntaxError{Token: node.GetToken(), Message: fmt.Sprintf("%.80q is no time; write 2027-01-31T12:00:00Z, or 2027-01-31", text)}
}

// MarshalText writes it.
func (m Moment) MarshalText() ([]byte, error) { return time.Time(m).MarshalText() }

// Rule is the capture as package capture has it; nil for none.
func (c *Capture) Rule() *capture.Rule {
	if c == nil {
		return nil
	}
	rule := &capture.Rule{MaxBytes: int64(c.MaxBytes), Redact: c.Redact, Until: time.Time(c.Until).UTC()}
	if c.Share != nil {
		rule.Share = float64(*c.Share)
	}
	return rule
}

func (c *Capture) check(all *checks, at string) {
	if c == nil {
		return
	}
	if c.Share != nil && *c.Share == 0 {
		all.wrongf(at+".share", "expected a number above 0 and up to 1, got 0")
	}
	for _, m := range c.Rule().Check(time.Now()) {
		all.wrongf(at+"."+m.Member, "%s", m.Reason)
	}
}

// Ring has the keys of the file; nil without one.
func (c *Captures) Ring() *vault.Ring {
	if c == nil {
		return nil
	}
	return c.ring
}

// KeepFor is Keep, or its default.
func (c *Captures) KeepFor() time.Duration {
	if c == nil || c.Keep == 0 {
		return vault.DefaultKeep
	}
	return time.Duration(c.Keep)
}

func (c *Captures) check(all *checks, at string) {
	if c == nil || c.Keep == 0 {
		return
	}
	if keep := time.Duration(c.Keep); keep < vault.MinKeep || keep > vault.MaxKeep {
		all.wrongf(at+".keep", "expected 1h to 720h, got %v", keep)
	}
}

// readRing reads the key file of captured bodies.
func readRing(config *Config) error {
	if config.Captures == nil || config.Captures.KeyFile == "" {
		return nil
	}
	ring, err := vault.LoadRing(config.Captures.KeyFile)
	if err != nil {
		return strict.Because(err, "$.captures.key_file", "%v", err)
	}
	config.Captures.ring = ring
	return nil
}
