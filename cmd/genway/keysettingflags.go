package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/keys"
)

// settingFlags are the settings as flags. One that is not given changes nothing, one
// that is given empty empties its member.
type settingFlags struct {
	Name              *string        `placeholder:"NAME" help:"A name to tell the key by, which no other live key of its group has."`
	Owner             *string        `placeholder:"NAME" help:"Whom it was given to: a person, a team, a customer. Limits and reports go by owners."`
	Labels            *string        `placeholder:"NAME=VALUE,…" help:"Your own words for it: team=search,env=prod. Replaces all labels."`
	ExpireTime        *string        `xor:"end" placeholder:"TIME" help:"When it ends by itself: 2027-01-31T12:00:00Z, 2027-01-31 (UTC) or never."`
	TTL               *time.Duration `name:"ttl" xor:"end" least:"0s" placeholder:"D" help:"How long it is good for from now on: 720h; 0 is for good."`
	Models            *string        `placeholder:"MODEL,…" help:"The models it may name; * in one stands for anything: gpt-*,claude-*. Empty is all."`
	Addresses         *string        `placeholder:"ADDR,…" help:"Where it may be used from: IP addresses and CIDR blocks. Empty is anywhere."`
	Certificates      *string        `placeholder:"NAME,…" help:"The client certificates of which callers must show one: dns:NAME, uri:URI, email:ADDRESS or sha256:FINGERPRINT. Empty asks for none."`
	RequestsPerMinute *string        `placeholder:"N" help:"Requests a minute; 0 is no bound."`
	TokensPerMinute   *string        `placeholder:"N" help:"Tokens a minute, in and out together; 0 is no bound."`
	Concurrent        *string        `placeholder:"N" help:"Requests at once; 0 is no bound."`
	BudgetDay         *string        `placeholder:"DOLLARS" help:"What it may spend in a day of UTC: 12.50; none is no budget."`
	BudgetMonth       *string        `placeholder:"DOLLARS" help:"What it may spend in a month of UTC; none is no budget."`
	Priority          *string        `placeholder:"PRIORITY" help:"Priority under overload: interactive, the default, or batch, whose requests are refused first."`
	Strict            *bool          `negatable:"" help:"Refuse requests that would lose a member on their way to another protocol."`
	CaptureUntil      *string        `placeholder:"TIME" help:"Capture the bodies of its requests until then, at most 7 days from now: 2027-01-31T12:00:00Z, 2027-01-31 (UTC), a duration such as 2h; none captures none. docs/capture.md says what is kept, and who sees it."`
	CaptureShare      *string        `placeholder:"N" help:"The part of the requests to capture, above 0 and up to 1, which is the default."`
	CaptureMaxBytes   *string        `placeholder:"N" help:"How much to keep of each captured body: 65536 by default, at most 1048576."`
	CaptureRedact     *string        `placeholder:"MEMBER,…" help:"Members whose values are replaced in captured bodies: names, and JSON pointers such as /messages/*/content."`
	ReadOnly          *bool          `negatable:"" help:"Of a key of the group admin: change nothing, for those who only look."`
	ReadCaptures      *bool          `negatable:"" help:"Of a key of the group admin: read captured bodies, which no other key does."`
}

// apply sets what flags were given, as of now.
func (f *settingFlags) apply(to *keys.Settings, now time.Time) error {
	given := map[string]*string{
		"name": f.Name, "owner": f.Owner, "labels": f.Labels, "expire_time": f.ExpireTime, "models": f.Models,
		"addresses": f.Addresses, "certificates": f.Certificates, "requests_per_minute": f.RequestsPerMinute, "tokens_per_minute": f.TokensPerMinute,
		"concurrent": f.Concurrent, "budget_day": f.BudgetDay, "budget_month": f.BudgetMonth, "priority": f.Priority,
		"capture_until": f.CaptureUntil, "capture_share": f.CaptureShare, "capture_max_bytes": f.CaptureMaxBytes, "capture_redact": f.CaptureRedact,
	}
	for _, s := range settings {
		text := given[s.name]
		if text == nil {
			continue
		}
		if err := s.set(to, *text); err != nil {
			return cli.UsageError{Err: fmt.Errorf("--%s: %w", strings.ReplaceAll(s.name, "_", "-"), err)}
		}
	}
	if f.TTL != nil {
		to.ExpireTime = nil
		if *f.TTL != 0 {
			at := now.Add(*f.TTL)
			to.ExpireTime = &at
		}
	}
	if f.Strict != nil {
		to.Policy.Strict = *f.Strict
	}
	if f.ReadOnly != nil {
		to.Policy.ReadOnly = *f.ReadOnly
	}
	if f.ReadCaptures != nil {
		to.Policy.ReadCaptures = *f.ReadCaptures
	}
	return nil
}
