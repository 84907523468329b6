package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

// setting is one member of a key's settings as a text: of a flag, or of a column of
// an import, which are named alike. An empty text is the member's absence.
type setting struct {
	name string
	set  func(*keys.Settings, string) error
}

// settings are all settings, in the order in which commands print them.
var settings = []setting{
	{"name", func(s *keys.Settings, text string) error { s.Name = text; return nil }},
	{"owner", func(s *keys.Settings, text string) error { s.Owner = text; return nil }},
	{"labels", setLabels},
	{"expire_time", setExpireTime},
	{"models", func(s *keys.Settings, text string) error { s.Policy.Models = list(text); return nil }},
	{"addresses", setAddresses},
	{"certificates", setCertificates},
	{"requests_per_minute", func(s *keys.Settings, text string) error { return setFigure(&s.Policy.Limits.RequestsPerMinute, text) }},
	{"tokens_per_minute", func(s *keys.Settings, text string) error { return setFigure(&s.Policy.Limits.TokensPerMinute, text) }},
	{"concurrent", func(s *keys.Settings, text string) error { return setFigure(&s.Policy.Limits.Concurrent, text) }},
	{"budget_day", func(s *keys.Settings, text string) error { return setBudget(&s.Policy.Limits, limit.Day, text) }},
	{"budget_month", func(s *keys.Settings, text string) error { return setBudget(&s.Policy.Limits, limit.Month, text) }},
	{"strict", setStrict},
	{"priority", setPriority},
	{"capture_until", setCaptureUntil},
	{"capture_share", setCaptureShare},
	{"capture_max_bytes", setCaptureMaxBytes},
	{"capture_redact", setCaptureRedact},
}

// settingOf gives the setting that a member at fault belongs to, as package keys
// names members; empty for another.
func settingOf(field string) string {
	name := strings.TrimPrefix(field, "limits.")
	if member, ok := strings.CutPrefix(name, "capture."); ok {
		name = "capture_" + member
	}
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, ".")
	if slices.ContainsFunc(settings, func(s setting) bool { return s.name == name }) {
		return name
	}
	return ""
}

// list splits at commas; one within a member is written \,.
func list(text string) []string {
	members := kong.SplitEscaped(text, ',')
	for i := range members {
		members[i] = strings.TrimSpace(members[i])
	}
	return members
}

func setLabels(s *keys.Settings, text string) error {
	s.Labels = nil
	for _, label := range list(text) {
		name, value, ok := strings.Cut(label, "=")
		if !ok {
			return fmt.Errorf("expected NAME=VALUE between commas, got %s", shown(label))
		}
		if _, twice := s.Labels[name]; twice {
			return fmt.Errorf("%s stands there twice", shown(name))
		}
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[name] = value
	}
	return nil
}

func setExpireTime(s *keys.Settings, text string) error {
	s.ExpireTime = nil
	if text == "" || text == "never" {
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			s.ExpireTime = &at
			return nil
		}
	}
	return fmt.Errorf("%s is no time; write it as 2027-01-31T12:00:00Z, or 2027-01-31 for the beginning of that day of UTC, or never", shown(text))
}

func setAddresses(s *keys.Settings, text string) error {
	s.Policy.Addresses = nil
	for _, address := range list(text) {
		prefix, err := keys.ParseAddress(address)
		if err != nil {
			return err
		}
		if !slices.Contains(s.Policy.Addresses, prefix) {
			s.Policy.Addresses = append(s.Policy.Addresses, prefix)
		}
	}
	return nil
}

func setCertificates(s *keys.Settings, text string) error {
	s.Policy.Certificates = nil
	for _, name := range list(text) {
		certificate, err := keys.ParseCertificate(name)
		if err != nil {
			return err
		}
		if !slices.Contains(s.Policy.Certificates, certificate) {
			s.Policy.Certificates = append(s.Policy.Certificates, certificate)
		}
	}
	return nil
}

func setFigure(figure *int64, text string) (err error) {
	*figure = 0
	if text == "" {
		return nil
	}
	if *figure, err = strconv.ParseInt(text, 10, 64); err != nil {
		return fmt.Errorf("%s is no number; 0 is no bound", shown(text))
	}
	return nil
}

func setBudget(limits *limit.Limits, period limit.Period, text string) error {
	limits.Budgets = slices.DeleteFunc(limits.Budgets, func(b limit.Budget) bool { return b.Period == period })
	if text == "" || text == "none" {
		return nil
	}
	if strings.Contains(text, keys.Prefix) { // which an error would repeat
		return fmt.Errorf("%s is no amount; write dollars, as in 12.50", shown(text))
	}
	amount, err := limit.ParseMoney(text)
	if err != nil {
		return err
	}
	if amount == 0 {
		return errors.New("a budget is above 0; write none for no budget")
	}
	limits.Budgets = append(limits.Budgets, limit.Budget{Amount: amount, Period: period})
	slices.SortFunc(limits.Budgets, func(a, b limit.Budget) int { return cmp.Compare(a.Period, b.Period) })
	return nil
}

func setStrict(s *keys.Settings, text string) error {
	switch strings.ToLower(text) {
	case "", "false", "no", "0":
		s.Policy.Strict = false
	case "true", "yes", "1":
		s.Policy.Strict = true
	default:
		return fmt.Errorf("%s is neither true nor false", shown(text))
	}
	return nil
}

func setPriority(s *keys.Settings, text string) error {
	switch strings.ToLower(text) {
	case "", interactive:
		s.Policy.Priority = ""
	case keys.PriorityBatch:
		s.Policy.Priority = keys.PriorityBatch
	default:
		return fmt.Errorf("%s is no priority; one of interactive, batch", shown(text))
	}
	return nil
}

// interactive is the priority of keys without another.
const interactive = "interactive"

// shown quotes a text of the operator's in an error, unless a key may be in it.
func shown(text string) string {
	if strings.Contains(text, keys.Prefix) {
		return "[REDACTED]"
	}
	return fmt.Sprintf("%.80q", text)
}

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
	Priority          *string        `placeholder:"PRIORITY" help:"Whether its requests are refused ahead of others when there are more than can be served: interactive, the default, or batch."`
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

// summary gives in a few words what a key may do; a dash where it may do everything.
func summary(p keys.Policy) string {
	var words []string
	if len(p.Models) > 0 {
		words = append(words, "models "+strings.Join(p.Models, ","))
	}
	if len(p.Addresses) > 0 {
		words = append(words, "from "+strings.Join(addresses(p), ","))
	}
	if len(p.Certificates) > 0 {
		words = append(words, "with "+strings.Join(p.Certificates, ","))
	}
	for _, figure := range []struct {
		value int64
		unit  string
	}{
		{p.Limits.RequestsPerMinute, "requests/min"}, {p.Limits.TokensPerMinute, "tokens/min"}, {p.Limits.Concurrent, "at once"},
	} {
		if figure.value != 0 {
			words = append(words, fmt.Sprint(figure.value, " ", figure.unit))
		}
	}
	for _, budget := range p.Limits.Budgets {
		words = append(words, "$"+budget.String())
	}
	if p.Strict {
		words = append(words, "strict")
	}
	if p.Priority != "" {
		words = append(words, p.Priority)
	}
	if p.ReadOnly {
		words = append(words, "read-only")
	}
	if p.ReadCaptures {
		words = append(words, "reads captures")
	}
	if p.Capture != nil {
		words = append(words, "captured until "+p.Capture.Until.Format(time.RFC3339))
	}
	return dash(strings.Join(words, "; "))
}

// addresses writes single addresses without their length.
func addresses(p keys.Policy) []string {
	texts := make([]string, len(p.Addresses))
	for i, prefix := range p.Addresses {
		texts[i] = addressText(prefix)
	}
	return texts
}

func addressText(prefix netip.Prefix) string {
	if prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return prefix.String()
}

// labelsText writes labels as the flag takes them.
func labelsText(labels map[string]string) string {
	texts := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		texts = append(texts, name+"="+strings.ReplaceAll(labels[name], ",", `\,`))
	}
	return strings.Join(texts, ",")
}
