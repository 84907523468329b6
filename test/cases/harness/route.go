package harness

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/pipe"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/proto"
)

// byPrefix chooses an upstream by the model's prefix and takes the prefix off.
type byPrefix map[string]upstream.Upstream

func (b byPrefix) choose(model string) (upstream.Upstream, string, error) {
	prefix, rest, _ := strings.Cut(model, "/")
	if u, ok := b[prefix]; ok {
		return u, rest, nil
	}
	e := fault.New(fault.NotFound, fault.ReasonModelNotFound, "The model `%s` does not exist or you do not have access to it.", model)
	e.Param = "model"
	return nil, "", e
}

func (b byPrefix) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	u, req, err := b.deferred(req)
	if err != nil {
		return nil, err
	}
	return u.GenerateText(ctx, req)
}

func (b byPrefix) StreamGenerateText(ctx context.Context, req *deferred.Request, send upstream.Send) error {
	u, req, err := b.deferred(req)
	if err != nil {
		return err
	}
	return u.StreamGenerateText(ctx, req, send)
}

func (b byPrefix) deferred(req *deferred.Request) (upstream.Upstream, *deferred.Request, error) {
	u, model, err := b.choose(req.Head().GetModel())
	if err != nil {
		return nil, nil, err
	}
	head := proto.CloneOf(req.Head())
	head.Model = model
	return u, req.With(head), nil
}

func (b byPrefix) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	u, model, err := b.choose(req.GetModel())
	if err != nil {
		return nil, err
	}
	req = proto.CloneOf(req)
	req.Model = model
	return u.GenerateImage(ctx, req)
}

func (b byPrefix) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	u, model, err := b.choose(req.GetModel())
	if err != nil {
		return err
	}
	req = proto.CloneOf(req)
	req.Model = model
	return u.StreamGenerateImage(ctx, req, send)
}

func (b byPrefix) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	u, model, err := b.choose(req.GetRequest().GetModel())
	if err != nil {
		return nil, err
	}
	req = proto.CloneOf(req)
	req.Request.Model = model
	return u.CountTokens(ctx, req)
}

func (b byPrefix) Models() []*genwayv1.Model {
	var models []*genwayv1.Model
	for prefix := range b {
		models = append(models, &genwayv1.Model{Name: prefix + "/m", GeneratesText: prefix != string(Images), GeneratesImages: prefix == string(Images)})
	}
	return models
}

func newAdapter(t *testing.T, config remote.Config, dial dialer) (*remote.Upstream, *http.Transport) {
	t.Helper()
	transport := remote.NewTransport(remote.Way{})
	if dial != nil {
		transport.DialContext = dial
	}
	config.HTTP = transport
	u, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return u, transport
}

// network is the listeners of a bubble by host, with port 80.
type network map[string]*pipe.Listener

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (n network) listen(host string) net.Listener {
	n[host+":80"] = pipe.NewListener()
	return n[host+":80"]
}

// dialer connects to the listeners; nil for no network.
func (n network) dialer() dialer {
	if n == nil {
		return nil
	}
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		return n[address].Dial(ctx, netip.MustParseAddr("127.0.0.1"))
	}
}

// Stored asks the upstream of responses about an answer that it stores: there is one, so its account is not asked for.
func (b byPrefix) Stored(ctx context.Context, _ string, about upstream.Stored) ([]byte, bool, error) {
	u, known := b[string(Responses)].(interface {
		Stored(ctx context.Context, about upstream.Stored) ([]byte, error)
	})
	if !known {
		return nil, false, nil
	}
	body, err := u.Stored(ctx, about)
	return body, true, err
}
