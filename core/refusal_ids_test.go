package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Callers in languages without google.rpc.Status find the identifier of a refused call in the
// metadata, where every other answer has it. grpc-go writes no metadata for a call without a
// deadline that is refused by its headers; the details of the status have it in any case.
func TestRefusalsNameTheirRequest(t *testing.T) {
	f := serve(t)
	for name, key := range map[string]string{"no key": "", "a wrong key": "Bearer nobody", "another group's key": "Bearer chat"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(as(t, "authorization", key), time.Minute)
			defer cancel()
			var header, trailer metadata.MD
			_, err := f.client.GenerateText(ctx, request(), grpc.Header(&header), grpc.Trailer(&trailer))
			id := detail(t, err).GetRequestId()
			if got := append(header.Get(core.RequestIDKey), trailer.Get(core.RequestIDKey)...); !strings.HasPrefix(id, "req_") || len(got) == 0 || got[0] != id {
				t.Errorf("unary: %v names %q, the metadata %q", err, id, got)
			}
			stream, err := f.client.StreamGenerateText(ctx, request())
			if err != nil {
				t.Fatal(err)
			}
			_, err = stream.Recv()
			header, _ = stream.Header()
			id = detail(t, err).GetRequestId()
			if got := append(header.Get(core.RequestIDKey), stream.Trailer().Get(core.RequestIDKey)...); !strings.HasPrefix(id, "req_") || len(got) == 0 || got[0] != id {
				t.Errorf("stream: %v names %q, the metadata %q", err, id, got)
			}
		})
	}
}
