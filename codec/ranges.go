package codec

import (
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// CheckRanges refuses settings out of the ranges that the vendors document. It is for
// requests that are translated: what an upstream of the caller's protocol takes is the
// upstream's to say, in its own words. Errors are *fault.Error values that name the member
// of the contract.
func CheckRanges(s *genwayv1.Sampling) error {
	if s == nil {
		return nil
	}
	for _, c := range []struct {
		name     string
		value    *float64
		min, max float64
	}{
		{"sampling.temperature", s.Temperature, 0, 2},
		{"sampling.top_p", s.TopP, 0, 1},
		{"sampling.frequency_penalty", s.FrequencyPenalty, -2, 2},
		{"sampling.presence_penalty", s.PresencePenalty, -2, 2},
	} {
		if c.value == nil {
			continue
		}
		if err := within(c.name, *c.value, c.min, c.max); err != nil {
			return err
		}
	}
	if n := s.TopLogprobs; n != nil && (*n < 0 || *n > 20) {
		return fault.Invalid("sampling.top_logprobs", "sampling.top_logprobs: expected a number from 0 to 20, got %d", *n)
	}
	if n := s.CandidateCount; n != nil && *n < 1 {
		return fault.Invalid("sampling.candidate_count", "sampling.candidate_count: expected a number of at least 1, got %d", *n)
	}
	return nil
}

// within refuses what is not a number, too: it is in no range.
func within(name string, value, least, most float64) error {
	if value >= least && value <= most {
		return nil
	}
	return fault.Invalid(name, "%s: expected a number from %g to %g, got %g", name, least, most, value)
}
