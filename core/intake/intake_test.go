package intake

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/frames"
	"github.com/genway/genway/internal/transport"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trickle is a stream whose message comes in pieces, one every so often.
type trickle struct {
	ctx   context.Context
	size  int
	every time.Duration
	sent  int
}

func (*trickle) RecvCompress() string { return "" }

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
			if len(i.holders) != 0 || len(i.keyless) != 0 || len(i.connections) != 0 {
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

// connected is a connection, as gRPC has it.
type connected struct {
	*frames.Conn

	ctx context.Context
}

func connect(t *testing.T) connected {
	t.Helper()
	near, far := net.Pipe()
	conn := frames.NewConn(near, nil)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = far.Close()
	})
	return connected{conn, peer.NewContext(context.WithoutCancel(t.Context()), &peer.Peer{Addr: conn.RemoteAddr()})}
}

// begun is a call, and what gRPC keeps of its answers until they are taken.
type begun struct {
	grpc.ServerStream

	*Call
	end  context.CancelFunc
	kept []mem.BufferSlice
	// blocks, if set, has a message wait for the client to take those before it, as gRPC does if they are large.
	blocks chan struct{}
}

// begin begins a call of a key; of none if it is empty.
func (c connected) begin(i *Intake, key, address string) (*begun, error) {
	ctx, end := context.WithCancel(c.ctx)
	ctx, err := i.Begin(ctx, Caller{Key: key, Keyless: key == "", Address: address})
	if err != nil {
		end()
		return nil, err
	}
	return &begun{Call: Of(ctx), end: end}, nil
}

func (b *begun) SendMsg(m any) error {
	data, err := transport.Codec{}.Marshal(m)
	if b.blocks != nil && len(b.kept) > 0 {
		select {
		case <-b.blocks:
			b.take()
		case <-b.ctx.Done():
			data.Free()
			return b.ctx.Err()
		}
	}
	b.kept = append(b.kept, data)
	return err
}

// answer has the call answer with so many bytes, and end.
func (b *begun) answer(t *testing.T, n int) error {
	t.Helper()
	err := b.Send(b, wrapperspb.Bytes(make([]byte, n)))
	b.finish()
	return err
}

// finish ends the call.
func (b *begun) finish() {
	b.end()
	synctest.Wait()
}

// take has the client take all answers.
func (b *begun) take() {
	for _, data := range b.kept {
		data.Free()
	}
	b.kept = nil
}

// reason is a refusal's.
func reason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Reason
	}
	return fmt.Sprint(err)
}

// few opens calls until one is refused, and returns them with the reason.
func few(i *Intake, most int, begin func() (*begun, error), then func(*begun)) (opened []*begun, refusal string) {
	for range most {
		b, err := begin()
		if err != nil {
			return opened, reason(err)
		}
		if then != nil {
			then(b)
		}
		opened = append(opened, b)
	}
	return opened, ""
}

// empty checks that an account has nothing left.
func empty(t *testing.T, i *Intake) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	for who, has := range i.holders {
		t.Errorf("%+v has %+v", who, *has)
	}
	if len(i.connections) > 0 || len(i.keyless) > 0 {
		t.Errorf("%d connections and %d calls without a key are left", len(i.connections), len(i.keyless))
	}
}

// Calls of a key whose message has not come are few, on all connections of the key together, and of all keys. They make room for
// others when their message has come, and when they end.
func TestCallsWithoutAMessageAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := New(Config{MaxMessageBytes: 1 << 20, Window: time.Hour})
		conns := []connected{connect(t), connect(t), connect(t)}
		n := 0
		of := func(key string) func() (*begun, error) {
			return func() (*begun, error) {
				n++
				return conns[n%len(conns)].begin(i, key, "address "+key)
			}
		}
		var all []*begun
		for _, key := range []string{"a", "b", "c"} {
			opened, refusal := few(i, 5000, of(key), nil)
			if len(opened) != waitingCalls || refusal != "CALLS_WITHOUT_MESSAGE" {
				t.Fatalf("key %s: %d calls, %s", key, len(opened), refusal)
			}
			all = append(all, opened...)
		}
		// A message that has come makes room for one, whatever becomes of the call then.
		one := all[0]
		if err := one.Receive(grpc.NewContextWithServerTransportStream(one.ctx, &trickle{ctx: one.ctx, size: 8}), new(emptypb.Empty), transport.Codec{}, true); err != nil {
			t.Fatal(err)
		}
		opened, _ := few(i, 5000, of("a"), nil)
		if len(opened) != 1 {
			t.Errorf("%d calls in place of one", len(opened))
		}
		all = append(all, opened...)
		for k := 0; ; k++ {
			opened, refusal := few(i, 900, of(fmt.Sprint("of many ", k)), nil)
			all = append(all, opened...)
			if refusal == "CALLS_WITHOUT_MESSAGE" {
				break
			}
		}
		if len(all)-1 != waitingCallsInAll {
			t.Errorf("%d calls of all keys, want %d", len(all)-1, waitingCallsInAll)
		}
		// Strangers are not the worse for it.
		if b, err := conns[0].begin(i, "", "address a"); err != nil {
			t.Error(err)
		} else {
			all = append(all, b)
		}
		for _, b := range all {
			b.end()
		}
		synctest.Wait()
		if b, err := of("a")(); err != nil {
			t.Error(err)
		} else {
			b.finish()
		}
		for _, c := range conns {
			_ = c.Close()
		}
		empty(t, i)
	})
}

// Strangers' calls are few on a connection and from an address.
func TestCallsWithoutAKeyAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := New(Config{MaxMessageBytes: 1 << 20, Window: time.Hour})
		var all []*begun
		var open []connected
		defer func() {
			for _, conn := range open {
				_ = conn.Close()
			}
		}()
		for k := range 6 {
			conn, want := connect(t), min(keylessCalls, keylessCallsOfAddress-k*keylessCalls)
			opened, refusal := few(i, 5000, func() (*begun, error) { return conn.begin(i, "", "one") }, nil)
			if len(opened) != max(want, 0) || refusal != "CALLS_WITHOUT_KEY" {
				t.Errorf("connection %d: %d calls, %s", k, len(opened), refusal)
			}
			all, open = append(all, opened...), append(open, conn)
		}
		other := connect(t)
		b, err := other.begin(i, "", "another")
		if err != nil {
			t.Fatal(err)
		}
		i.Drain()
		<-b.ctx.Done()
		synctest.Wait()
		if _, err := other.begin(i, "", "another"); reason(err) != "SHUTTING_DOWN" {
			t.Error(err)
		}
		if b, err := other.begin(i, "key", "another"); err != nil {
			t.Error(err)
		} else {
			b.finish()
		}
		for _, b := range all {
			b.end()
		}
	})
}

// Answers to calls that have ended, of any size, are few that the client leaves in its windows: of a key on all of its
// connections, and of all keys; of a stranger on one connection. There is room again when they are taken, and when
// the connection ends.
func TestAnswersThatAreNotTakenAreFew(t *testing.T) {
	for name, size := range map[string]int{"empty": 0, "small": 10, "larger": free + 1} {
		synctest.Test(t, func(t *testing.T) {
			i := New(Config{MaxMessageBytes: 1 << 20, Window: time.Hour})
			first, second, strange := connect(t), connect(t), connect(t)
			left := func(c connected, key string, most int) (opened []*begun, refusal string) {
				return few(i, most, func() (*begun, error) { return c.begin(i, key, "address") }, func(b *begun) {
					if err := b.answer(t, size); err != nil {
						t.Fatal(err)
					}
				})
			}
			a, _ := left(first, "a", 600)
			b, refusal := left(second, "a", 5000)
			if len(a)+len(b) != untaken || refusal != "ANSWERS_NOT_TAKEN" {
				t.Errorf("%s: %d answers wait, %s", name, len(a)+len(b), refusal)
			}
			if strangers, refusal := left(strange, "", 5000); len(strangers) != keylessUntaken || refusal != "ANSWERS_NOT_TAKEN" {
				t.Errorf("%s: %d answers of strangers wait, %s", name, len(strangers), refusal)
			}
			a[0].take()
			if again, _ := left(first, "a", 5000); len(again) != 1 {
				t.Errorf("%s: %d answers in place of one that was taken", name, len(again))
			}
			_ = second.Close()
			if again, _ := left(first, "a", 5000); len(again) != len(b) {
				t.Errorf("%s: %d answers in place of the %d of a connection that has ended", name, len(again), len(b))
			}
			b[0].take() // too late to matter
			inAll := untaken
			for k := 0; ; k++ {
				others, refusal := left(first, fmt.Sprint("of many ", k), 900)
				if inAll += len(others); refusal != "" {
					break
				}
			}
			if inAll != untakenInAll {
				t.Errorf("%s: %d answers of all keys wait, want %d", name, inAll, untakenInAll)
			}
			// A call that is under way as its connection ends leaves nothing, nor one that begins then.
			under, err := strange.begin(i, "key", "address")
			if err == nil {
				t.Error("a call of another key is admitted, when all wait")
				under.finish()
			}
			_ = first.Close()
			under, err = strange.begin(i, "key", "address")
			if err != nil {
				t.Fatal(err)
			}
			_ = strange.Close()
			if err := under.answer(t, size); err != nil {
				t.Error(err)
			}
			late, err := strange.begin(i, "key", "address")
			if err != nil {
				t.Fatal(err)
			}
			if err := late.answer(t, size); err != nil {
				t.Error(err)
			}
			empty(t, i)
		})
	}
}

// A call whose answer is not taken while it runs counts as one that has ended, and is cut after a minute; if large messages wait,
// after as many as a slow client needs for them.
func TestAnswersThatStall(t *testing.T) {
	for name, c := range map[string]struct {
		size     int
		after    time.Duration // when the client takes it
		cutAfter time.Duration // 0 for never
	}{
		"at once":         {10, 0, 0},
		"soon":            {10, 900 * time.Millisecond, 0},
		"late":            {10, 59 * time.Second, 0},
		"too late":        {10, 62 * time.Second, 61 * time.Second},
		"a large one":     {1 << 20, 10 * time.Minute, 0},
		"large, too late": {1 << 20, time.Hour, 17*time.Minute + time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := New(Config{MaxMessageBytes: 2 << 20, Window: time.Second})
			conn := connect(t)
			b, err := conn.begin(i, "a", "one")
			if err != nil {
				t.Fatal(err)
			}
			b.blocks = make(chan struct{})
			if err := b.Receive(grpc.NewContextWithServerTransportStream(b.ctx, &trickle{ctx: b.ctx, size: 8}), new(emptypb.Empty), transport.Codec{}, true); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			time.AfterFunc(c.after, func() {
				select {
				case b.blocks <- struct{}{}:
				case <-b.ctx.Done():
				}
			})
			stalled := time.AfterFunc(2*time.Second, func() {
				i.mu.Lock()
				defer i.mu.Unlock()
				if b.held.untaken != 1 {
					t.Errorf("%s: it counts as %d that are not taken", name, b.held.untaken)
				}
			})
			err = b.Send(b, wrapperspb.Bytes(make([]byte, c.size)))
			if err == nil {
				err = b.Send(b, wrapperspb.Bytes(nil))
			}
			stalled.Stop()
			if cut := reason(err) == "ANSWER_TIMEOUT"; cut != (c.cutAfter > 0) || cut && time.Since(begun) != c.cutAfter || !cut && err != nil {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
			i.mu.Lock() // a call that was cut ends meanwhile
			if b.held.untaken != 0 && err == nil {
				t.Errorf("%s: it counts as %d that are not taken, when it is", name, b.held.untaken)
			}
			i.mu.Unlock()
			b.take()
			b.finish()
			_ = conn.Close()
			empty(t, i)
		})
	}
}

// Large answers that are not taken have a budget: a call whose answer has no room fails. It is not the budget of request messages: an
// answer that is paid for is sent, however many messages come in. The first answer of all is sent, whatever its size.
func TestLargeAnswersHaveABudget(t *testing.T) {
	for name, c := range map[string]struct {
		key       string
		size, fit int
	}{
		"of a key":              {"a", 1 << 20, 3},
		"of a stranger":         {"", 1 << 20, 3},
		"larger than the share": {"a", 5 << 20, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := New(Config{MaxMessageBytes: 64 << 20, Memory: 14 << 20, Window: time.Hour})
			conn, other := connect(t), connect(t)
			coming, err := conn.begin(i, c.key, "one")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := coming.message(&trickle{ctx: coming.ctx, size: keylessMessage}); err != nil {
				t.Errorf("%s: a message beside them: %v", name, err)
			}
			var waiting []*begun
			for range c.fit {
				b, err := conn.begin(i, c.key, "one")
				if err != nil {
					t.Fatal(err)
				}
				if err := b.answer(t, c.size); err != nil {
					t.Fatalf("%s: answer %d: %v", name, len(waiting), err)
				}
				waiting = append(waiting, b)
			}
			b, err := conn.begin(i, c.key, "one")
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Send(b, wrapperspb.Bytes(make([]byte, 1<<20))); reason(err) != "ANSWERS_NOT_TAKEN" {
				t.Errorf("%s: an answer without room: %v", name, err)
			}
			if b, err := other.begin(i, "b", "two"); err != nil {
				t.Error(err)
			} else if err := b.answer(t, 1<<20); err != nil {
				t.Errorf("%s: another's answer: %v", name, err)
			}
			waiting[0].take()
			if err := b.answer(t, c.size); err != nil {
				t.Errorf("%s: an answer is taken, and there is no room for one: %v", name, err)
			}
			coming.finish()
			_, _ = conn.Close(), other.Close()
			empty(t, i)
		})
	}
}

// zipped is a message that is compressed by gzip, in the place of grpc-go's stream.
type zipped struct {
	trickle
	rest []byte
}

func (*zipped) RecvCompress() string { return "gzip" }

func (z *zipped) ReadMessageHeader(header []byte) error {
	copy(header, binary.BigEndian.AppendUint32([]byte{1}, uint32(len(z.rest))))
	return nil
}

func (z *zipped) Read(n int) (mem.BufferSlice, error) {
	if len(z.rest) == 0 {
		return nil, io.EOF
	}
	data := z.rest[:min(n, len(z.rest))]
	z.rest = z.rest[len(data):]
	return mem.BufferSlice{mem.SliceBuffer(slices.Clone(data))}, nil
}

// A message holds what it inflates to, not what came: one that has no room is refused while it inflates, for now or for good.
func TestInflatedMessagesHaveABudget(t *testing.T) {
	bomb := func(size int) *zipped {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(make([]byte, size))
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return &zipped{rest: b.Bytes()}
	}
	i := New(Config{MaxMessageBytes: 16 << 20, Memory: 64 << 20, Window: time.Hour})
	conn := connect(t)
	for name, c := range map[string]struct {
		key  string
		size int
		kind fault.Kind
	}{
		"none":                {"a", 0, 0},
		"some":                {"a", 1 << 20, 0},
		"too much":            {"a", 128 << 20, fault.TooLarge},
		"of a stranger":       {"", keylessMessage + 1, fault.TooLarge},
		"a stranger's, whole": {"", keylessMessage, 0},
	} {
		b, err := conn.begin(i, c.key, "one")
		if err != nil {
			t.Fatal(err)
		}
		data, err := b.message(bomb(c.size))
		if f := fault.From(err); c.kind == 0 && (err != nil || data.Len() != c.size) || c.kind != 0 && (err == nil || f.Kind != c.kind) {
			t.Errorf("%s: %d bytes, %v", name, data.Len(), err)
		}
		if held := b.held.bytes; c.kind == 0 && (held < int64(c.size) || held > int64(c.size)+2*step) || held > 16<<20+2*step {
			t.Errorf("%s: %d bytes are claimed for %d", name, held, c.size)
		}
		b.end()
	}
	var full error
	for n := 0; full == nil && n < 8; n++ { // they share the key's part of the memory
		b, err := conn.begin(i, "a", "one")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.end)
		_, full = b.message(bomb(15 << 20))
	}
	if f := fault.From(full); full == nil || f.Kind != fault.Unavailable || f.Reason != "MESSAGES_FULL" {
		t.Errorf("when there is no room: %v", full)
	}
}
