package carried

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// eachField calls check with an answer for each field of the contract that is set alone. Native
// fields are those of another protocol than to.
func eachField(t *testing.T, to genwayv1.Protocol, check func(name string, resp *genwayv1.GenerateTextResponse)) {
	t.Helper()
	var table document
	for _, s := range answerSubjects() {
		table.section(s.title)
		_, target := s.make()
		for _, f := range fieldsOf(target.ProtoReflect().Descriptor(), target) {
			for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
				whole, target := s.make()
				set(open(target, f[:len(f)-1]), f.leaf(), i, to)
				resp := whole.(*genwayv1.GenerateTextResponse)
				for _, c := range resp.GetCandidates() {
					c.Parts = c.Parts[len(c.Parts)-1:] // streams of some protocols join parts
				}
				if call := resp.GetCandidates(); len(call) > 0 && call[0].Parts[0].GetToolCall().GetInput() != "" {
					call[0].Parts[0].GetToolCall().ArgumentsJson = "" // a call has the one or the other
				}
				check(s.title+": "+table.row(f, i).name, resp)
			}
		}
	}
}

// The events of an answer add up to the answer, with each of its fields.
func TestEventsKeepEachField(t *testing.T) {
	eachField(t, genwayv1.Protocol_PROTOCOL_IMAGES, func(name string, want *genwayv1.GenerateTextResponse) {
		var sum codec.Accumulator
		for _, event := range codec.Events(proto.CloneOf(want), nil) {
			if err := sum.Add(event); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(want, sum.Response(), protocmp.Transform()); diff != "" {
			t.Errorf("%s does not survive codec.Events and codec.Accumulator: give it a field in the events of a stream, and copy it in both:\n%s", name, diff)
		}
	})
}

// A codec reads from a stream what it reads from the unary answer that says the same.
func TestStreamsDecodeAsAnswers(t *testing.T) {
	for _, c := range codecs {
		eachField(t, c.Protocol(), func(name string, resp *genwayv1.GenerateTextResponse) {
			body, err := encodeAnswer(c, proto.CloneOf(resp), nil)
			if err != nil {
				return // refused, as docs/reference/carried.md says
			}
			unary, err := c.DecodeResponse(body)
			if err != nil {
				t.Fatalf("%s, %v: %v", name, c.Protocol(), err)
			}
			streamed, err := decodeStream(c, resp)
			if err != nil {
				t.Fatalf("%s, %v, in a stream: %v", name, c.Protocol(), err)
			}
			if diff := cmp.Diff(onlySaid(unary), onlySaid(streamed), protocmp.Transform()); diff != "" {
				t.Errorf("%s, %v: the decoder of answers (-) and that of streams (+) differ; a member that one reads, the other must read too:\n%s", name, c.Protocol(), diff)
			}
		})
	}
}

// onlySaid leaves out what encoders make up: the time at which audio ends, which unary answers
// must have, and identifiers of thoughts, which are derived from what is known when they begin.
func onlySaid(resp *genwayv1.GenerateTextResponse) *genwayv1.GenerateTextResponse {
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			p.NativeFields = slices.DeleteFunc(p.NativeFields, func(f *genwayv1.NativeField) bool {
				return f.GetName() == "expires_at" && string(f.GetJson()) == "0"
			})
			if strings.HasPrefix(p.GetId(), "rs_gw") {
				p.Id = ""
			}
		}
	}
	return resp
}

// decodeStream encodes an answer as a stream of the protocol, and decodes that.
func decodeStream(c codec.Codec, resp *genwayv1.GenerateTextResponse) (*genwayv1.GenerateTextResponse, error) {
	encoder, decoder := c.NewStreamEncoder(codec.Answer{Request: asked()}), c.NewStreamDecoder()
	var sum codec.Accumulator
	add := func(events []*genwayv1.StreamGenerateTextResponse, err error) error {
		for _, event := range events {
			if err == nil {
				err = sum.Add(event)
			}
		}
		return err
	}
	for _, event := range codec.Events(proto.CloneOf(resp), nil) {
		frames, err := encoder.Encode(event)
		if err != nil {
			return nil, err
		}
		for _, f := range frames {
			f.Data = append([]byte(nil), f.Data...)
			if err := add(decoder.Decode(f)); err != nil {
				return nil, err
			}
		}
	}
	if err := add(decoder.Close()); err != nil {
		return nil, err
	}
	return sum.Response(), nil
}
