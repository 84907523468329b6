package gateway

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
)

// trickle returns a byte after each pause.
type trickle struct {
	left  int
	pause time.Duration
}

func (t *trickle) Read(b []byte) (int, error) {
	if t.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(t.pause) //nolint:forbidigo // of the bubble
	t.left--
	return copy(b, "a"), nil
}

// A sender that makes progress, but less than the least rate, is given up.
func TestSlowUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			bytes int
			pause time.Duration
			whole bool
		}{{100_000, time.Millisecond, true}, {100_000, 2 * time.Millisecond, false}, {20, time.Second, true}} {
			x := &exchange{start: time.Now(), w: newAnswerWriter(httptest.NewRecorder(), "", time.Minute)}
			up := newUpload(&trickle{c.bytes, c.pause}, x, Config{BodyTimeout: 30 * time.Second, MinUploadRate: 1000})
			b := newBodyBudget(1 << 30)
			x.claim = claim{bodies: b, key: "k", address: "a"}
			_, err := readAll(up, int64(c.bytes), 1<<20, x.claim.grow, nil)
			if (err == nil) != c.whole || err != nil && fault.From(err).HTTPStatus() != http.StatusRequestTimeout {
				t.Errorf("%d bytes, one in %v: %v", c.bytes, c.pause, err)
			}
			if x.claim.end(); b.held != 0 || len(b.shares) != 0 {
				t.Errorf("%d bytes are held by %v", b.held, b.shares)
			}
		}
	})
}

// Memory is taken as bytes come: a sender that only announces them costs the first piece.
func TestAnnouncedBytesCostNothing(t *testing.T) {
	b := newBodyBudget(1 << 30)
	c := claim{bodies: b, key: "k", address: "a"}
	cut := errors.New("cut")
	if _, err := readAll(io.MultiReader(&trickle{left: 10}, failing{cut}), 60<<20, 64<<20, c.grow, nil); !errors.Is(err, cut) || b.held != firstRoom {
		t.Errorf("%d bytes are held, %v", b.held, err)
	}
	c.end()
	for _, size := range []int64{0, 1, firstRoom - 1, firstRoom, firstRoom + 1, firstRoom * roomGrowth, firstRoom*roomGrowth + 1} {
		for _, sized := range []int64{size, -1} {
			body, err := readAll(&trickle{left: int(size)}, sized, 64<<20, c.grow, nil)
			if err != nil || int64(len(body)) != size {
				t.Errorf("%d bytes, announced %d: %d, %v", size, sized, len(body), err)
			}
		}
	}
	if _, err := readAll(&trickle{left: 101}, -1, 100, c.grow, nil); fault.From(err).Kind != fault.TooLarge {
		t.Errorf("%v", err)
	}
	c.end()
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A body that its caller's share of the memory can never hold is refused for good; one that
// fits but for the other bodies of that caller may be tried again.
func TestBodiesBeyondAShare(t *testing.T) {
	b := newBodyBudget(200)
	c, other := claim{bodies: b, key: "k", address: "a"}, claim{bodies: b, key: "k", address: "a"}
	if err := c.grow(100); err != nil {
		t.Fatal(err)
	}
	if f := fault.From(c.grow(1)); f.Kind != fault.TooLarge || strings.Contains(f.Message, "again") {
		t.Errorf("beyond the share: %v", f)
	}
	if f := fault.From(other.grow(1)); f.Kind != fault.Unavailable || f.RetryAfter == 0 {
		t.Errorf("beside another: %v", f)
	}
	if c.end(); b.held != 0 || other.grow(100) != nil {
		t.Errorf("%d bytes are held", b.held)
	}
}
