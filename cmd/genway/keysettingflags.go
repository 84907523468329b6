package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/keys"
)

// settingFlags are the settings as flags. One that is not given changes nothing.
type settingFlags struct {
	Name              *string        `placeholder:"NAME" help:"Name of the key, unique among the live keys of its group."`
	Owner             *string        `placeholder:"NAME" help:"Owner of the key: a person, a team, a customer. Limits and reports can be by owner."`
	Labels            *string        `placeholder:"NAME=VALUE,…" help:"Labels: team=search,env=prod. Replaces all labels."`
	ExpireTime        *string        `xor:"end" placeholder:"TIME" help:"When the key expires: 2027-01-31T12:00:00Z, 2027-01-31 (UTC) or never."`
	TTL               *time.Duration `name:"ttl" xor:"end" least:"0s" placeholder:"D" help:"How long the key is valid from now on: 720h; 0 is without an end."`
	Models            *string        `placeholder:"MODEL,…" help:"Models that the key may use; * matches any text: gpt-*,claude-*. A single * allows all."`
	Addresses         *string        `placeholder:"ADDR,…" help:"IP addresses and CIDR blocks that the key may be used from. * allows all."`
	Certificates      *string        `placeholder:"NAME,…" help:"Client certificates, one of which the caller must present: dns:NAME, uri:URI, email:ADDRESS or sha256:FINGERPRINT; none requires none."`
	RequestsPerMinute *string        `placeholder:"N" help:"Requests per minute; 0 is no limit."`
	TokensPerMinute   *string        `placeholder:"N" help:"Tokens per minute, input and output together; 0 is no limit."`
	Concurrent        *string        `placeholder:"N" help:"Concurrent requests; 0 is no limit."`
	BudgetDay         *string        `placeholder:"DOLLARS" help:"Budget for a day (UTC) in dollars: 12.50; none is no budget."`
	BudgetMonth       *string        `placeholder:"DOLLARS" help:"Budget for a month (UTC) in dollars; none is no budget."`
	Priority          *string        `placeholder:"PRIORITY" help:"Priority under overload: interactive, the default, or batch, whose requests are refused first."`
	Strict            *bool          `negatable:"" help:"Refuse requests that would lose a member in translation to another protocol."`
	CaptureUntil      *string        `placeholder:"TIME" help:"Capture the bodies of the key's requests until this time, at most 7 days from now: 2027-01-31T12:00:00Z, 2027-01-31 (UTC), or a duration such as 2h; none captures nothing. docs/capture.md describes what is kept and who can read it."`
	CaptureShare      *string        `placeholder:"N" help:"Fraction of the requests to capture, above 0 and at most 1. Default: 1."`
	CaptureMaxBytes   *string        `placeholder:"N" help:"Bytes to keep of each captured body, at most 1048576. Default: 65536."`
	CaptureRedact     *string        `placeholder:"MEMBER,…" help:"Members whose values are replaced in captured bodies: names, and JSON pointers such as /messages/*/content; none replaces none."`
	ReadOnly          *bool          `negatable:"" help:"For keys of the group admin: may read, and change nothing."`
	ReadCaptures      *bool          `negatable:"" help:"For keys of the group admin: may read captured bodies. No other key may."`
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
		err := s.set(to, *text)
		if *text == "" && s.unset != "" {
			err = fmt.Errorf("it is empty; write %s for that, or leave the flag out", s.unset)
		}
		if err != nil {
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
