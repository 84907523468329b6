package frames

import (
	"net"
	"sync"
)

// unread knows the answers of a connection that have begun and not ended. Among them are those that wait until the
// peer makes room for them (RFC 9113, section 5.2), which no handler knows of.
type unread struct {
	mu   sync.Mutex
	open map[uint32]struct{} // by stream
	// reset are the streams that the peer has reset last: an answer that is just being written may begin behind the reset.
	reset [64]uint32
}

// countUnread has Unread count the connection's answers.
func (c *Conn) countUnread() { c.meter.unread = &unread{open: map[uint32]struct{}{}} }

// Unread is how many answers the connection whose RemoteAddr is given has begun and not ended; 0 for one whose
// answers are not counted.
func Unread(peer net.Addr) int {
	a, ok := peer.(address)
	if !ok || a.meter.unread == nil || a.meter.trusted.Load() {
		return 0
	}
	u := a.meter.unread
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.open)
}

// out notes a frame of an answer.
func (u *unread) out(f frame) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case f.kind == rstStream || f.flags&flagEndStream != 0:
		delete(u.open, f.stream)
	case f.kind == headers && u.reset[f.stream/2%uint32(len(u.reset))] != f.stream:
		u.open[f.stream] = struct{}{}
	}
}

// cancelled notes that the peer has reset a stream.
func (u *unread) cancelled(f frame) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, f.stream)
	u.reset[f.stream/2%uint32(len(u.reset))] = f.stream
}
