package inproc

import (
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// headerStore gathers the metadata a handler sends.
type headerStore struct {
	mu      sync.Mutex
	header  metadata.MD
	trailer metadata.MD
	closed  bool // the header is sent
}

var _ grpc.ServerTransportStream = (*call)(nil)

// Method is the name of the call.
func (c *call) Method() string { return c.name }

// SetHeader adds to the header; an error once it is sent.
func (c *call) SetHeader(md metadata.MD) error { return c.setHeader(md, false) }

// SendHeader adds to the header and sends it.
func (c *call) SendHeader(md metadata.MD) error { return c.setHeader(md, true) }

func (c *call) setHeader(md metadata.MD, send bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return status.Error(codes.Internal, "inproc: the header is sent already")
	}
	c.header = added(c.header, md)
	if send {
		c.closeHeader()
	}
	return nil
}

// closeHeader sends the header, unless it is; the caller holds mu.
func (c *call) closeHeader() {
	if c.closed {
		return
	}
	c.closed = true
	if c.sent != nil {
		close(c.sent)
	}
}

// SetTrailer adds to the trailer.
func (c *call) SetTrailer(md metadata.MD) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trailer = added(c.trailer, md)
	return nil
}

// added returns to with the values of more behind its own. Neither shares a map or a list
// with the caller. Keys are in lower case: a connection takes no others.
func added(to, more metadata.MD) metadata.MD {
	if to == nil {
		to = make(metadata.MD, len(more))
	}
	n := 0
	for _, v := range more {
		n += len(v)
	}
	values := make([]string, 0, n) // of all keys, in one piece
	for k, v := range more {
		if len(to[k]) > 0 {
			to[k] = append(to[k], v...)
			continue
		}
		values = append(values, v...)
		to[k] = slices.Clip(values[len(values)-len(v):])
	}
	return to
}
