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
		nil, {}, {Temperature: proto.Float64(0)}, {Temperature: proto.Float64(2)}, {TopP: proto.Float64(1)},
		{FrequencyPenalty: proto.Float64(-2), PresencePenalty: proto.Float64(2)}, {TopLogprobs: proto.Int32(20)},
	} {
		if err := codec.CheckRanges(ok); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	for param, bad := range map[string][]*genwayv1.Sampling{
		"sampling.temperature":       {{Temperature: proto.Float64(-1)}, {Temperature: proto.Float64(2.1)}, {Temperature: proto.Float64(math.NaN())}, {Temperature: proto.Float64(math.Inf(1))}},
		"sampling.top_p":             {{TopP: proto.Float64(-0.1)}, {TopP: proto.Float64(3)}},
		"sampling.frequency_penalty": {{FrequencyPenalty: proto.Float64(-9)}},
		"sampling.presence_penalty":  {{PresencePenalty: proto.Float64(2.01)}},
		"sampling.top_logprobs":      {{TopLogprobs: proto.Int32(21)}, {TopLogprobs: proto.Int32(-1)}},
	} {
		for _, s := range bad {
			f, ok := errors.AsType[*fault.Error](codec.CheckRanges(s))
			if !ok || f.Kind != fault.InvalidRequest || f.Param != param {
				t.Errorf("%v: %v", s, f)
			}
		}
	}
}
