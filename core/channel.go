package core

import (
	"errors"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
)

// Channel gives an edge in the same process its way to the service: calls without a
// network, through the same interceptors. Messages are handed over, not copied:
// whoever sends one does not touch it again.
func Channel(service *Service, interceptors Interceptors, health grpc_health_v1.HealthServer) grpc.ClientConnInterface {
	channel := new(inprocgrpc.Channel).
		WithCloner(handover{}).
		WithServerUnaryInterceptor(interceptors.Unary).
		WithServerStreamInterceptor(interceptors.Stream)
	genwayv1.RegisterGenerationServer(channel, service)
	grpc_health_v1.RegisterHealthServer(channel, health)
	return channel
}

// handover passes messages by reference.
type handover struct{}

func (handover) Clone(in any) (any, error) { return in, nil }

func (handover) Copy(out, in any) error {
	to, ok := out.(proto.Message)
	from, same := in.(proto.Message)
	if !ok || !same {
		return errors.New("core: not a protobuf message")
	}
	codec.Share(to, from)
	return nil
}
