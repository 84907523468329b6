package connections

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Prepare returns a listener whose connections are prepared ahead of Accept, each beside the
// others: by a handshake, or by reading a header. prepare gives the connection to accept, or
// nil for one that it has closed. Its context ends when the listener is closed.
func Prepare(l net.Listener, prepare func(context.Context, net.Conn) net.Conn) net.Listener {
	ctx, stop := context.WithCancel(context.Background())
	p := &prepared{Listener: l, prepare: prepare, ctx: ctx, stop: stop, accepted: make(chan accepted)}
	p.owned.Go(p.accept)
	return p
}

type prepared struct {
	net.Listener
	prepare  func(context.Context, net.Conn) net.Conn
	ctx      context.Context //nolint:containedctx // of the preparations: it ends with the listener
	stop     context.CancelFunc
	owned    sync.WaitGroup
	accepted chan accepted
}

type accepted struct {
	conn net.Conn
	err  error
}

// accept takes connections until the listener is closed.
func (p *prepared) accept() {
	for {
		c, err := p.Listener.Accept()
		if err == nil {
			p.owned.Go(func() {
				if ready := p.prepare(p.ctx, c); ready != nil {
					p.give(accepted{conn: ready})
				}
			})
			continue
		}
		p.give(accepted{err: err})
		if errors.Is(err, net.ErrClosed) || p.ctx.Err() != nil {
			return
		}
	}
}

// give hands over what was accepted, or closes it when the listener is closed.
func (p *prepared) give(a accepted) {
	select {
	case p.accepted <- a:
	case <-p.ctx.Done():
		if a.conn != nil {
			_ = a.conn.Close()
		}
	}
}

// Accept returns the next connection that is prepared.
func (p *prepared) Accept() (net.Conn, error) {
	select {
	case a := <-p.accepted:
		return a.conn, a.err
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the listener and the connections that it has not given.
func (p *prepared) Close() error {
	err := p.Listener.Close()
	p.stop()
	p.owned.Wait()
	return err
}
