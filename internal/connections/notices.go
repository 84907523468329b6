package connections

import (
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Notices report the connections that one port refused or ended: in the log, with at most one
// line a second, and to a counter. They are safe for concurrent use.
type Notices struct {
	log   *slog.Logger
	port  string
	count func(port, reason string)

	mu     sync.Mutex
	logged time.Time
	since  map[string]int // by reason, since the last line
}

// NewNotices returns the notices of a port. count may be nil.
func NewNotices(log *slog.Logger, port string, count func(port, reason string)) *Notices {
	return &Notices{log: log, port: port, count: count, since: map[string]int{}}
}

// Add counts a connection.
func (n *Notices) Add(reason string, from net.Addr) {
	n.Count(reason)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.since[reason]++
	now := time.Now()
	if now.Sub(n.logged) < time.Second {
		return
	}
	n.logged = now
	reasons := make([]string, 0, len(n.since))
	for _, reason := range slices.Sorted(maps.Keys(n.since)) {
		reasons = append(reasons, reason+"="+strconv.Itoa(n.since[reason]))
	}
	clear(n.since)
	n.log.Warn("connections were refused or ended", "port", n.port, "reasons", strings.Join(reasons, " "), "last_from", from.String())
}

// Count counts a connection without a log line.
func (n *Notices) Count(reason string) {
	if n.count != nil {
		n.count(n.port, reason)
	}
}
