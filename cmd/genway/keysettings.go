package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/internal/amount"
)

// settingFlags are the settings as flags. One that is not given changes nothing.
type settingFlags struct {
	Name              *string        `placeholder:"NAME" help:"Name of the key, unique among the live keys of each of its groups."`
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
	CaptureUntil      *string        `placeholder:"TIME" help:"Capture the bodies of the key's requests until this time, at most 7 days from now: 2027-01-31T12:00:00Z, 2027-01-31 (UTC), or a duration such as 2h; none captures nothing. docs/observability.md describes what is kept and who can read it."`
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

// setting is one member of a key's settings as a text: of a flag, or of a column of
// an import, which are named alike. An empty text is the member's absence.
type setting struct {
	name string
	set  func(*keys.Settings, string) error
	// unset is what a flag says for the member's absence, since an empty one may be a variable of the shell's that is not
	// set: a bound must not go by that. Empty for what is only a text of the operator's.
	unset string
}

// settings are all settings, in the order in which commands print them.
var settings = slices.Concat([]setting{
	{"name", func(s *keys.Settings, text string) error { s.Name = text; return nil }, ""},
	{"owner", func(s *keys.Settings, text string) error { s.Owner = text; return nil }, ""},
	{"labels", setLabels, ""},
	{"expire_time", setExpireTime, "never"},
	{"models", setModels, "*"},
	{"addresses", setAddresses, "*"},
	{"certificates", setCertificates, "none"},
}, figures(), []setting{
	{"budget_day", func(s *keys.Settings, text string) error { return setBudget(&s.Policy.Limits, limit.Day, text) }, "none"},
	{"budget_month", func(s *keys.Settings, text string) error { return setBudget(&s.Policy.Limits, limit.Month, text) }, "none"},
	{"strict", setStrict, "false"},
	{"priority", setPriority, interactive},
	{"capture_until", setCaptureUntil, "none"},
	{"capture_share", setCaptureShare, "1"},
	{"capture_max_bytes", setCaptureMaxBytes, strconv.Itoa(capture.DefaultBytes)},
	{"capture_redact", setCaptureRedact, "none"},
})

// figures are the limits that are one number each.
func figures() (list []setting) {
	for m := range limit.Money {
		list = append(list, setting{m.Name(), func(s *keys.Settings, text string) error { return setFigure(s.Policy.Limits.Figure(m), text) }, "0"})
	}
	return list
}

// settingOf returns the setting that a member at fault belongs to, as package keys
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

func setModels(s *keys.Settings, text string) error {
	s.Policy.Models = nil
	if text != "" && text != "*" {
		s.Policy.Models = list(text)
	}
	return nil
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
	return setEach(&s.Policy.Addresses, text, "*", keys.ParseAddress)
}

func setCertificates(s *keys.Settings, text string) error {
	return setEach(&s.Policy.Certificates, text, "none", keys.ParseCertificate)
}

// setEach replaces a list by the parsed members of a text, each once. The text unset is the empty list.
func setEach[T comparable](to *[]T, text, unset string, parse func(string) (T, error)) error {
	*to = nil
	if text == unset {
		return nil
	}
	for _, member := range list(text) {
		parsed, err := parse(member)
		if err != nil {
			return err
		}
		if !slices.Contains(*to, parsed) {
			*to = append(*to, parsed)
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

// setCaptureUntil comes first of the settings of capturing: a key without an end has no other.
func setCaptureUntil(s *keys.Settings, text string) error {
	if text == "" || text == "none" {
		s.Policy.Capture = nil
		return nil
	}
	until, err := time.Parse(time.RFC3339Nano, text)
	if day, err2 := time.Parse(time.DateOnly, text); err2 == nil {
		until, err = day, nil
	}
	if d, err2 := amount.Duration(text); err2 == nil && d > 0 {
		until, err = time.Now().Add(d), nil
	}
	if err != nil {
		return fmt.Errorf("%s is no time; write it as 2027-01-31T12:00:00Z, as 2027-01-31 for the beginning of that day of UTC, as 2h for so long from now, or none", shown(text))
	}
	rule := capture.Rule{}
	if s.Policy.Capture != nil {
		rule = *s.Policy.Capture
	}
	rule.Until = until.UTC()
	s.Policy.Capture = &rule
	return nil
}

// errNoCapture is a setting of capturing without an end of it.
var errNoCapture = errors.New("nothing is captured without capture-until")

// captured returns the capture rule that a setting describes.
func captured(s *keys.Settings, text string) (*capture.Rule, error) {
	if s.Policy.Capture == nil && text != "" {
		return nil, errNoCapture
	}
	return cmp.Or(s.Policy.Capture, &capture.Rule{}), nil
}

func setCaptureShare(s *keys.Settings, text string) error {
	rule, err := captured(s, text)
	if err != nil {
		return err
	}
	rule.Share = 0
	if text == "" {
		return nil
	}
	share, err := amount.Share(text)
	if err != nil || !(share > 0 && share <= 1) {
		return fmt.Errorf("%s is no share; write a number above 0 and up to 1, as 0.01, or 1%%", shown(text))
	}
	if share < 1 { // all of them is the default
		rule.Share = share
	}
	return nil
}

func setCaptureMaxBytes(s *keys.Settings, text string) error {
	rule, err := captured(s, text)
	if err != nil {
		return err
	}
	rule.MaxBytes = 0
	if text == "" {
		return nil
	}
	if rule.MaxBytes, err = amount.Bytes(text); err != nil {
		return fmt.Errorf("%s is no number of bytes; write 65536 or 64KiB", shown(text))
	}
	return nil
}

func setCaptureRedact(s *keys.Settings, text string) error {
	rule, err := captured(s, text)
	if err != nil {
		return err
	}
	rule.Redact = nil
	if text != "" && text != "none" {
		rule.Redact = list(text)
	}
	return nil
}

// captureLines are the lines on a key's capturing for `genway keys show`.
func captureLines(rule *capture.Rule) [][2]string {
	if rule == nil {
		return nil
	}
	share := "all requests"
	if rule.Share != 0 {
		share = strconv.FormatFloat(rule.Share, 'g', -1, 64) + " of the requests"
	}
	return [][2]string{{"captured", fmt.Sprintf("%s until %s, %d bytes a body", share, rule.Until.Format(time.RFC3339), cmp.Or(rule.MaxBytes, capture.DefaultBytes))}, {"redacted", dash(strings.Join(rule.Redact, ","))}}
}

// summary says in a few words what a key may do; a dash if it may do everything.
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
	for m, kind := range limit.Kinds {
		if n := *p.Limits.Figure(limit.Metric(m)); n != 0 {
			words = append(words, fmt.Sprint(n, " ", kind.Short))
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

// checkBudget refuses a budget where the configuration that the command was given has no prices
// to count requests by: all of them would be refused. Without a configuration it warns, since
// nothing is known then. Of a server elsewhere nothing is known either; its log warns.
func checkBudget(stderr io.Writer, data coreproc.Data, server string, given keys.Settings) error {
	if server != "" || len(given.Policy.Limits.Budgets) == 0 {
		return nil
	}
	if data.Config == "" {
		_, err := io.WriteString(stderr, "warning: a budget needs prices, or all requests of this key are refused; without --config it is not known whether the server has any: "+config.PricesRemedy+"\n")
		return err
	}
	c, err := config.Load(data.Config, nil)
	if err != nil || c.Prices != "" || c.Limits != nil && c.Limits.Unpriced == "allow" {
		return nil //nolint:nilerr // the server reports what is wrong with it
	}
	return fmt.Errorf("%s has no prices, so all requests under the budget would be refused; nothing was changed: %s", data.Config, config.PricesRemedy)
}
