package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

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
	s.Policy.Addresses = nil
	if text == "*" {
		return nil
	}
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
	if text == "none" {
		return nil
	}
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
