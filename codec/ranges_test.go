package codec_test

import (
	"errors"
	"math"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func TestCheckRanges(t *testing.T) {
	for _, ok := range []*genwayv1.Sampling{
		nil, {}, {Temperature: new(0.0)}, {Temperature: new(2.0)}, {TopP: new(1.0)},
		{FrequencyPenalty: new(-2.0), PresencePenalty: new(2.0)}, {TopLogprobs: proto.Int32(20)},
	} {
		if err := codec.CheckRanges(ok); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	for param, bad := range map[string][]*genwayv1.Sampling{
		"sampling.temperature":       {{Temperature: new(-1.0)}, {Temperature: new(2.1)}, {Temperature: new(math.NaN())}, {Temperature: new(math.Inf(1))}},
		"sampling.top_p":             {{TopP: new(-0.1)}, {TopP: new(3.0)}},
		"sampling.frequency_penalty": {{FrequencyPenalty: new(-9.0)}},
		"sampling.presence_penalty":  {{PresencePenalty: new(2.01)}},
		"sampling.top_logprobs":      {{TopLogprobs: proto.Int32(21)}, {TopLogprobs: proto.Int32(-1)}},
		"sampling.candidate_count":   {{CandidateCount: proto.Int32(0)}, {CandidateCount: proto.Int32(-1)}},
	} {
		for _, s := range bad {
			f, ok := errors.AsType[*fault.Error](codec.CheckRanges(s))
			if !ok || f.Kind != fault.InvalidRequest || f.Param != param {
				t.Errorf("%v: %v", s, f)
			}
		}
	}
}
