package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
)

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
	if d, err2 := time.ParseDuration(text); err2 == nil && d > 0 {
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
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share > 0 && share <= 1) {
		return fmt.Errorf("%s is no part; write a number above 0 and up to 1, as 0.01", shown(text))
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
	if rule.MaxBytes, err = strconv.ParseInt(text, 10, 64); err != nil {
		return fmt.Errorf("%s is no number of bytes", shown(text))
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

// captureLines are those of a key's capturing for `genway keys show`.
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
