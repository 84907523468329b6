package upstream

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
)

func TestInterrupted(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(t.Context())
	disconnected := errors.New("the client has disconnected")
	cancel(disconnected)
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	share := fmt.Errorf("its share: %w", context.DeadlineExceeded)
	ended, end := context.WithCancelCause(t.Context())
	end(share)
	for name, c := range map[string]struct {
		ctx  context.Context
		kind fault.Kind
		is   error
	}{
		"cancelled": {cancelled, fault.Cancelled, disconnected},
		"deadline":  {late, fault.Timeout, context.DeadlineExceeded},
		"share":     {ended, fault.Timeout, share},
	} {
		t.Run(name, func(t *testing.T) {
			got := Interrupted(c.ctx)
			if got.Kind != c.kind || !errors.Is(got, c.is) {
				t.Errorf("%v of kind %v, want %v because of %v", got, got.Kind, c.kind, c.is)
			}
		})
	}
}
