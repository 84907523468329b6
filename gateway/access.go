package gateway

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a request may cost before its key is known: bytes of its body, and time.
const (
	freeBody = 64 << 10
	freeTime = 5 * time.Second
)

// readsFreely reports whether a body may be read before the caller's key is known: a small
// one, whose call takes the key along, and which can be waited for again after freeTime. A
// large, compressed or unannounced one is read only once the core has accepted the key.
func readsFreely(r *http.Request) bool {
	return r.ContentLength >= 0 && r.ContentLength <= freeBody && r.ProtoMajor == 1 && contentEncoding(r.Header) == ""
}

// access asks the core whether the caller's key may be used.
func (e *Edge) access(ctx context.Context, x *exchange) error {
	who := whoseOf(x)
	if e.accepted.has(who) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keyCheckTimeout)
	defer cancel()
	_, err := e.client.CheckAccess(ctx, &genwayv1.CheckAccessRequest{})
	if status.Code(err) == codes.Unimplemented { // a core without CheckAccess
		_, err = e.client.ListModels(ctx, &genwayv1.ListModelsRequest{PageSize: 1})
	}
	if err != nil && status.Code(err) != codes.Unimplemented { // else it refuses the call itself
		if f := faultOf(err); f.Kind == fault.Unauthenticated {
			return x.invalidKey(f)
		}
		return err
	}
	e.accepted.add(who)
	return nil
}

// acceptedKeys remembers for a while whose bodies are read without asking the core. It
// spares calls and admits nobody: the core looks at the key of each call.
type acceptedKeys struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

const (
	acceptedFor  = 10 * time.Second
	mostAccepted = 10_000
)

// whoseOf names a key, the protocol that it is used for, and the address it is used from.
func whoseOf(x *exchange) [sha256.Size]byte {
	return sha256.Sum256([]byte(x.endpoint.name + "\n" + hostOf(x.client) + "\n" + x.authorization))
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
