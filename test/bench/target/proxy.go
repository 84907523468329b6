package target

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// ServeProxy answers on an address as Go's own reverse proxy does at its best: idle
// connections are kept, buffers used again, events passed on at once. It returns when
// ctx ends.
func ServeProxy(ctx context.Context, address, upstream string) error {
	base := &url.URL{Scheme: "http", Host: upstream}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		FlushInterval: -1,
		BufferPool:    new(buffers),
		Transport: &http.Transport{
			DialContext:         new(net.Dialer).DialContext,
			DisableCompression:  true,
			IdleConnTimeout:     time.Minute,
			MaxIdleConnsPerHost: 4096,
		},
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: fullDuplex(proxy), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// fullDuplex lets an answer begin while the request is still being passed on. Without
// it the server closes the request's body then; if the transport has yet to see its
// end, it takes that for a failure and cuts the answer: of answers as quick as the
// upstream's, one in a few hundred.
func fullDuplex(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// buffers keeps the buffers of bodies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
