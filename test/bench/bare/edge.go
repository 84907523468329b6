package bare

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	handlers "github.com/genway/genway/gen/gateway/genway/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/internal/transport/inproc"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Serve answers HTTP at an address until ctx ends, with the core in the same process.
func Serve(ctx context.Context, address, upstream string) error {
	channel, c := new(inproc.Channel), newCore(upstream)
	defer c.transport.CloseIdleConnections()
	genwayv1.RegisterGenerationServer(channel, c)
	return serve(ctx, address, channel)
}

// ServeEdge answers HTTP at an address until ctx ends, with the core at a unix socket.
func ServeEdge(ctx context.Context, address, socket string) error {
	conn, err := grpc.NewClient("unix:"+socket, append(transport.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, address, conn), conn.Close())
}

func serve(ctx context.Context, address string, conn grpc.ClientConnInterface) error {
	none := func(string) (string, bool) { return "", false }
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{}),
		runtime.WithForwardResponseRewriter(bind),
		runtime.WithIncomingHeaderMatcher(none),
		runtime.WithOutgoingHeaderMatcher(none),
		runtime.WithOutgoingTrailerMatcher(none),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisableChunkedEncoding(),
		runtime.WithWriteContentLength(),
	)
	if err := handlers.RegisterGenerationHandlerClient(ctx, mux, genwayv1.NewGenerationClient(conn)); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: edge{mux}, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// edge reads a body and hands it to the generated handler of its path.
type edge struct{ mux *runtime.ServeMux }

func (e edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 {
		http.Error(w, "bare: a body without a length", http.StatusLengthRequired)
		return
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = &read{wire: &genwayv1.WireMessage{Json: body, Headers: map[string]string{pathHeader: r.URL.RequestURI()}}}
	r.Header, r.Host, r.RemoteAddr, r.URL.RawQuery = nil, "", "", ""
	if !strings.Contains(r.URL.Path, ":") && asksForEvents(body) {
		r.URL.Path += ":stream"
	}
	e.mux.ServeHTTP(w, r)
}

// asksForEvents looks for the member stream at both ends of a body, where the generator puts it.
func asksForEvents(body []byte) bool {
	const end = 1 << 10
	asks := []byte(`"stream":true`)
	return bytes.Contains(body[:min(end, len(body))], asks) || bytes.Contains(body[max(0, len(body)-end):], asks)
}

// read is a body that has been read.
type read struct{ wire *genwayv1.WireMessage }

func (*read) Read([]byte) (int, error) { return 0, io.EOF }
func (*read) Close() error             { return nil }
