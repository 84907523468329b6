package grpc

import (
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/conformance/server"
)

// required returns the fields of a message that the contract says are REQUIRED.
func required(m protoreflect.MessageDescriptor) (names []string) {
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		behaviors, _ := proto.GetExtension(field.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
		if slices.Contains(behaviors, annotations.FieldBehavior_REQUIRED) {
			names = append(names, string(field.Name()))
		}
	}
	return names
}

// An empty request is refused for a field that is REQUIRED if its message has one, and else for nothing that it lacks.
func TestRequiredFields(t *testing.T) {
	conn, err := grpc.NewClient(gateway.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	admin, err := server.CreateKey(gateway.Data, "admin", "required", "--read-captures")
	if err != nil {
		t.Fatal(err)
	}
	// Methods whose answer says nothing of their fields: no field can say that one of a oneof is required, only the key of a
	// session can end one, and this server's configuration is no file.
	others := []string{"DeleteCaptures", "EndSession", "WriteConfiguration"}
	for key, service := range map[string]protoreflect.ServiceDescriptor{
		admin:                    adminv1.File_genway_admin_v1_admin_proto.Services().Get(0),
		gateway.Keys["internal"]: genwayv1.File_genway_v1_generation_proto.Services().Get(0),
	} {
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			want := required(m.Input())
			if m.IsStreamingServer() && len(want) == 0 || slices.Contains(others, string(m.Name())) {
				continue
			}
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key)
			stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+string(service.FullName())+"/"+string(m.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.SendMsg(dynamicpb.NewMessage(m.Input())); err != nil {
				t.Fatal(err)
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			err = stream.RecvMsg(dynamicpb.NewMessage(m.Output()))
			var at string
			for _, detail := range status.Convert(err).Details() {
				if bad, ok := detail.(*errdetails.BadRequest); ok {
					at = bad.GetFieldViolations()[0].GetField()
				}
			}
			named := slices.ContainsFunc(want, func(name string) bool { return at == name || name == "request" && at == "request.model" })
			if refused := status.Code(err) == codes.InvalidArgument; refused != (len(want) > 0) || refused && !named {
				t.Errorf("%s requires %q, and answers an empty request, at %q: %v", m.Name(), want, at, err)
			}
		}
	}
}
