package intake

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/transport"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trickle is a stream whose message comes in pieces, one every so often.
type trickle struct {
	ctx   context.Context
	size  int
	every time.Duration
	sent  int
}

func (*trickle) Method() string               { return "/m" }
func (*trickle) SetHeader(metadata.MD) error  { return nil }
func (*trickle) SendHeader(metadata.MD) error { return nil }
func (*trickle) SetTrailer(metadata.MD) error { return nil }

func (s *trickle) ReadMessageHeader(header []byte) error {
	if s.sent == s.size {
		return io.EOF
	}
	copy(header, []byte{0, byte(s.size >> 24), byte(s.size >> 16), byte(s.size >> 8), byte(s.size)})
	return nil
}

func (s *trickle) Read(n int) (mem.BufferSlice, error) {
	select {
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case <-time.After(s.every):
	}
	s.sent += n
	// An unknown field of the message: its tag, its length, and zeros.
	data := make([]byte, n)
	if s.sent == n {
		copy(data, []byte{0x0a, byte(s.size-4)&0x7f | 0x80, byte((s.size-4)>>7)&0x7f | 0x80, byte((s.size - 4) >> 14)})
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

// A message may take as long as it likes if it comes at the least rate, and is cut at the
// end of the first window in which it does not.
func TestTheLeastRate(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration // for 4 KiB
		cut   time.Duration // when; 0 for never
	}{
		"fast enough": {4 * time.Second, 0},
		"too slow":    {5 * time.Second, 30 * time.Second},
		"not at all":  {time.Hour, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := New(Config{MaxMessageBytes: 8 << 20})
			ctx, end := context.WithCancel(t.Context())
			defer end()
			ctx, err := i.Begin(ctx, Caller{Key: "k"})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			stream := &trickle{ctx: ctx, size: 1 << 20, every: c.every}
			err = Of(ctx).Receive(grpc.NewContextWithServerTransportStream(ctx, stream), new(emptypb.Empty), transport.Codec{}, true)
			f, cut := errors.AsType[*fault.Error](err)
			if cut != (c.cut > 0) || cut && (f.Kind != fault.Timeout || time.Since(begun) != c.cut) || !cut && err != nil {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
			end()
			synctest.Wait()
			if i.held != 0 || len(i.shares) != 0 || len(i.calls) != 0 || len(i.addresses) != 0 {
				t.Errorf("%s: held after the end: %+v", name, i)
			}
		})
	}
}

// A message that its caller's share of the memory can never hold is refused at its head, for
// good: it neither claims memory nor asks the caller to try again. The largest that fits does.
func TestMessagesBeyondAShare(t *testing.T) {
	for _, c := range []struct {
		who  Caller
		size int
		fits bool
	}{
		{Caller{Key: "k"}, 16<<20 + free, true},
		{Caller{Key: "k"}, 16<<20 + free + 1, false},
		{Caller{Key: "k"}, 64 << 20, false},
		{Caller{Keyless: true}, 4<<20 + 1, false},
	} {
		i := New(Config{MaxMessageBytes: 128 << 20, Memory: 32 << 20})
		ctx, end := context.WithCancel(t.Context())
		ctx, err := i.Begin(ctx, c.who)
		if err != nil {
			t.Fatal(err)
		}
		stream := &trickle{ctx: ctx, size: c.size}
		_, err = Of(ctx).message(stream)
		if !c.fits && (fault.From(err).Kind != fault.TooLarge || strings.Contains(err.Error(), "again") || stream.sent > 0) || c.fits && err != nil {
			t.Errorf("%d bytes: %v, %d were read", c.size, err, stream.sent)
		}
		end()
	}
}
