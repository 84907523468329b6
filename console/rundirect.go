package console

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// direct sends the contract's message as a direct caller, and each message of the answer as JSON.
func (p *run) direct(ctx context.Context) error {
	text, image := &genwayv1.GenerateTextRequest{}, &genwayv1.GenerateImageRequest{}
	client := genwayv1.NewGenerationClient(p.console.config.Generation)
	var req proto.Message = text
	if p.Method == "GenerateImage" {
		req = image
	}
	if err := protojson.Unmarshal(p.body, req); err != nil {
		return p.refused("INVALID_ARGUMENT", "the body is no message of the contract: "+strings.ReplaceAll(err.Error(), "\u00a0", " "))
	}
	p.id = "req_" + strings.ToLower(rand.Text())
	ctx = metadata.NewOutgoingContext(ctx, metadata.Join(outgoing(showing(p.r, p.key)), metadata.Pairs("x-request-id", p.id))) //nolint:contextcheck // it is the request's
	answer := func(resp proto.Message, err error) error {
		if err != nil {
			return p.refusal(err)
		}
		if err := p.tell(runEvent{Kind: "head", Text: "OK"}); err != nil {
			return nil //nolint:nilerr // the browser has left
		}
		return p.message(resp)
	}
	switch {
	case p.Method == "GenerateImage":
		return answer(client.GenerateImage(ctx, image))
	case !p.stream:
		return answer(client.GenerateText(ctx, text))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := client.StreamGenerateText(ctx, text)
	if err != nil {
		return p.refusal(err)
	}
	for sent, first := 0, true; ; first = false {
		resp, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && first:
			return p.refusal(err)
		case err != nil:
			return errors.New("the stream failed: " + status.Convert(err).Message())
		}
		if first && p.tell(runEvent{Kind: "head", Text: "OK"}) != nil {
			return nil // the browser has left
		}
		if sent += proto.Size(resp); sent > maxAnswer {
			return errLong
		}
		if err := p.message(resp); err != nil {
			return err
		}
	}
}

func outgoing(ctx context.Context) metadata.MD {
	md, _ := metadata.FromOutgoingContext(ctx)
	return md
}

// message sends one message to the page.
func (p *run) message(m proto.Message) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return errors.New("the answer cannot be written as JSON")
	}
	if len(text) > maxAnswer {
		return errLong
	}
	_ = p.tell(runEvent{Kind: "piece", Text: string(text)}) // the browser may have left
	return nil
}

// refusal tells an error of the service.
func (p *run) refusal(err error) error {
	st := status.Convert(err)
	return p.refused(st.Code().String(), st.Message())
}

func (p *run) refused(code, message string) error {
	_ = p.tell(runEvent{Kind: "head", Text: code, Failed: true})
	_ = p.tell(runEvent{Kind: "piece", Text: message}) // the browser may have left
	return nil
}
