package frames

import (
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

// Answers count from their HEADERS to their end: by either side's reset, or by the flag.
func TestUnreadAnswers(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	defer near.Close()
	conn := NewConn(near, nil)
	conn.countUnread()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	out := http2.NewFramer(conn, nil)
	read := func(n int) {
		t.Helper()
		if _, err := io.ReadFull(conn, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	cancelled := func(stream uint32) {
		reset := written(func(f *http2.Framer) { _ = f.WriteRSTStream(stream, http2.ErrCodeCancel) })
		go func() { _, _ = far.Write(reset) }()
		read(13)
	}
	go func() { _, _ = io.WriteString(far, http2.ClientPreface) }()
	read(len(http2.ClientPreface))
	begin := func(stream uint32, end bool) error {
		return out.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: end})
	}
	for _, step := range []struct {
		name string
		do   func() error
		want int
	}{
		{"an answer begins", func() error { return begin(1, false) }, 1},
		{"another begins", func() error { return begin(3, false) }, 2},
		{"some of it", func() error { return out.WriteData(3, false, []byte("a")) }, 2},
		{"all of it", func() error { return out.WriteData(3, true, nil) }, 1},
		{"trailers", func() error { return begin(1, true) }, 0},
		{"an answer without a body", func() error { return begin(5, true) }, 0},
		{"one that the peer resets", func() error { err := begin(7, false); cancelled(7); return err }, 0},
		{"one that begins behind the reset", func() error { cancelled(9); return begin(9, false) }, 0},
		{"one that is reset to the peer", func() error {
			return errors.Join(begin(11, false), out.WriteRSTStream(11, http2.ErrCodeInternal))
		}, 0},
		{"one more", func() error { return begin(13, false) }, 1},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := Unread(conn.RemoteAddr()); got != step.want {
			t.Errorf("%s: %d answers have begun and not ended, want %d", step.name, got, step.want)
		}
	}
	Trust(conn.RemoteAddr())
	if got := Unread(conn.RemoteAddr()); got != 0 {
		t.Errorf("a trusted peer has %d", got)
	}
}
