package bare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
)

// pathHeader is the member of a wire message's headers that has the path of the upstream.
const pathHeader = "path"

// core sends each request's body to the same path of the upstream.
type core struct {
	genwayv1.UnimplementedGenerationServer
	upstream  string // HOST:PORT
	transport *http.Transport
}

func newCore(upstream string) *core {
	return &core{upstream: upstream, transport: &http.Transport{
		DialContext:         new(net.Dialer).DialContext,
		DisableCompression:  true,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: 4096,
	}}
}

// ServeCore serves the contract at a unix socket until ctx ends.
func ServeCore(ctx context.Context, socket, upstream string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer(transport.ServerOptions(transport.MaxMessageBytes)...)
	c := newCore(upstream)
	defer c.transport.CloseIdleConnections()
	genwayv1.RegisterGenerationServer(server, c)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	return server.Serve(listener)
}

func (c *core) post(ctx context.Context, wire *genwayv1.WireMessage) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.upstream+wire.GetHeaders()[pathHeader], bytes.NewReader(wire.GetJson()))
	if err != nil {
		return nil, err
	}
	req.Header["Content-Type"] = []string{"application/json"}
	resp, err := c.transport.RoundTrip(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		err = fmt.Errorf("bare: the upstream answered %s", resp.Status)
	}
	return resp, err
}

// whole returns the body of an answer.
func (c *core) whole(ctx context.Context, wire *genwayv1.WireMessage) (*genwayv1.WireMessage, error) {
	resp, err := c.post(ctx, wire)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body := make([]byte, max(0, resp.ContentLength))
	if _, err := io.ReadFull(resp.Body, body); err != nil {
		return nil, err
	}
	return &genwayv1.WireMessage{Json: body}, nil
}

func (c *core) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	wire, err := c.whole(ctx, req.GetWire())
	return &genwayv1.GenerateTextResponse{Wire: wire}, err
}

func (c *core) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	wire, err := c.whole(ctx, req.GetWire())
	return &genwayv1.GenerateImageResponse{Wire: wire}, err
}

// StreamGenerateText sends what each read of the answer gives.
func (c *core) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	resp, err := c.post(stream.Context(), req.GetWire())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	buffer := make([]byte, 8<<10)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			frame := &genwayv1.WireFrame{Data: bytes.Clone(buffer[:n])}
			if err := stream.Send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Wire{Wire: frame}}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
