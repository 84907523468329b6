package codec_test

import (
	"math"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestSum(t *testing.T) {
	for _, c := range []struct {
		of   []int64
		want int64
	}{
		{nil, 0},
		{[]int64{1, 2, 3}, 6},
		{[]int64{math.MaxInt64, 1}, math.MaxInt64},
		{[]int64{1, math.MaxInt64, math.MaxInt64}, math.MaxInt64},
		{[]int64{math.MinInt64, -1}, math.MinInt64},
		{[]int64{math.MaxInt64, math.MinInt64}, -1},
	} {
		if got := codec.Sum(c.of...); got != c.want {
			t.Errorf("%v: %d, want %d", c.of, got, c.want)
		}
	}
}

// Each number of the contract is looked at.
func TestShownUsage(t *testing.T) {
	fields := new(genwayv1.Usage).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Kind() != protoreflect.Int64Kind || field.Options().(*descriptorpb.FieldOptions).GetDeprecated() {
			continue
		}
		whole := &genwayv1.Usage{InputTokens: 3, OutputTokens: 4}
		bad := proto.CloneOf(whole)
		bad.ProtoReflect().Set(field, protoreflect.ValueOfInt64(-1))
		given := proto.CloneOf(bad)
		want := proto.CloneOf(whole)
		want.ProtoReflect().Clear(field)
		if got := codec.ShownUsage(bad); !proto.Equal(got, want) || !proto.Equal(bad, given) {
			t.Errorf("%s: %v, want %v", field.Name(), got, want)
		}
		if codec.ShownUsage(whole) != whole {
			t.Error("usage without a negative number was copied")
		}
	}
	bad := &genwayv1.Usage{InputTokens: 3, CacheWrites: []*genwayv1.CacheWrite{{Ttl: "1h", Tokens: -1}, {Ttl: "5m", Tokens: 1}}}
	if got := codec.ShownUsage(bad); len(got.CacheWrites) != 1 || got.CacheWrites[0].Tokens != 1 || len(bad.CacheWrites) != 2 {
		t.Errorf("writes to a cache: %v", got)
	}
	if codec.ShownUsage(nil) != nil {
		t.Error("no usage became some")
	}
}
