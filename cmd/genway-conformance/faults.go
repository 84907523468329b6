package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// noModel is the name of no model.
const noModel = "genway-conformance-no-such-model"

// fails checks that a request for text is refused alike with and without a stream.
func (k *kit) fails(ctx context.Context, request *genwayv1.GenerateTextRequest, code codes.Code, kind genwayv1.ErrorKind, param string) error {
	_, err := k.unary(ctx, request)
	if err := refused(err, code, kind, param); err != nil {
		return err
	}
	_, err = k.stream(ctx, request)
	if err := refused(err, code, kind, param); err != nil {
		return fmt.Errorf("streamed: %w", err)
	}
	return nil
}

func (k *kit) invalid(ctx context.Context, request *genwayv1.GenerateTextRequest, param string) error {
	return k.fails(ctx, request, codes.InvalidArgument, genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, param)
}

func (k *kit) refusesUnknownModel(ctx context.Context) error {
	request := k.hello()
	request.Model = noModel
	return k.fails(ctx, request, codes.NotFound, genwayv1.ErrorKind_ERROR_KIND_NOT_FOUND, "")
}

func (k *kit) refusesNoModel(ctx context.Context) error {
	request := k.hello()
	request.Model = ""
	return k.invalid(ctx, request, "model")
}

func (k *kit) refusesNoMessages(ctx context.Context) error {
	return k.invalid(ctx, k.request(), "messages")
}

func (k *kit) refusesNoPrompt(ctx context.Context) error {
	if k.imageModel == "" {
		return errNoImages
	}
	ctx, cancel := k.call(ctx)
	defer cancel()
	_, err := k.client.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: k.imageModel})
	return refused(err, codes.InvalidArgument, genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, "prompt")
}

// refusesExtraJSON sends an option that the request has a field for.
func (k *kit) refusesExtraJSON(ctx context.Context) error {
	request := k.hello()
	request.ExtraJson = `{"messages":[]}`
	return k.invalid(ctx, request, "extra_json")
}

func (k *kit) refusesNoKey(ctx context.Context) error {
	if k.key == "" {
		return skipError("there is no --key")
	}
	other := *k
	other.key = ""
	return other.unauthenticated(ctx)
}

func (k *kit) refusesWrongKey(ctx context.Context) error {
	if k.key == "" {
		return skipError("there is no --key")
	}
	other := *k
	other.key = k.key + "x"
	return other.unauthenticated(ctx)
}

func (k *kit) unauthenticated(ctx context.Context) error {
	const code, kind = codes.Unauthenticated, genwayv1.ErrorKind_ERROR_KIND_UNAUTHENTICATED
	if err := k.fails(ctx, k.hello(), code, kind, ""); err != nil {
		return err
	}
	_, err := k.page(ctx, 0, "")
	return refused(err, code, kind, "")
}

// ignoresUnknownFields sends a field of a later version of the contract.
func (k *kit) ignoresUnknownFields(ctx context.Context) error {
	request := k.hello()
	const later = 536_870_000 // among the last numbers that a field can have
	raw := protowire.AppendString(protowire.AppendTag(nil, later, protowire.BytesType), "a field of a later version")
	request.ProtoReflect().SetUnknown(raw)
	request.GetMessages()[0].ProtoReflect().SetUnknown(raw)
	_, err := k.unary(ctx, request)
	return err
}

// takesLargeMessages sends an image of 5 MiB. A model may refuse it; gRPC's default of 4 MiB must not.
func (k *kit) takesLargeMessages(ctx context.Context) error {
	request := k.hello()
	image := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 5<<20)...)
	request.GetMessages()[0].Parts = append(request.GetMessages()[0].GetParts(), &genwayv1.Part{Kind: &genwayv1.Part_Image{
		Image: &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: image}},
	}})
	_, err := k.unary(ctx, request)
	if status.Code(err) == codes.InvalidArgument {
		return refused(err, codes.InvalidArgument, genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, "")
	}
	return err
}

// takesGzip sends a compressed request, which a server may do without.
func (k *kit) takesGzip(ctx context.Context) error {
	_, err := k.unary(ctx, k.hello(), grpc.UseCompressor(gzip.Name))
	if status.Code(err) == codes.Unimplemented {
		return skipError("the server takes no gzip")
	}
	return err
}

// abandoned is how many calls are left early: more than a server has threads that it can lose.
const abandoned = 40

// survivesCancel leaves streams after their first event, and asks whether the server still answers.
func (k *kit) survivesCancel(ctx context.Context) error {
	for range abandoned {
		if err := k.abandon(ctx); err != nil {
			return err
		}
	}
	return k.stillAnswers(ctx)
}

func (k *kit) abandon(ctx context.Context) error {
	ctx, cancel := k.call(ctx)
	defer cancel()
	events, err := k.client.StreamGenerateText(ctx, k.hello())
	if err != nil {
		return err
	}
	if _, err := events.Recv(); err != nil {
		return err
	}
	cancel()
	for err == nil {
		_, err = events.Recv()
	}
	return nil
}

// survivesDeadline makes calls that have no time, and asks whether the server still answers.
func (k *kit) survivesDeadline(ctx context.Context) error {
	short := *k
	short.timeout = time.Millisecond
	for range abandoned {
		_, err := short.unary(ctx, short.hello())
		if code := status.Code(err); err != nil && code != codes.DeadlineExceeded {
			return fmt.Errorf("a call with a deadline of a millisecond fails with %w", err)
		}
	}
	return k.stillAnswers(ctx)
}

func (k *kit) stillAnswers(ctx context.Context) error {
	if _, err := k.unary(ctx, k.hello()); err != nil {
		return errors.Join(fmt.Errorf("after %d calls that were left early a call fails", abandoned), err)
	}
	return nil
}
