package caller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jhump/protoreflect/grpcreflect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// direct is a connection to the core, with the descriptors of its service.
type direct struct {
	*grpc.ClientConn
	service protoreflect.ServiceDescriptor
}

// dialWithin bounds the question for the descriptors.
const dialWithin = time.Minute

func dial(target string) (*direct, error) {
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(128<<20)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialWithin)
	defer cancel()
	reflection := grpcreflect.NewClientAuto(ctx, conn)
	defer reflection.Reset()
	service, err := reflection.ResolveService("genway.v1.Generation")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reflection: %w", err), conn.Close())
	}
	return &direct{ClientConn: conn, service: service.UnwrapService()}, nil
}

// request returns a method's descriptor and its request.
func (d *direct) request(call Call) (protoreflect.MethodDescriptor, *dynamicpb.Message, error) {
	name := protoreflect.Name("GenerateText")
	if call.Stream {
		name = "StreamGenerateText"
	}
	method := d.service.Methods().ByName(name)
	if method == nil {
		return nil, nil, fmt.Errorf("the service has no %s", name)
	}
	prompt := call.Prompt
	if prompt == "" {
		prompt = "Say hello."
	}
	message := dynamicpb.NewMessage(method.Input())
	text := fmt.Sprintf(`{"model":%q,"maxOutputTokens":%d,"messages":[{"role":"ROLE_USER","parts":[{"text":{"text":%q}}]}]}`, call.Model, cmp.Or(call.MaxTokens, 1024), prompt)
	if call.Broken {
		text = `{}`
	}
	return method, message, protojson.Unmarshal([]byte(text), message)
}

func (d *direct) do(ctx context.Context, call Call) (Seen, error) {
	method, message, err := d.request(call)
	if err != nil {
		return Seen{}, err
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+call.Key))
	defer cancel()
	path := fmt.Sprintf("/%s/%s", d.service.FullName(), method.Name())
	answer := dynamicpb.NewMessage(method.Output())
	if !call.Stream {
		return seen(answer, true, d.Invoke(ctx, path, message, answer))
	}
	stream, err := d.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err != nil {
		return seen(answer, false, err)
	}
	if err := errors.Join(stream.SendMsg(message), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return seen(answer, false, err)
	}
	completed := false
	for {
		next := dynamicpb.NewMessage(method.Output())
		err := stream.RecvMsg(next)
		if errors.Is(err, io.EOF) {
			return seen(answer, completed, nil)
		}
		if err != nil {
			return seen(answer, false, err)
		}
		answer = next
		completed = completed || next.Has(method.Output().Fields().ByName("completed"))
	}
}

// seen is what came of a call; an error is one of what was seen.
func seen(answer *dynamicpb.Message, whole bool, err error) (Seen, error) {
	if err != nil {
		return Seen{Status: http.StatusInternalServerError, Body: err.Error()}, nil //nolint:nilerr // it is the answer
	}
	text, err := protojson.Marshal(answer)
	return Seen{Status: http.StatusOK, Whole: whole, Body: string(text)}, err
}
