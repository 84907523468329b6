// A Java client of Genway's contract: a text, a stream, a tool call, an image and an error.
import com.genway.v1.*;
import com.google.protobuf.Any;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.grpc.*;
import io.grpc.stub.MetadataUtils;
import java.util.concurrent.TimeUnit;

public class Client {
  static GenerationGrpc.GenerationBlockingStub client;

  static Message user(String text) {
    return Message.newBuilder().setRole(Role.ROLE_USER).addParts(Part.newBuilder().setText(Text.newBuilder().setText(text))).build();
  }

  static GenerationGrpc.GenerationBlockingStub call() {
    return client.withDeadlineAfter(60, TimeUnit.SECONDS);
  }

  static void run() {
    var hello = GenerateTextRequest.newBuilder().setModel("sandbox-text").addMessages(user("Say hello.")).build();
    var answer = call().generateText(hello);
    System.out.println("text: " + answer.getCandidates(0).getParts(0).getText().getText());

    var streamed = new StringBuilder();
    var complete = false;
    for (var events = call().streamGenerateText(hello); events.hasNext(); ) {
      var event = events.next();
      streamed.append(event.getPartDelta().getText());
      complete = event.hasCompleted();
    }
    if (!complete) throw new IllegalStateException("the stream was cut: it ended without completed");
    System.out.println("stream: " + streamed);

    var schema = "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"]}";
    var tool = Tool.newBuilder().setFunction(FunctionTool.newBuilder().setName("get_weather").setParametersJson(schema));
    var weather = GenerateTextRequest.newBuilder().setModel("sandbox-text").addMessages(user("What is the weather in Paris?")).addTools(tool);
    var called = call().generateText(weather.build()).getCandidates(0).getParts(0).getToolCall();
    System.out.println("tool: " + called.getName() + "(" + called.getArgumentsJson() + ")");

    var square = GenerateImageRequest.newBuilder().setModel("sandbox-image").setPrompt("A red square").setSize("64x64").build();
    var drawn = call().generateImage(square);
    System.out.println("image: " + drawn.getSize() + ", " + drawn.getImages(0).getData().size() + " bytes");

    try {
      call().generateText(hello.toBuilder().setModel("nothing").build());
    } catch (StatusRuntimeException error) {
      System.out.println("error: " + explain(error));
    }
  }

  static final Metadata.Key<byte[]> DETAILS = Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  // explain returns what the contract says of a failed call: why, and the request to ask about. The trailer is a
  // google.rpc.Status, whose third field is the details.
  static String explain(StatusRuntimeException error) {
    var trailers = Status.trailersFromThrowable(error);
    if (trailers == null || !trailers.containsKey(DETAILS)) return error.getMessage();
    try {
      var status = CodedInputStream.newInstance(trailers.get(DETAILS));
      for (int tag = status.readTag(); tag != 0; tag = status.readTag()) {
        if (WireFormat.getTagFieldNumber(tag) != 3) {
          status.skipField(tag);
          continue;
        }
        var detail = Any.parseFrom(status.readByteArray());
        if (detail.is(ErrorDetail.class)) {
          var found = detail.unpack(ErrorDetail.class);
          return found.getReason() + ": " + found.getMessage() + " (request " + found.getRequestId() + ")";
        }
      }
    } catch (java.io.IOException broken) {
      return error.getMessage() + ": its details cannot be read: " + broken;
    }
    return error.getMessage();
  }

  public static void main(String[] args) throws InterruptedException {
    var key = new Metadata();
    key.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + System.getenv("GENWAY_KEY"));
    var channel = ManagedChannelBuilder.forTarget(System.getenv("GENWAY")).usePlaintext()
        .maxInboundMessageSize(64 << 20) // images exceed gRPC's 4 MiB
        .intercept(MetadataUtils.newAttachHeadersInterceptor(key)).build();
    client = GenerationGrpc.newBlockingStub(channel);
    try {
      run();
    } catch (StatusRuntimeException error) {
      fail(explain(error));
    } catch (IllegalStateException error) {
      fail(error.getMessage());
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  static void fail(String why) {
    System.err.println(why);
    System.exit(1);
  }
}
