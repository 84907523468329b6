package transport

import (
	"bytes"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// The memory of a body is given back once its handler and each of gRPC's buffers have released it, in
// whichever order, and not before. Bodies that are copied have no reader besides the handler.
func TestLentBodies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		memory := arena.NewBody()
		raw := memory.Make(arena.Least)
		copy(raw, bytes.Repeat([]byte("j"), len(raw)))
		sent := raw[:rapid.SampledFrom([]int{large - 1, large, len(raw)}).Draw(t, "size")]
		want := &genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{Json: sent}}
		releases := []func(){memory.Release}
		for range rapid.IntRange(0, 3).Draw(t, "attempts") {
			data, err := Codec{}.Marshal(lend(want, memory))
			got := new(genwayv1.GenerateTextRequest)
			if err == nil {
				err = proto.Unmarshal(data.Materialize(), got)
			}
			if err != nil || !proto.Equal(got, want) {
				t.Fatalf("%v, %.100v", err, got)
			}
			for range rapid.IntRange(0, 2).Draw(t, "references") { // of a retry, of the writer
				data.Ref()
				if len(sent) >= large {
					releases = append(releases, data.Free)
				}
			}
			if len(sent) >= large {
				releases = append(releases, data.Free)
			}
		}
		for i, release := range rapid.Permutation(releases).Draw(t, "order") {
			if !memory.Used() || raw[0] != 'j' || raw[len(raw)-1] != 'j' {
				t.Fatalf("given back after %d of %d releases", i, len(releases))
			}
			release()
		}
		if memory.Used() {
			t.Fatal("not given back")
		}
	})
}

// What has no memory that is used again, or no body, is sent as it is.
func TestNothingLent(t *testing.T) {
	for _, m := range []any{&genwayv1.ListModelsRequest{}, &genwayv1.GenerateTextRequest{}} {
		if got := lend(m, nil); got != m {
			t.Errorf("%T", got)
		}
	}
	list := &genwayv1.ListModelsRequest{}
	if got := lend(list, arena.NewBody()); got != any(list) {
		t.Errorf("%T", got)
	}
}
