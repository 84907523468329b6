package gateway

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The bounds of what a request without a known key may cost: bytes of its body, and time.
const (
	freeBody = 64 << 10
	freeTime = 5 * time.Second
)

// readsBeforeKey reports whether a body may be read before the core has accepted the
// caller's key. That is so for a small body: its call carries the key, and reading it is
// bounded by freeTime. The edge reads a large, compressed or unannounced body only after the
// core has accepted the key.
func readsBeforeKey(r *http.Request) bool {
	return r.ContentLength >= 0 && r.ContentLength <= freeBody && r.ProtoMajor == 1 && contentEncoding(r.Header) == ""
}

// access asks the core whether the caller's key may be used.
func (e *Edge) access(ctx context.Context, x *exchange) error {
	who := accessKeyOf(x)
	if e.accepted.has(who) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keyCheckTimeout)
	defer cancel()
	_, err := e.client.CheckAccess(ctx, &genwayv1.CheckAccessRequest{})
	if status.Code(err) == codes.Unimplemented { // a core without CheckAccess
		_, err = e.client.ListModels(ctx, &genwayv1.ListModelsRequest{PageSize: 1})
	}
	if err != nil && status.Code(err) != codes.Unimplemented { // a core with neither refuses the call itself
		if f := faultOf(err); f.Kind == fault.Unauthenticated {
			return x.invalidKey(f)
		}
		return err
	}
	e.accepted.add(who)
	return nil
}

// acceptedKeys remembers for acceptedFor which keys the core has accepted. It saves calls and
// admits no caller, since the core authenticates each call.
type acceptedKeys struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

const (
	acceptedFor  = 10 * time.Second
	mostAccepted = 10_000
)

// accessKeyOf is a digest of a key, its protocol, the caller's address and the names of the
// caller's certificate.
func accessKeyOf(x *exchange) [sha256.Size]byte {
	return sha256.Sum256([]byte(x.endpoint.protocol.Name + "\n" + hostOf(x.client) + "\n" + strings.Join(x.certificate, " ") + "\n" + x.authorization))
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

func (a *acceptedKeys) has(who [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.until[who])
}

func (a *acceptedKeys) add(who [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil || len(a.until) >= mostAccepted {
		a.until = map[[sha256.Size]byte]time.Time{}
	}
	a.until[who] = time.Now().Add(acceptedFor)
}
