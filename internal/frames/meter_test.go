package frames

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// written returns the bytes of frames.
func written(write func(*http2.Framer)) []byte {
	var b bytes.Buffer
	write(http2.NewFramer(&b, nil))
	return b.Bytes()
}

// taken returns how many times the meter takes the frames, up to a limit, cut in pieces.
func taken(m *Meter, piece, limit int, frames func(n int) []byte) int {
	for n := range limit {
		for p := frames(n); len(p) > 0; {
			cut := min(piece, len(p))
			if !m.In(p[:cut]) {
				return n
			}
			p = p[cut:]
		}
	}
	return limit
}

func id(n int) uint32 { return uint32(2*n + 1) }

func opening(n int) http2.HeadersFrameParam {
	return http2.HeadersFrameParam{StreamID: id(n), BlockFragment: []byte{0x82, 0x86}, EndHeaders: true, EndStream: true}
}

// Each flood ends its connection, wherever its frames are cut.
func TestFloodsEnd(t *testing.T) {
	for name, flood := range map[string]func(f *http2.Framer, n int){
		"rapid reset": func(f *http2.Framer, n int) {
			_ = f.WriteHeaders(opening(n))
			_ = f.WriteRSTStream(id(n), http2.ErrCodeCancel)
		},
		"ping":           func(f *http2.Framer, _ int) { _ = f.WritePing(false, [8]byte{}) },
		"settings":       func(f *http2.Framer, _ int) { _ = f.WriteSettings() },
		"priority":       func(f *http2.Framer, n int) { _ = f.WritePriority(id(n), http2.PriorityParam{}) },
		"window updates": func(f *http2.Framer, _ int) { _ = f.WriteWindowUpdate(0, 1) },
		"empty data":     func(f *http2.Framer, _ int) { _ = f.WriteData(1, false, nil) },
		"1-byte data":    func(f *http2.Framer, _ int) { _ = f.WriteData(1, false, []byte("a")) },
		"padded data":    func(f *http2.Framer, _ int) { _ = f.WriteDataPadded(1, false, []byte("a"), make([]byte, 255)) },
		"continuation":   func(f *http2.Framer, _ int) { _ = f.WriteContinuation(1, false, []byte("a")) },
		"unknown":        func(f *http2.Framer, _ int) { _ = f.WriteRawFrame(0xee, 0, 0, nil) },
		"old resets":     func(f *http2.Framer, _ int) { _ = f.WriteRSTStream(1, http2.ErrCodeCancel) },
	} {
		for _, piece := range []int{1, 5, 9, 13, 1 << 20} {
			synctest.Test(t, func(t *testing.T) {
				got := taken(New(), piece, 3*Burst, func(n int) []byte { return written(func(f *http2.Framer) { flood(f, n) }) })
				if got < Burst/fault || got > Burst {
					t.Errorf("%s in pieces of %d: %d were taken", name, piece, got)
				}
			})
		}
	}
}

// A peer who makes the server reset streams is ended.
func TestMadeYouReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		got := taken(m, 1<<20, 3*Burst, func(n int) []byte {
			m.Out(written(func(f *http2.Framer) { _ = f.WriteRSTStream(id(n), http2.ErrCodeProtocol) }))
			return written(func(f *http2.Framer) { _ = f.WriteHeaders(opening(n)) })
		})
		if got > Burst {
			t.Errorf("%d were taken", got)
		}
	})
}

// A peer whose requests have no fields is ended, although each is answered.
func TestEmptyHeads(t *testing.T) {
	for name, head := range map[string]http2.HeadersFrameParam{
		"empty":                {},
		"padding":              {PadLength: 255},
		"a priority":           {Priority: http2.PriorityParam{Weight: 1}},
		"padding, a priority":  {PadLength: 1, Priority: http2.PriorityParam{Weight: 1}},
		"the size of a table":  {BlockFragment: []byte{0x20}},
		"one field, no method": {BlockFragment: []byte{0x84}},
	} {
		for _, piece := range []int{1, 9, 10, 1 << 20} {
			synctest.Test(t, func(t *testing.T) {
				m := New()
				got := taken(m, piece, 3*Burst, func(n int) []byte {
					m.Out(written(func(f *http2.Framer) {
						_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id(n), BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true})
					}))
					return written(func(f *http2.Framer) {
						head.StreamID, head.EndHeaders = id(n), true
						_ = f.WriteHeaders(head)
					})
				})
				if got > Burst/10 {
					t.Errorf("%s in pieces of %d: %d were taken", name, piece, got)
				}
			})
		}
	}
}

// A peer whose heads are large is ended, although each is answered, in one frame or in more.
func TestLargeHeads(t *testing.T) {
	answer := written(func(f *http2.Framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
		_ = f.WriteData(1, true, []byte("{}"))
	})
	head := make([]byte, largeHead+1)
	for name, flood := range map[string]func(f *http2.Framer, n int){
		"one frame": func(f *http2.Framer, n int) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id(n), BlockFragment: head, EndHeaders: true, EndStream: true})
		},
		"two": func(f *http2.Framer, n int) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id(n), BlockFragment: head[:1]})
			_ = f.WriteContinuation(id(n), true, head)
		},
		"trailers": func(f *http2.Framer, n int) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id(n), BlockFragment: head[:1], EndHeaders: true})
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id(n), BlockFragment: head, EndHeaders: true, EndStream: true})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := New()
			got := taken(m, 1<<20, 3*Burst, func(n int) []byte {
				m.Out(answer)
				return written(func(f *http2.Framer) { flood(f, n) })
			})
			if got > Burst/20 {
				t.Errorf("%s: %d were taken", name, got)
			}
		})
	}
}

// What clients do is taken for as long as they like.
func TestFairPeersGoOn(t *testing.T) {
	const many = 20 * Burst
	answer := written(func(f *http2.Framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
		_ = f.WriteData(1, true, []byte("{}"))
	})
	head := make([]byte, largeHead)
	for name, peer := range map[string]func(f *http2.Framer, m *Meter, n int){
		"heads of 8 KiB": func(f *http2.Framer, m *Meter, n int) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id(n), BlockFragment: head, EndHeaders: true, EndStream: true})
			m.Out(answer)
		},
		"padded bodies": func(f *http2.Framer, m *Meter, n int) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id(n), BlockFragment: []byte{0x83, 0x86, 0x84}, PadLength: 9, EndHeaders: true})
			_ = f.WriteDataPadded(id(n), false, make([]byte, smallData), make([]byte, 255))
			_ = f.WriteDataPadded(id(n), true, nil, make([]byte, 255))
			m.Out(answer)
		},
		"requests, windows and pings": func(f *http2.Framer, m *Meter, n int) {
			_ = f.WriteHeaders(opening(n))
			m.Out(answer)
			for range 3 {
				_ = f.WriteWindowUpdate(0, 1)
				_ = f.WriteWindowUpdate(id(n), 1)
				_ = f.WritePing(false, [8]byte{})
			}
		},
		"uploads": func(f *http2.Framer, _ *Meter, _ int) { _ = f.WriteData(1, false, make([]byte, smallData)) },
		"acknowledgements": func(f *http2.Framer, _ *Meter, _ int) {
			_ = f.WritePing(true, [8]byte{})
			_ = f.WriteSettingsAck()
		},
		"calls given up after a while": func(f *http2.Framer, _ *Meter, n int) {
			_ = f.WriteHeaders(opening(n))
			if n >= 64 {
				_ = f.WriteRSTStream(id(n-64), http2.ErrCodeCancel)
			}
		},
		"calls given up seldom": func(f *http2.Framer, m *Meter, n int) {
			_ = f.WriteHeaders(opening(n))
			if n%4 == 0 {
				_ = f.WriteRSTStream(id(n), http2.ErrCodeCancel)
			} else {
				m.Out(answer)
			}
		},
		"a ping now and then": func(f *http2.Framer, _ *Meter, _ int) {
			time.Sleep(time.Second / perSecond) //nolint:forbidigo // of the bubble
			_ = f.WritePing(false, [8]byte{})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := New()
			if got := taken(m, 1<<20, many, func(n int) []byte { return written(func(f *http2.Framer) { peer(f, m, n) }) }); got != many {
				t.Errorf("%s: ended after %d", name, got)
			}
		})
	}
}

func BenchmarkIn(b *testing.B) {
	m := New()
	request := written(func(f *http2.Framer) {
		_ = f.WriteHeaders(opening(1))
		_ = f.WriteData(1, true, make([]byte, 500))
	})
	b.ReportAllocs()
	for b.Loop() {
		m.streams.highest = 0
		m.In(request)
	}
}
